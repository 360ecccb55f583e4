/** API keys, as the portal makes and revokes them (contract, Authentication). */
import type { Agency, ApiKey, Scope } from '../catalogue/agency.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/keyed-turns.ts'
import { done, NOT_FOUND, type Settled } from './agency-refusal.ts'
import type { AgencyStore } from './agency-store.ts'
import { auditLine } from './audit-line.ts'
import type { Caller } from './caller.ts'

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

export class KeyDesk {
  readonly #catalogue: Catalogue
  readonly #store: AgencyStore
  readonly #makeSecret: () => KeySecret
  readonly #surroundings: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()

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
    this.#surroundings = options
  }

  /** The secret is in this answer and nowhere else (contract, Authentication rule 2). */
  async create(agency: Agency, draft: NewKey, caller: Caller): Promise<{ key: ApiKey; secret: string }> {
    const { clock, newId } = this.#surroundings
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
    await this.#store.insertKey(key, auditLine(this.#surroundings, caller))
    this.#catalogue.putKey(key)
    return { key, secret }
  }

  /** Permanent, and from the next request on; a revoked key keeps the time of its first revocation. */
  revoke(agency: Agency, keyId: string, caller: Caller): Promise<Settled<ApiKey>> {
    return this.#turns.run(keyId, async () => {
      const key = this.#catalogue.keyById(agency.id, keyId)
      if (key === null) return NOT_FOUND
      const revokedAt = key.revokedAt ?? this.#surroundings.clock.now()
      try {
        await this.#store.revokeKey(key, revokedAt, auditLine(this.#surroundings, caller))
      } catch (error) {
        await this.#readAgain(agency)
        throw error
      }
      const revoked = { ...key, revokedAt }
      this.#catalogue.putKey(revoked)
      return done(revoked)
    })
  }

  /** After an outcome that is unknown memory follows the database: a key that is revoked there must not open anything here. */
  async #readAgain(agency: Agency): Promise<void> {
    const known = await this.#store.loadKeys().catch(() => [])
    for (const key of known) if (key.agencyId === agency.id) this.#catalogue.putKey(key)
  }
}
