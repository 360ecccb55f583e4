/**
 * The cookie of a session, and what a request must have besides before the cookie lets it change anything (docs/design.md#sessions). A
 * browser adds the cookie by itself, whoever makes it send the request, so the request must show that the page has made it.
 */
import { type Problem, problem } from '../../http/problems.ts'

export const SESSION_COOKIE = 'nightledger_session'
const LINK_COOKIE = 'nightledger_link'
/** A form cannot send it, and a script of another origin only after a preflight, which the portal does not answer. */
export const PAGE_HEADER = 'X-Nightledger-Page'
const PAGE_HEADER_VALUE = '1'

/** On a read that the page sends by itself. It does not show that a person is there, so the session's idle time continues. */
const AUTOMATIC_HEADER = 'X-Nightledger-Automatic'

const ATTRIBUTES = 'HttpOnly; SameSite=Strict; Path=/portal'

/**
 * The secret in a request's cookie; null when it has none. A request with two of them names no session, because nobody knows which one
 * is ours: a sibling domain can set the other.
 * @returns whatever the cookie says, which need not be a secret; empty for two cookies
 */
export function sessionSecretIn(request: Request): string | null {
  return cookieIn(request, SESSION_COOKIE)
}

/** What binds links to the browser (src/accounts/person-links.ts). As `sessionSecretIn`. */
export function linkBrowserIn(request: Request): string | null {
  return cookieIn(request, LINK_COOKIE)
}

function cookieIn(request: Request, name: string): string | null {
  const cookies = request.headers.get('cookie')
  if (cookies === null || !cookies.includes(name)) return null
  const values = cookies.split(';').flatMap((pair) => {
    const mark = pair.indexOf('=')
    return mark !== -1 && pair.slice(0, mark).trim() === name ? [pair.slice(mark + 1).trim()] : []
  })
  if (values.length > 1) return ''
  return values[0] ?? null
}

/** The `Set-Cookie` that gives the browser a session, until it is closed. */
export function sessionCookie(request: Request, secret: string): string {
  return `${SESSION_COOKIE}=${secret}; ${attributesFor(request)}`
}

/** The `Set-Cookie` that binds links to the browser. @param isOverTls whether people open the page over TLS */
export function linkCookie(browser: string, maxAgeS: number, isOverTls: boolean): string {
  return `${LINK_COOKIE}=${browser}; Max-Age=${maxAgeS}; ${ATTRIBUTES}${isOverTls ? '; Secure' : ''}`
}

/** The `Set-Cookie` that takes it away. */
export function noSessionCookie(request: Request): string {
  return `${SESSION_COOKIE}=; Max-Age=0; ${attributesFor(request)}`
}

/** Null when the page itself has sent the request. @param request with a method that may change something */
export function crossOriginProblem({ headers }: Request): Problem | null {
  if (headers.get(PAGE_HEADER) !== PAGE_HEADER_VALUE) return CROSS_ORIGIN
  const site = headers.get('sec-fetch-site')
  // Browsers send it over TLS and to loopback addresses.
  if (site !== null) return site === 'same-origin' ? null : CROSS_ORIGIN
  const origin = originOf(headers)
  const host = headers.get('host')
  if (origin === null) return CROSS_ORIGIN
  return origin.host === host?.toLowerCase() ? null : otherHost(origin.host, host ?? '')
}

/** The title also tells an operator that the proxy replaces `Host`, as nginx does by default. */
function otherHost(originHost: string, host: string): Problem {
  const title = `This request did not come from the page, or a proxy changes its Host: Origin names ${shown(originHost)}, Host ${shown(host)}. They must be equal`
  return problem('CROSS_ORIGIN', title, {})
}

const HOST_CHARS_MAX = 100

function shown(host: string): string {
  return JSON.stringify(host.slice(0, HOST_CHARS_MAX))
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Whether the request changes nothing. */
export function isSafe({ method }: Request): boolean {
  return SAFE_METHODS.has(method)
}

/** Whether the page sent the request by itself. Nothing is changed without a person, so a write is always a person's. */
export function isAutomatic(request: Request): boolean {
  return request.headers.get(AUTOMATIC_HEADER) === '1' && isSafe(request)
}

const CROSS_ORIGIN = problem(
  'CROSS_ORIGIN',
  `This request did not come from the page: send the header ${PAGE_HEADER}: ${PAGE_HEADER_VALUE}, from the same origin`,
  {},
)

function attributesFor(request: Request): string {
  return isOverTls(request) ? `${ATTRIBUTES}; Secure` : ATTRIBUTES
}

/**
 * Whether the browser sent the request over TLS, which a proxy in front of the service terminates. `Origin` and `X-Forwarded-Proto` are
 * believed from anybody: who claims TLS wrongly only keeps a cookie of his own from being sent without it.
 */
function isOverTls({ headers, url }: Request): boolean {
  const forwarded = headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase()
  return originOf(headers)?.protocol === 'https:' || forwarded === 'https' || url.startsWith('https:')
}

function originOf(headers: Headers): URL | null {
  const origin = headers.get('origin')
  return origin === null ? null : URL.parse(origin)
}
