/**
 * Which shard a request belongs to, by what it shows before anything of it is believed: the hash of its key, token or session, the agency in
 * its path, or in the link or passkey that somebody signs in with. What no agency has anything to do with is answered by any node, a wrong key or token too.
 */

import { keyHashOf } from '../../accounts/partner-access.ts'
import { idsInHandle } from '../../accounts/passkeys.ts'
import { agencyIdInLink } from '../../accounts/person-links.ts'
import { tokenHashOf } from '../../accounts/portal-access.ts'
import { isSafe, sessionSecretIn } from '../../api/portal/session-cookie.ts'
import { SHARDS, shardOf } from '../../core/journal/shard.ts'
import { idempotencyKeyOf } from '../../http/idempotent-writes.ts'
import { decodeStrictly, targetOf } from '../../http/request.ts'
import { sha256Hex } from '../../lib/ids.ts'
import type { Naming } from '../../postgres/stores/postgres-directory-rows.ts'
import type { AgencyDirectory, Home } from './agency-directory.ts'
import type { KeptBody } from './kept-body.ts'

export interface RequestHome {
  /** Null: any node answers it alike. */
  readonly shard: number | null
  /** It comes with a session of the operator, which any node may have opened or ended: it must be read again. */
  readonly isOperatorSession: boolean
}

const PARTNER_PREFIX = '/partner/v1/'
const MCP_PATH = '/mcp'
const PORTAL_PREFIX = '/portal/v1/'
export const SESSION_PATH = '/portal/session'
const LINKS_PATH = '/portal/links'
const AGENCIES_PATH = '/portal/v1/agencies'
const decoder = new TextDecoder()
const SLUG_SEGMENT = 4
const OPEN_PATHS: ReadonlySet<string> = new Set(['/partner/v1/openapi.json', '/portal/v1/openapi.json'])
/** A unit's calendar needs no token but the one in its address. */
const CALENDAR = /\/calendar\.ics$/
const HERE: RequestHome = { shard: null, isOperatorSession: false }
const HERE_WITH_SESSION: RequestHome = { shard: null, isOperatorSession: true }

export class RequestHomes {
  readonly #directory: Pick<AgencyDirectory, 'home'>
  readonly #operatorHashes: ReadonlySet<string>
  readonly #random: () => number

  /**
   * @param options.operatorTokens those that the listener accepts
   * @param options.random 0 up to, but not including, 1
   */
  constructor(options: {
    directory: Pick<AgencyDirectory, 'home'>
    operatorTokens: readonly string[]
    random?: () => number
  }) {
    this.#directory = options.directory
    this.#operatorHashes = new Set(options.operatorTokens.map(sha256Hex))
    this.#random = options.random ?? Math.random
  }

  /**
   * At once, unless the database must be asked, or the body read.
   * @throws DirectoryFullError, or what the database rejects with
   */
  of(request: Request, body: KeptBody): RequestHome | Promise<RequestHome> {
    if (request.method === 'OPTIONS') return HERE
    const { path } = targetOf(request.url)
    // Whatever else is asked of a document is no route, and shows the budget of its key as any other (src/api/app.ts).
    if (OPEN_PATHS.has(path) && isSafe(request)) return HERE
    if (path.startsWith(PARTNER_PREFIX) || path === MCP_PATH)
      return this.#ofHash('key', keyHashOf(request.headers.get('authorization')))
    if (path.startsWith(PORTAL_PREFIX)) return this.#ofPortal(request, path)
    if (path === SESSION_PATH) return request.method === 'POST' ? this.#ofSignIn(body) : this.ofSession(request)
    if (path === LINKS_PATH) return this.#ofSignIn(body)
    return HERE
  }

  /** Of the session that the request's cookie names. */
  ofSession(request: Request): RequestHome | Promise<RequestHome> {
    const secret = sessionSecretIn(request)
    return secret === null || secret === '' ? HERE : this.#ofHash('session', sha256Hex(secret))
  }

  #ofPortal(request: Request, path: string): RequestHome | Promise<RequestHome> {
    // Some channels send credentials of their own, which count for nothing there.
    if (CALENDAR.test(path)) return this.#ofSlug(path)
    const authorization = request.headers.get('authorization')
    if (authorization !== null) {
      const hash = tokenHashOf(authorization)
      const isOperator = hash !== null && this.#operatorHashes.has(hash)
      return isOperator ? this.#ofOperator(request, path) : this.#ofHash('token', hash)
    }
    return then(this.ofSession(request), (session) => {
      if (!session.isOperatorSession) return session
      return then(this.#ofOperator(request, path), ({ shard }) => ({ shard, isOperatorSession: true }))
    })
  }

  /** The agency in the path decides. Without one, any node answers: it reads the database. */
  #ofOperator(request: Request, path: string): RequestHome | Promise<RequestHome> {
    if (path.startsWith(`${AGENCIES_PATH}/`)) return this.#ofSlug(path)
    if (path !== AGENCIES_PATH || request.method !== 'POST') return HERE
    return { shard: this.#ofNewAgency(request), isOperatorSession: false }
  }

  /** A repetition must meet the owner that has the answer, and the agencies that are made must not all be one node's. */
  #ofNewAgency(request: Request): number {
    const sent = idempotencyKeyOf(request.headers.get('idempotency-key'))
    return sent.kind === 'key'
      ? Number.parseInt(sha256Hex(sent.key).slice(0, 2), 16)
      : Math.floor(this.#random() * SHARDS)
  }

  #ofSlug(path: string): RequestHome | Promise<RequestHome> {
    const slug = decodeStrictly(path.split('/')[SLUG_SEGMENT] ?? '')
    return slug === null ? HERE : this.#known({ kind: 'slug', name: slug })
  }

  async #ofSignIn(body: KeptBody): Promise<RequestHome> {
    const { token, agencyId } = shownIn(decoder.decode(await body.bytes()))
    if (agencyId !== null) return { shard: shardOf(agencyId), isOperatorSession: false }
    if (token === null) return HERE
    const hash = sha256Hex(token)
    return this.#operatorHashes.has(hash) ? HERE : this.#ofHash('token', hash)
  }

  #ofHash(kind: 'key' | 'token' | 'session', hash: string | null): RequestHome | Promise<RequestHome> {
    return hash === null ? HERE : this.#known({ kind, name: hash })
  }

  #known(naming: Naming): RequestHome | Promise<RequestHome> {
    return then(this.#directory.home(naming), requestHomeOf)
  }
}

function requestHomeOf(home: Home | null): RequestHome {
  if (home === null) return HERE
  return home === 'operator' ? HERE_WITH_SESSION : { shard: home, isOperatorSession: false }
}

/** At once if the value is there: most are. */
function then<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/**
 * The token that somebody signs in with, or the agency that a link or a passkey claims to be of, as the sign-in reads them
 * (src/api/portal/session.ts), which refuses whatever else is sent.
 */
function shownIn(text: string): { readonly token: string | null; readonly agencyId: string | null } {
  try {
    const { token, link, passkey } = JSON.parse(text) as {
      token?: unknown
      link?: unknown
      passkey?: { response?: { userHandle?: unknown } } | null
    }
    if (typeof token === 'string') return { token: token.trim(), agencyId: null }
    if (typeof link === 'string') return { token: null, agencyId: agencyIdInLink(link) }
    const handle = passkey?.response?.userHandle
    return { token: null, agencyId: typeof handle === 'string' ? (idsInHandle(handle)?.agencyId ?? null) : null }
  } catch {
    return { token: null, agencyId: null }
  }
}
