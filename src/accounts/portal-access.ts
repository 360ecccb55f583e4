/**
 * Who may use the portal: the operator with a token of the service's settings, programs of an agency with its access tokens, each also by
 * a session that was opened with the token, and the people of an agency by their sessions.
 * Synchronous, so that nothing changes between the look-up and the answer to it: a revocation holds from the next request on.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { RequiredRole } from '../core/catalogue/agency.ts'
import type { Catalogue, Member } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import { type AnswerPace, partsOf } from './partner-access.ts'
import type { PortalSessions, Session, SessionOrigin } from './portal-sessions.ts'
import { isMemberValid } from './secrets.ts'
import { BODY_BYTES_PER_REQUEST, type OverBudget, type TokenRateLimit } from './token-rate-limit.ts'

/** Who sends a request to the portal. `session`: by which they are known; null when a token was sent. */
export type PortalIdentity = { readonly session: Session | null } & ({ readonly kind: 'operator' } | Member)

/** Somebody who has just signed in, and the secret of their new session. */
export interface SignedIn {
  readonly identity: PortalIdentity
  readonly secret: string
}

type PortalCatalogue = Pick<Catalogue, 'member'> & {
  readonly accessTokens: Pick<Catalogue['accessTokens'], 'holderByHash'>
}

const OPERATOR: PortalIdentity = { kind: 'operator', session: null }

export function roleOf(identity: PortalIdentity): RequiredRole {
  return identity.kind === 'operator' ? 'operator' : identity.member.role
}

const BEARER = /^bearer +([\x21-\x7e]+)$/i
const TOKEN = /^[\x21-\x7e]+$/
const HEADER_CHARS_MAX = 1_024

export class PortalAccess {
  readonly #operatorTokens: readonly string[]
  readonly #operatorDigests: readonly Buffer[]
  readonly #catalogue: PortalCatalogue
  readonly #clock: Pick<Clock, 'now'>
  /** Null where no session is accepted. */
  readonly sessions: PortalSessions | null
  readonly #isOnlyProvider: boolean
  readonly #rateLimit: TokenRateLimit | null
  readonly #pace: AnswerPace | null

  /**
   * @param options.operatorTokens visible ASCII, at least 32 characters each; none: the operator is not admitted
   * @param options.sessions left out: no session is accepted
   * @param options.isOnlyProvider whether people sign in with the provider only: sessions that were opened with an access token or a passkey end
   * @param options.rateLimit of each person and access token; left out: none
   * @param options.pace of large answers; left out: they are sent at once
   */
  constructor(options: {
    operatorTokens: readonly string[]
    catalogue: PortalCatalogue
    clock: Pick<Clock, 'now'>
    sessions?: PortalSessions | null
    isOnlyProvider?: boolean
    rateLimit?: TokenRateLimit
    pace?: AnswerPace
  }) {
    this.#operatorTokens = options.operatorTokens
    this.#operatorDigests = options.operatorTokens.map(digestOf)
    this.#catalogue = options.catalogue
    this.#clock = options.clock
    this.sessions = options.sessions ?? null
    this.#isOnlyProvider = options.isOnlyProvider ?? false
    this.#rateLimit = options.rateLimit ?? null
    this.#pace = options.pace ?? null
  }

  /** Whether one of the operator's tokens is accepted here. */
  get admitsOperator(): boolean {
    return this.#operatorTokens.length > 0
  }

  /**
   * Null means 401: a missing, malformed or unknown token, one that is revoked or expired, or one of an agency that is not active.
   *
   * No secret is compared. The operator's are compared as digests in constant time, so that timing reveals neither a token nor its
   * length. For an access token, the digest is looked up in a map, which can reveal something only about the digest of the caller's own
   * guess (secrets.ts).
   * @param authorization the header; null when it is missing
   */
  admit(authorization: string | null): PortalIdentity | null {
    return this.#ofDigest(digestIn(authorization))
  }

  /**
   * As `admit`, by a session's secret instead of a token. A session whose holder is no longer valid ends.
   * @param options.isUse whether a person has done something; else its idle time continues
   */
  admitSession(secret: string, { isUse }: { readonly isUse: boolean }): PortalIdentity | null {
    const session = this.sessions?.find(secret) ?? null
    if (session === null) return null
    const identity = this.#ofSession(session, secret)
    if (identity === null) this.sessions?.end(session)
    else if (isUse) this.sessions?.touch(session)
    return identity
  }

