/** Access tokens, as the portal creates and revokes them (docs/design.md#portal-access). */
import { type AccessToken, type Agency, type Role, TOKEN_PREFIX } from '../core/catalogue/agency.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import { type CredentialOptions, CredentialWrites } from './credential-writes.ts'
import { type AgencyOutcome, done } from './store-retries.ts'

interface NewAccessToken {
  readonly name: string
  readonly role: Role
  readonly expiresAt: number | null
}

export class AccessTokenCommands extends CredentialWrites<AccessToken> {
  readonly #options: CredentialOptions

  constructor(options: CredentialOptions) {
    const { catalogue, store } = options
    super(
      {
        access: 'access_token',
        credentials: catalogue.accessTokens,
        isHere: (agencyId) => catalogue.termOf(agencyId) !== null,
        put: (token) => catalogue.putAccessToken(token),
        insert: (token, audit) => store.insertAccessToken(token, audit),
        revoke: (token, revokedAt, audit) => store.revokeAccessToken(token, revokedAt, audit),
        load: () => store.loadAccessTokens(),
        settle: (agencyId) => store.settle(agencyId),
      },
      options,
    )
    this.#options = options
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
    const { clock, newId, makeSecret } = this.#options
    const { secret, prefix, sha256 } = makeSecret(TOKEN_PREFIX)
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
    const outcome = await this.add(token, caller, keep)
    return outcome.kind === 'done' ? done({ token, secret }) : outcome
  }
}
