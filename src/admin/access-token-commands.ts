/** Access tokens, as the portal creates and revokes them (docs/design.md#portal-access). */
import type { AccessToken, Role } from '../core/catalogue/access-token.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { AgencyStore } from './agency-store.ts'
import { CredentialWrites, type NewSecret } from './credential-writes.ts'
import { type AgencyOutcome, done, refused } from './outcome.ts'

/** Valid ones, per agency. Each may open sessions, and is one person or program: an agency with more has lost track of them. */
export const LIVE_TOKENS_MAX = 200

export interface NewAccessToken {
  readonly name: string
  readonly role: Role
  readonly expiresAt: number | null
}

export class AccessTokenCommands {
  readonly #writes: CredentialWrites<AccessToken>
  readonly #makeSecret: () => NewSecret
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #catalogue: Catalogue
  /** On their way into the store, by agency. */
  readonly #making = new Map<string, number>()

  constructor(options: {
    catalogue: Catalogue
    store: AgencyStore
    clock: Clock
    newId: IdSource
    makeSecret: () => NewSecret
  }) {
    const { catalogue, store } = options
    this.#writes = new CredentialWrites<AccessToken>(
      {
        access: 'access_token',
        isHere: (agencyId) => catalogue.termOf(agencyId) !== null,
        find: (agencyId, id) => catalogue.accessTokenById(agencyId, id),
        put: (token) => catalogue.putAccessToken(token),
        insert: (token, audit) => store.insertAccessToken(token, audit),
        revoke: (token, revokedAt, audit) => store.revokeAccessToken(token, revokedAt, audit),
        load: () => store.loadAccessTokens(),
        settle: (agencyId) => store.settle(agencyId),
      },
      options,
    )
    this.#makeSecret = options.makeSecret
    this.#dependencies = options
    this.#catalogue = catalogue
  }

  /**
   * The secret is in this answer and nowhere else.
   * @returns refused when the agency has `LIVE_TOKENS_MAX` that are valid
   */
  async create(
    agency: Agency,
    draft: NewAccessToken,
    caller: Caller,
    keep?: KeepChange<AccessToken>,
  ): Promise<AgencyOutcome<{ token: AccessToken; secret: string }>> {
    const making = this.#making.get(agency.id) ?? 0
    if (this.#liveOf(agency) + making >= LIVE_TOKENS_MAX) return refused(TOO_MANY)
    const { clock, newId } = this.#dependencies
    const { secret, prefix, sha256 } = this.#makeSecret()
    const token: AccessToken = {
      id: newId('tok'),
      agencyId: agency.id,
      name: draft.name,
      role: draft.role,
      prefix,
      secretSha256: sha256,
      createdAt: clock.now(),
      expiresAt: draft.expiresAt,
      revokedAt: null,
    }
    this.#making.set(agency.id, making + 1)
    try {
      await this.#writes.create(token, caller, keep)
    } finally {
      const left = (this.#making.get(agency.id) ?? 1) - 1
      if (left > 0) this.#making.set(agency.id, left)
      else this.#making.delete(agency.id)
    }
    return done({ token, secret })
  }

  #liveOf(agency: Agency): number {
    const now = this.#dependencies.clock.now()
    return this.#catalogue
      .accessTokensOf(agency.id)
      .filter(({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || now <= expiresAt)).length
  }

  /**
   * Permanent, and from this moment on (CredentialWrites).
   * @throws RevocationNotStoredError when it may not be stored yet
   */
  revoke(
    agency: Agency,
    tokenId: string,
    caller: Caller,
    keep?: KeepChange<AccessToken>,
  ): Promise<AgencyOutcome<AccessToken>> {
    return this.#writes.revoke(agency, tokenId, caller, keep)
  }
}

const TOO_MANY = {
  code: 'VALIDATION',
  field: 'name',
  message: `name cannot be given access: the agency already has ${LIVE_TOKENS_MAX} valid access tokens. Revoke one first`,
} as const
