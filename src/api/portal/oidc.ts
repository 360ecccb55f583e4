/**
 * Signing in with the operator's OpenID provider. Both routes are for the browser's address bar: they answer with a redirect to the provider
 * or to the page, whatever happens, and take nothing of the request as an address.
 */
import { ATTEMPT_MS, type OidcOutcome } from '../../accounts/oidc-sign-in.ts'
import { LINK_OF_EMAIL_MS } from '../../accounts/person-sign-in.ts'
import { plainHeaders, problemAnswer } from '../../http/answer.ts'
import { failureOf } from '../../http/problem-of.ts'
import { notFound } from '../../http/problems.ts'
import { targetOf } from '../../http/request.ts'
import { countedRoute, type Route } from '../../http/route.ts'
import { traceIdIn } from '../../lib/traceparent.ts'
import type { PortalDependencies, PortalLedger } from './portal-dependencies.ts'
import { linkCookie } from './session-cookie.ts'

const OIDC_PATH = '/portal/oidc'
const OIDC_CALLBACK_PATH = `${OIDC_PATH}/callback`
const ATTEMPT_COOKIE = 'nightledger_oidc'
const AGAIN = 'again=1'

/** The address that the operator registers with the provider. */
export function redirectUriOf(pageUrl: string): string {
  return pageUrl + OIDC_CALLBACK_PATH
}

/** `GET /portal/oidc/start` */
const START = oidcRoute('/start', async (provider, pageUrl, request) => {
  if (!isAtPage(request, pageUrl)) return { location: `${pageUrl}${OIDC_PATH}/start?${AGAIN}`, cookies: [] }
  const started = await provider.start()
  if (started === null) return { location: refusedUrl(pageUrl, 'failed'), cookies: [] }
  return { location: started.location, cookies: [attemptCookie(pageUrl, started.sealed, ATTEMPT_MS / 1_000)] }
})

/** `GET /portal/oidc/callback` */
const CALLBACK = oidcRoute('/callback', async (provider, pageUrl, request, address) => {
  const outcome = await provider.finish(targetOf(request.url).query, attemptIn(request), address)
  const bound =
    outcome.kind === 'links' ? [linkCookie(outcome.browser, LINK_OF_EMAIL_MS / 1_000, isOverTls(pageUrl))] : []
  return { location: landingUrl(pageUrl, outcome), cookies: [attemptCookie(pageUrl, '', 0), ...bound] }
})

export const OIDC = [START, CALLBACK] as const

type Handle = (
  provider: NonNullable<PortalLedger['provider']>,
  pageUrl: string,
  request: Request,
  address: string,
) => Promise<{ readonly location: string; readonly cookies: readonly string[] }>

function oidcRoute(name: '/start' | '/callback', handle: Handle): Route<PortalDependencies> {
  const path = OIDC_PATH + name
  return {
    operation: { method: 'GET', path },
    serve: ({ ledger, requestStats, onFailure, addressOf }) => {
      const { provider } = ledger
      const answered = async (request: Request, requestId: string): Promise<Response> => {
        if (provider === null) return problemAnswer(notFound('route'), requestId, plainHeaders(requestId))
        // The address of a callback has a code in it.
        const headers = new Headers({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
        headers.set('X-Request-Id', requestId)
        try {
          const { location, cookies } = await handle(provider, ledger.pageUrl(), request, addressOf(request))
          headers.set('Location', location)
          for (const cookie of cookies) headers.append('Set-Cookie', cookie)
        } catch (error) {
          const { isBug } = failureOf(error, { isWrite: false })
          onFailure({ error, requestId, ...traceIdIn(request), route: `GET ${path}`, isBug })
          headers.set('Location', refusedUrl(ledger.pageUrl(), 'failed'))
        }
        return new Response(null, { status: 303, headers })
      }
      return countedRoute({ requestStats, newId: ledger.newId }, { surface: 'portal', method: 'GET', path }, answered)
    },
  }
}

/** Secrets are behind `#`, so that they are in no log. */
function landingUrl(pageUrl: string, outcome: OidcOutcome): string {
  if (outcome.kind !== 'links') return refusedUrl(pageUrl, outcome.kind)
  const { secrets } = outcome
  return `${pageUrl}/portal/#/${secrets.length === 1 ? 'join' : 'choose'}/${secrets.join('.')}`
}

/** `unknown` does not tell whether there is such a person: an unverified address, one of nobody and one of a former person look alike. */
function refusedUrl(pageUrl: string, why: 'unknown' | 'failed'): string {
  return `${pageUrl}/portal/#/sign-in?refused=${why}`
}

function isOverTls(pageUrl: string): boolean {
  return pageUrl.startsWith('https:')
}

/**
 * Whether the cookie of an attempt that begins here comes back with its callback, which is at the host of PUBLIC_URL. Asked again, it does:
 * behind a proxy, `Host` may be another one.
 */
function isAtPage({ url, headers }: Request, pageUrl: string): boolean {
  const hostname = headers.get('host')?.replace(/:\d+$/, '')
  return hostname === new URL(pageUrl).hostname || targetOf(url).query === AGAIN
}

/** `Lax`, because the provider's site sends the browser back. */
function attemptCookie(pageUrl: string, sealed: string, maxAgeS: number): string {
  const secure = isOverTls(pageUrl) ? '; Secure' : ''
  return `${ATTEMPT_COOKIE}=${sealed}; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax; Path=${OIDC_PATH}${secure}`
}

/** Null when there is none, or two: a sibling domain can set the other. */
function attemptIn({ headers }: Request): string | null {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
  const values = pairs.filter((pair) => pair.startsWith(`${ATTEMPT_COOKIE}=`))
  return values.length === 1 ? (values[0]?.slice(ATTEMPT_COOKIE.length + 1) ?? null) : null
}
