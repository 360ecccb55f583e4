/** API keys, as the portal creates and revokes them (docs/contract.md#authentication). */
import {
  type Agency,
  type ApiKey,
  isSandbox,
  KEY_PREFIX,
  type Scope,
  TEST_KEY_PREFIX,
} from '../core/catalogue/agency.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import { type CredentialOptions, CredentialWrites } from './credential-writes.ts'
import { type AgencyOutcome, done } from './store-retries.ts'

export interface NewKey {
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly expiresAt: number | null
}

export class KeyCommands extends CredentialWrites<ApiKey> {
  readonly #options: CredentialOptions

  constructor(options: CredentialOptions) {
    const { catalogue, store } = options
    super(
      {
        access: 'key',
        credentials: catalogue.keys,
        isHere: (agencyId) => catalogue.termOf(agencyId) !== null,
        put: (key) => catalogue.putKey(key),
        insert: (key, audit) => store.insertKey(key, audit),
        revoke: (key, revokedAt, audit) => store.revokeKey(key, revokedAt, audit),
        load: () => store.loadKeys(),
        settle: (agencyId) => store.settle(agencyId),
      },
      options,
    )
    this.#options = options
  }

  /**
   * The secret is in this answer and nowhere else (docs/contract.md#authentication, rule 2).
   * @returns refused when the agency has `LIVE_CREDENTIALS_MAX` that are valid
   */
  async create(
    agency: Agency,
    draft: NewKey,
    caller: Caller,
    keep?: KeepChange<ApiKey>,
  ): Promise<AgencyOutcome<{ key: ApiKey; secret: string }>> {
    const { clock, newId, makeSecret } = this.#options
    const { secret, prefix, sha256 } = makeSecret(isSandbox(agency) ? TEST_KEY_PREFIX : KEY_PREFIX)
    const key: ApiKey = {
      id: newId('key'),
      agencyId: agency.id,
      name: draft.name,
      prefix,
      secretSha256: sha256,
      scopes: draft.scopes,
      createdAt: clock.now(),
      expiresAt: draft.expiresAt,
      revokedAt: null,
      lastUsedAt: null,
    }
    const outcome = await this.add(key, caller, keep)
    return outcome.kind === 'done' ? done({ key, secret }) : outcome
  }
}
