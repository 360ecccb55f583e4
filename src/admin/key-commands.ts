/**
 * API keys, as the portal creates and revokes them (docs/contract.md#authentication). A revocation takes effect in memory before it is stored,
 * and stays in effect if it cannot be stored: revoking a leaked key must not have to wait for the database.
 */

import { successLine } from '../core/bookings/audit-lines.ts'
import { isNotWritten } from '../core/bookings/write-error.ts'
import type { Agency, ApiKey, Scope } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/keyed-turns.ts'
import type { AgencyStore } from './agency-store.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import { type AgencyOutcome, done, NOT_FOUND } from './outcome.ts'
import { RevocationNotStoredError } from './revocation-not-stored-error.ts'
import { StoreRetries } from './store-retries.ts'

export interface NewKey {
  readonly name: string | null
  readonly scopes: readonly Scope[]
  readonly expiresAt: number | null
}

/** A secret that was just made, of which only prefix and hash are kept. */
export interface KeySecret {
  readonly secret: string
  readonly prefix: string
  readonly sha256: string
}

export class KeyCommands {
  readonly #catalogue: Catalogue
  readonly #store: AgencyStore
  readonly #makeSecret: () => KeySecret
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()
  /** By agency. */
  readonly #refresh: MemoryRefresh
  /** Revocations, by key. */
  readonly #storeRetries: StoreRetries

  constructor(options: {
    catalogue: Catalogue
    store: AgencyStore
    clock: Clock
    newId: IdSource
    makeSecret: () => KeySecret
  }) {
    this.#catalogue = options.catalogue
    this.#store = options.store
    this.#makeSecret = options.makeSecret
    this.#dependencies = options
    const read = (agencyId: string) => this.#read(agencyId)
    this.#refresh = new MemoryRefresh({ clock: options.clock, turns: this.#turns, read })
    this.#storeRetries = new StoreRetries(options.clock)
  }

  /** The secret is in this answer and nowhere else (docs/contract.md#authentication, rule 2). */
  async create(agency: Agency, draft: NewKey, caller: Caller): Promise<{ key: ApiKey; secret: string }> {
    const { clock, newId } = this.#dependencies
    const { secret, prefix, sha256 } = this.#makeSecret()
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
    }
    try {
      await this.#store.insertKey(key, successLine(this.#dependencies, caller))
    } catch (error) {
      // Its secret was never returned. But if the key is stored, it must be listed, so that it can be revoked.
      if (!isNotWritten(error)) await this.#turns.run(agency.id, () => this.#refresh.now(agency.id))
      throw error
    }
    this.#catalogue.putKey(key)
    return { key, secret }
  }

  /**
   * Permanent, and from this moment on; a revoked key keeps the time of its first revocation.
   * @throws RevocationNotStoredError when it may not be stored yet: this process refuses the key anyway, and retries storing it
   */
  async revoke(agency: Agency, keyId: string, caller: Caller): Promise<AgencyOutcome<ApiKey>> {
    const key = this.#catalogue.keyById(agency.id, keyId)
    if (key === null) return NOT_FOUND
    const revokedAt = key.revokedAt ?? this.#dependencies.clock.now()
    const revoked = { ...key, revokedAt }
    this.#catalogue.putKey(revoked)
    // The same line every time, so that it is in the audit trail once.
    const line = successLine(this.#dependencies, caller)
    const store = () => this.#store.revokeKey(revoked, revokedAt, line)
    try {
      await store()
    } catch (error) {
      if (error instanceof AssertionError) throw error
      this.#storeRetries.later(key.id, store)
      throw new RevocationNotStoredError('key', { cause: error })
    }
    this.#storeRetries.cancel(key.id)
    return done(revoked)
  }

  async #read(agencyId: string): Promise<void> {
    await this.#store.settle(agencyId)
    for (const key of await this.#store.loadKeys()) if (key.agencyId === agencyId) this.#catalogue.putKey(key)
  }
}
