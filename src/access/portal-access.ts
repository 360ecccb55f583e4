/**
 * Who may use the portal: the operator with a token of the service's settings, and the people of an agency with its access tokens.
 * Synchronous, so that nothing changes between the look-up and the answer to it: a revocation holds from the next request on.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { RequiredRole } from '../core/catalogue/access-token.ts'
import type { Catalogue, TokenHolder } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'

/** Who sends a request to the portal. */
export type PortalIdentity = { readonly kind: 'operator' } | ({ readonly kind: 'access_token' } & TokenHolder)

const OPERATOR: PortalIdentity = { kind: 'operator' }

export function roleOf(identity: PortalIdentity): RequiredRole {
  return identity.kind === 'operator' ? 'operator' : identity.token.role
}

const BEARER = /^bearer +([\x21-\x7e]+)$/i
const HEADER_CHARS_MAX = 1_024

export class PortalAccess {
  readonly #operatorDigests: readonly Buffer[]
  readonly #catalogue: Pick<Catalogue, 'tokenHolderByHash'>
  readonly #clock: Pick<Clock, 'now'>

  /** @param options.operatorTokens visible ASCII, at least 32 characters each; none: the operator is not admitted */
  constructor(options: {
    operatorTokens: readonly string[]
    catalogue: Pick<Catalogue, 'tokenHolderByHash'>
    clock: Pick<Clock, 'now'>
  }) {
    this.#operatorDigests = options.operatorTokens.map(digestOf)
    this.#catalogue = options.catalogue
    this.#clock = options.clock
  }

  /**
   * Null means 401: a missing, malformed or unknown token, one that is revoked or expired, or one of an agency that is not active.
   *
   * No secret is compared. The operator's are compared as digests in constant time, so that timing reveals neither a token nor its
   * length. For an access token, the digest is looked up in a map, which can reveal something only about the digest of the caller's own
   * guess (key-secret.ts).
   * @param authorization the header; null when it is missing
   */
  admit(authorization: string | null): PortalIdentity | null {
    const digest = digestIn(authorization)
    if (digest === null) return null
    let isOperator = false
    for (const wanted of this.#operatorDigests) if (timingSafeEqual(digest, wanted)) isOperator = true
    return isOperator ? OPERATOR : this.#ifValid(this.#catalogue.tokenHolderByHash(digest.toString('hex')))
  }

  /** Checks again when the body of a request has arrived. The operator's tokens are the same for as long as the process runs. */
  readmit(identity: PortalIdentity): PortalIdentity | null {
    if (identity.kind === 'operator') return identity
    return this.#ifValid(this.#catalogue.tokenHolderByHash(identity.token.secretSha256))
  }

  /** The holder of the access token of a request that was answered with 401; null when the token is unknown. It grants no access. */
  holderOf(authorization: string | null): TokenHolder | null {
    const digest = digestIn(authorization)
    return digest === null ? null : this.#catalogue.tokenHolderByHash(digest.toString('hex'))
  }

  #ifValid(holder: TokenHolder | null): PortalIdentity | null {
    if (holder === null) return null
    const { token, agency } = holder
    if (token.revokedAt !== null || agency.status !== 'active') return null
    if (token.expiresAt !== null && this.#clock.now() > token.expiresAt) return null
    return { kind: 'access_token', token, agency }
  }
}

function digestIn(authorization: string | null): Buffer | null {
  if (authorization === null || authorization.length > HEADER_CHARS_MAX) return null
  const given = BEARER.exec(authorization)?.[1]
  return given === undefined ? null : digestOf(given)
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
