/**
 * Agencies, keys, units' master data and fee types in memory: they serve every request. Agencies and keys are loaded at
 * start; an agency's inventory of units and fees on first touch, so that start-up does not grow with the units stored. A
 * change is committed first and then put here, in the same tick as its answer, so it applies from the next request on. A change that
 * revokes access is put here first and then committed, so it applies even while the database is away.
 */
import type { FeeType } from '../domain/rules.ts'
import type { Unit } from '../domain/unit.ts'
import type { Agency, ApiKey } from './agency.ts'
import type { Inventory } from './inventory.ts'

/** What the catalogue is filled from. */
export interface CatalogueStore {
  loadAgencies(): Promise<readonly Agency[]>
  loadKeys(): Promise<readonly ApiKey[]>
  loadInventory(agencyId: string): Promise<Inventory>
}

/** Who sent a request. */
export interface KeyHolder {
  readonly key: ApiKey
  readonly agency: Agency
}

/** Units on all inventories in memory; beyond it the inventories untouched for longest are put back. */
export const SHELVED_UNITS_MAX = 200_000

interface Loading {
  readonly inventory: Promise<Inventory>
  /** Something of the agency changed while it was being read: read again. */
  stale: boolean
}

export class Catalogue {
  readonly #store: CatalogueStore
  readonly #agencies = new Map<string, Agency>()
  readonly #agencyIdBySlug = new Map<string, string>()
  readonly #holderByHash = new Map<string, KeyHolder>()
  readonly #keysByAgency = new Map<string, Map<string, ApiKey>>()
  /** Least recently used first: a look at one puts it last. */
  readonly #inventories = new Map<string, Inventory>()
  readonly #loading = new Map<string, Loading>()
  #shelvedUnits = 0

  constructor(store: CatalogueStore) {
    this.#store = store
  }

  /** Reads agencies and keys. Before it the catalogue is empty. */
  async load(): Promise<void> {
    for (const agency of await this.#store.loadAgencies()) this.putAgency(agency)
    for (const key of await this.#store.loadKeys()) this.putKey(key)
  }

  agencies(): Agency[] {
    return [...this.#agencies.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1))
  }

  agencyById(agencyId: string): Agency | null {
    return this.#agencies.get(agencyId) ?? null
  }

  agencyBySlug(slug: string): Agency | null {
    const agencyId = this.#agencyIdBySlug.get(slug)
    return agencyId === undefined ? null : this.agencyById(agencyId)
  }

  /** Of any state, revoked and expired too; null for an unknown hash. `sha256`: lower-case hex of the whole key. */
  holderByHash(sha256: string): KeyHolder | null {
    return this.#holderByHash.get(sha256) ?? null
  }

  /** Oldest first. */
  keysOf(agencyId: string): ApiKey[] {
    return [...(this.#keysByAgency.get(agencyId)?.values() ?? [])].sort((a, b) => a.createdAt - b.createdAt)
  }

  keyById(agencyId: string, keyId: string): ApiKey | null {
    return this.#keysByAgency.get(agencyId)?.get(keyId) ?? null
  }

  /** The agency's inventory if it is in memory. */
  peekInventory(agencyId: string): Inventory | null {
    const inventory = this.#inventories.get(agencyId)
    if (inventory === undefined) return null
    this.#inventories.delete(agencyId)
    this.#inventories.set(agencyId, inventory)
    return inventory
  }

  async inventory(agencyId: string): Promise<Inventory> {
    return this.peekInventory(agencyId) ?? (await this.#load(agencyId))
  }

  putAgency(agency: Agency): void {
    this.#agencies.set(agency.id, agency)
    this.#agencyIdBySlug.set(agency.slug, agency.id)
    for (const key of this.keysOf(agency.id)) this.#holderByHash.set(key.secretSha256, { key, agency })
  }

  /** A key that is revoked here stays revoked, whatever is put later: a revocation is permanent (contract, Authentication rule 8). */
  putKey(given: ApiKey): void {
    const agency = this.#agencies.get(given.agencyId)
    if (agency === undefined) return
    const keys = this.#keysByAgency.get(agency.id) ?? new Map<string, ApiKey>()
    const key = { ...given, revokedAt: given.revokedAt ?? keys.get(given.id)?.revokedAt ?? null }
    this.#keysByAgency.set(agency.id, keys.set(key.id, key))
    this.#holderByHash.set(key.secretSha256, { key, agency })
  }

  putUnit(agencyId: string, unit: Unit): void {
    this.#change(agencyId, (inventory) => inventory.withUnit(unit))
  }

  putFeeType(agencyId: string, feeType: FeeType): void {
    this.#change(agencyId, (inventory) => inventory.withFeeType(feeType))
  }

  /** The inventory in memory may differ from what is stored: the next caller that needs it reads it again. */
  dropInventory(agencyId: string): void {
    const loading = this.#loading.get(agencyId)
    if (loading !== undefined) loading.stale = true
    this.#shelvedUnits -= this.#inventories.get(agencyId)?.size ?? 0
    this.#inventories.delete(agencyId)
  }

  #change(agencyId: string, change: (inventory: Inventory) => Inventory): void {
    const loading = this.#loading.get(agencyId)
    if (loading !== undefined) loading.stale = true
    const inventory = this.#inventories.get(agencyId)
    if (inventory !== undefined) this.#keep(agencyId, change(inventory))
  }

  #load(agencyId: string): Promise<Inventory> {
    const underWay = this.#loading.get(agencyId)
    if (underWay !== undefined) return underWay.inventory
    const inventory = this.#loadUntilCurrent(agencyId).finally(() => this.#loading.delete(agencyId))
    this.#loading.set(agencyId, { inventory, stale: false })
    return inventory
  }

  async #loadUntilCurrent(agencyId: string): Promise<Inventory> {
    for (;;) {
      const inventory = await this.#store.loadInventory(agencyId)
      const loading = this.#loading.get(agencyId)
      if (loading?.stale !== true) {
        this.#keep(agencyId, inventory)
        return inventory
      }
      loading.stale = false
    }
  }

  #keep(agencyId: string, inventory: Inventory): void {
    this.#shelvedUnits += inventory.size - (this.#inventories.get(agencyId)?.size ?? 0)
    this.#inventories.delete(agencyId)
    this.#inventories.set(agencyId, inventory)
    for (const [oldest, old] of this.#inventories) {
      if (this.#shelvedUnits <= SHELVED_UNITS_MAX || oldest === agencyId) break
      this.#inventories.delete(oldest)
      this.#shelvedUnits -= old.size
    }
  }
}