  /**
   * Takes an admitted request from the budgets of its person or access token and their agency; the operator has none. To be called once for each request.
   * @param bodyBytes as the request declares them
   * @returns null when it is within the budgets; else how to refuse it, with the whole seconds to wait
   */
  take(identity: PortalIdentity, bodyBytes = 0): OverBudget | null {
    if (identity.kind === 'operator') return null
    this.#pace?.noteServed(identity.agency.id)
    if (this.#rateLimit === null) return null
    const over = this.#rateLimit.take(identity)
    if (over === null) this.#rateLimit.charge(identity, Math.floor(bodyBytes / BODY_BYTES_PER_REQUEST))
    return over
  }

  /**
   * Takes a large answer from the same budgets: it counts as several requests.
   * @returns null when it may be sent at once; otherwise when this resolves
   */
  takeAnswer(identity: PortalIdentity, chars: number): Promise<void> | null {
    return this.takeParts(identity, partsOf(chars))
  }

  /** The same for work that the length of the answer does not show. @param parts as for `PartnerAccess.takeParts` */
  takeParts(identity: PortalIdentity, parts: number): Promise<void> | null {
    if (identity.kind === 'operator') return null
    this.#rateLimit?.charge(identity, Math.floor(parts))
    return this.#pace?.take(identity.agency.id, parts) ?? null
  }

  /** Whether a refused write of this member gets a line of its own in the audit trail; else it is counted. */
  takeLine(member: Member): boolean {
    return this.#rateLimit?.takeLine(member) ?? true
  }

  /** Who has this token, without a session. Null as `admit`. */
  admitToken(token: string): PortalIdentity | null {
    return TOKEN.test(token) ? this.#ofDigest(digestOf(token)) : null
  }

  /**
   * Opens a session with a token.
   * @returns null as `admit` does
   * @throws what the database rejects with
   */
  async signIn(token: string, from: SessionOrigin): Promise<SignedIn | null> {
    const { sessions } = this
    const found = this.admitToken(token)
    if (sessions === null || found === null) return null
    const { session, secret } = await sessions.open(found.kind === 'operator' ? { operatorToken: token } : found, from)
    // The token may have been revoked meanwhile.
    const identity = this.readmit({ ...found, session })
    if (identity === null) sessions.end(session)
    return identity === null ? null : { identity, secret }
  }

  /**
   * Opens a session for a person who has shown who they are.
   * @param store makes that durable, once the session exists; false: it turned out not to hold
   * @returns null when it did not hold, or the person or their agency was changed meanwhile
   * @throws what the database rejects with; then there is no session
   */
  async signInPerson(
    person: Member & { readonly kind: 'person' },
    from: SessionOrigin,
    store: (session: Session) => Promise<boolean>,
  ): Promise<SignedIn | null> {
    const { sessions } = this
    if (sessions === null) return null
    const { session, secret } = await sessions.open(person, from)
    let identity: PortalIdentity | null = null
    try {
      const isStored = await store(session)
      const now = isStored ? this.readmit({ ...person, session }) : null
      // Otherwise a change that ends sessions could have ended all but this one.
      if (now?.kind === 'person' && now.member.revision === person.member.revision) identity = now
    } finally {
      if (identity === null) sessions.end(session)
    }
    return identity === null ? null : { identity, secret }
  }

  /** Checks again when the body of a request has arrived. The operator's tokens are the same for as long as the process runs. */
  readmit(identity: PortalIdentity): PortalIdentity | null {
    const { session } = identity
    if (session !== null && this.sessions?.isOpen(session) !== true) return null
    if (identity.kind === 'operator') return identity
    return this.#ifValid(this.#catalogue.member(identity.kind, identity.agency.id, identity.member.id), session)
  }

  /** Who has the access token of a request that was answered with 401; null when the token is unknown. It grants no access. */
  holderOf(authorization: string | null): Member | null {
    return this.#holderOfDigest(digestIn(authorization))
  }

  /** The same of a token that was not let in by `signIn`. */
  holderOfToken(token: string): Member | null {
    return this.#holderOfDigest(TOKEN.test(token) ? digestOf(token) : null)
  }

  #holderOfDigest(digest: Buffer | null): Member | null {
    return digest === null ? null : this.#catalogue.accessTokens.holderByHash(digest.toString('hex'))
  }

  #ofDigest(digest: Buffer | null): PortalIdentity | null {
    if (digest === null) return null
    let isOperator = false
    for (const wanted of this.#operatorDigests) if (timingSafeEqual(digest, wanted)) isOperator = true
    return isOperator ? OPERATOR : this.#ifValid(this.#catalogue.accessTokens.holderByHash(digest.toString('hex')))
  }

  #ofSession(session: Session, secret: string): PortalIdentity | null {
    const { holder } = session
    if (holder.kind !== 'operator') {
      if (this.#isOnlyProvider && session.way !== 'link') return null
      return this.#ifValid(this.#catalogue.member(holder.kind, holder.agencyId, holder.id), session)
    }
    const isOperator = this.#operatorTokens.some((token) => this.sessions?.isOfOperator(session, secret, token))
    return isOperator ? { kind: 'operator', session } : null
  }

  #ifValid(member: Member | null, session: Session | null = null): PortalIdentity | null {
    return member !== null && isMemberValid(member, this.#clock.now()) ? { ...member, session } : null
  }
}

/** The hash of the token in the header, lower-case hex; null when there is none, or it is malformed. */
export function tokenHashOf(authorization: string | null): string | null {
  return digestIn(authorization)?.toString('hex') ?? null
}

function digestIn(authorization: string | null): Buffer | null {
  if (authorization === null || authorization.length > HEADER_CHARS_MAX) return null
  const given = BEARER.exec(authorization)?.[1]
  return given === undefined ? null : digestOf(given)
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
