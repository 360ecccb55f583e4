/** API keys, as the portal creates and revokes them (docs/contract.md#authentication). */
import {
  type Agency,
  type ApiKey,
  isSandbox,
  KEY_PREFIX,
  type Scope,
  TEST_KEY_PREFIX,
} from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import type { AgencyStore } from './agency-store.ts'
import { CredentialWrites, type NewSecret } from './credential-writes.ts'
import { type AgencyOutcome, done } from './store-retries.ts'

export interface NewKey {
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly expiresAt: number | null
}

export class KeyCommands {
  readonly #writes: CredentialWrites<ApiKey>
  readonly #makeSecret: (prefix: string) => NewSecret
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }

  constructor(options: {
    catalogue: Catalogue
    store: AgencyStore
    clock: Clock
    newId: IdSource
    /** @param prefix that the key begins with */
    makeSecret: (prefix: string) => NewSecret
  }) {
    const { catalogue, store } = options
    this.#writes = new CredentialWrites<ApiKey>(
      {
        access: 'key',
        isHere: (agencyId) => catalogue.termOf(agencyId) !== null,
        find: (agencyId, id) => catalogue.keyById(agencyId, id),
        of: (agencyId) => catalogue.keysOf(agencyId),
        put: (key) => catalogue.putKey(key),
        forgetEnded: (agencyId, now) => catalogue.forgetEndedKeys(agencyId, now),
        insert: (key, audit) => store.insertKey(key, audit),
        revoke: (key, revokedAt, audit) => store.revokeKey(key, revokedAt, audit),
        load: () => store.loadKeys(),
        settle: (agencyId) => store.settle(agencyId),
      },
      options,
    )
    this.#makeSecret = options.makeSecret
    this.#dependencies = options
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
    const { clock, newId } = this.#dependencies
    const { secret, prefix, sha256 } = this.#makeSecret(isSandbox(agency) ? TEST_KEY_PREFIX : KEY_PREFIX)
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
    const outcome = await this.#writes.create(key, caller, keep)
    return outcome.kind === 'done' ? done({ key, secret }) : outcome
  }

  /**
   * Permanent, and from this moment on (CredentialWrites).
   * @throws RevocationNotStoredError when it may not be stored yet
   */
  revoke(agency: Agency, keyId: string, caller: Caller, keep?: KeepChange<ApiKey>): Promise<AgencyOutcome<ApiKey>> {
    return this.#writes.revoke(agency, keyId, caller, keep)
  }
}
