/** Access tokens, as the portal creates and revokes them (docs/design.md#portal-access). */
import type { AccessToken, Agency, Role } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { AgencyStore } from './agency-store.ts'
import { CredentialWrites, type NewSecret } from './credential-writes.ts'
import { type AgencyOutcome, done } from './store-retries.ts'

interface NewAccessToken {
  readonly name: string
  readonly role: Role
  readonly expiresAt: number | null
}

export class AccessTokenCommands {
  readonly #writes: CredentialWrites<AccessToken>
  readonly #makeSecret: () => NewSecret
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }

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
        of: (agencyId) => catalogue.accessTokensOf(agencyId),
        put: (token) => catalogue.putAccessToken(token),
        forgetEnded: (agencyId, now) => catalogue.forgetEndedAccessTokens(agencyId, now),
        insert: (token, audit) => store.insertAccessToken(token, audit),
        revoke: (token, revokedAt, audit) => store.revokeAccessToken(token, revokedAt, audit),
        load: () => store.loadAccessTokens(),
        settle: (agencyId) => store.settle(agencyId),
      },
      options,
    )
    this.#makeSecret = options.makeSecret
    this.#dependencies = options
  }

  /**
   * The secret is in this answer and nowhere else.
   * @returns refused when the agency has `LIVE_CREDENTIALS_MAX` that are valid
   */
  async create(
    agency: Agency,
    draft: NewAccessToken,
    caller: Caller,
    keep?: KeepChange<AccessToken>,
  ): Promise<AgencyOutcome<{ token: AccessToken; secret: string }>> {
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
    const outcome = await this.#writes.create(token, caller, keep)
    return outcome.kind === 'done' ? done({ token, secret }) : outcome
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
