/**
 * Agencies, API keys, access tokens, people, units' master data and fee types in memory: every request needs them. All but the last two are
 * loaded at start. An agency's inventory of units and fees is loaded on first use, so that start-up time does not grow with the
 * number of units.
 *
 * A change is committed first and then put into the catalogue, in the same tick as its answer, so it applies from the
 * next request on. A change that revokes access is put into the catalogue first and then committed, so it applies even
 * while the database is unavailable.
 */
import type { FeeType, Unit, UnitRules } from '../domain/unit.ts'
import type { AccessToken, Agency, ApiKey, Inventory } from './agency.ts'
import { Credentials } from './agency.ts'
import { People, type Person } from './people.ts'

/** The port that the catalogue is loaded from. */
export interface CatalogueStore {
  /** @param since only those that may have changed since this moment, and perhaps more; null for all */
  loadAgencies(since: CatalogueMoment | null): Promise<readonly Agency[]>
  /** Of each agency those that are live, and the newest that have ended (Credentials). */
  loadKeys(since: CatalogueMoment | null): Promise<readonly ApiKey[]>
  /** The same of access tokens. */
  loadAccessTokens(since: CatalogueMoment | null): Promise<readonly AccessToken[]>
  /** Of each agency all people, and those who were removed last (People). */
  loadPeople(since: CatalogueMoment | null): Promise<readonly Person[]>
  loadInventory(agencyId: string): Promise<Inventory>
}

/** A moment of the store, for reading later what has changed since. */
export type CatalogueMoment = string & { readonly __moment: never }

/** Agencies with their keys, access tokens and people. */
export interface CataloguePart {
  readonly agencies: readonly Agency[]
  readonly keys: readonly ApiKey[]
  readonly accessTokens: readonly AccessToken[]
  readonly people: readonly Person[]
}

/** All agencies, keys, access tokens and people as they were read at or after `moment`. */
export interface CatalogueRead extends CataloguePart {
  readonly moment: CatalogueMoment
}

/** The key of a request, and the agency it belongs to. */
export interface KeyHolder {
  readonly key: ApiKey
  readonly agency: Agency
  /** Left to the admission of requests, which keeps here what it counts them with; lost when the key or its agency changes. */
  counters?: object | null
  /** Left to the catalogue: the agency's inventory, found once (`peekInventory`). */
  cached?: Cached | null
}

/** Who acts for an agency in the portal: a program with an access token, or a person. */
export type Member = { readonly agency: Agency } & (
  | { readonly kind: 'access_token'; readonly member: AccessToken }
  | { readonly kind: 'person'; readonly member: Person }
)

/** The agencies of this process. */
interface ServedAgencies {
  /** Which ownership of the agency this is: another number each time that it comes to this process. Null: another process has it. */
  termOf(agencyId: string): number | null
  /** Why another one is not served. */
  refusal(): Error
}

const ALL: ServedAgencies = { termOf: () => 0, refusal: () => new Error('Every agency is served') }

/**
 * The default limit of units in memory, over all inventories. Above it, inventories that were not used lately are evicted. Reading one back
 * costs ten times what the request itself costs.
 */
export const CACHED_UNITS_MAX = 200_000

/**
 * The inventory of an agency in memory; null once it has left. Using it only sets a flag, and eviction passes it by once (second chance):
 * moving it to the end of the map at each use was measured as 1 µs of every request (docs/decisions.md#speed).
 */
interface Cached {
  inventory: Inventory | null
  isUsed: boolean
}

export interface CatalogueStats {
  /** Reads of an agency's inventory since the start. */
  readonly inventoryLoads: number
}

interface Loading {
  readonly inventory: Promise<Inventory>
  /** The agency changed while its inventory was being loaded: load it again. */
  stale: boolean
}

export class Catalogue {
  readonly #store: CatalogueStore
  readonly #served: ServedAgencies
  readonly #cachedUnitsMax: number
  readonly #agencies = new Map<string, Agency>()
  readonly #agencyIdBySlug = new Map<string, string>()
  /** Others only read these two: `putKey` and `putAccessToken` know the agency of what they put, and whether it is here. */
  readonly keys = new Credentials<ApiKey, KeyHolder>((key, agency) => ({ key, agency, counters: null }))
  readonly accessTokens = new Credentials<AccessToken, Member>((member, agency) => ({
    kind: 'access_token',
    member,
    agency,
  }))
  readonly #people = new People()
  /** In the order in which eviction visits them. */
  readonly #inventories = new Map<string, Cached>()
  readonly #loading = new Map<string, Loading>()
  #cachedUnits = 0
  #inventoryLoads = 0

  /**
   * @param options.served in a cluster: those agencies that this process has. Others are not put, and not kept
   * @param options.cachedUnitsMax beyond it, inventories are evicted
   */
  constructor(store: CatalogueStore, options: { served?: ServedAgencies; cachedUnitsMax?: number } = {}) {
    this.#store = store
    this.#served = options.served ?? ALL
    this.#cachedUnitsMax = options.cachedUnitsMax ?? CACHED_UNITS_MAX
  }

  /**
   * Loads agencies, keys, access tokens and people. The catalogue is empty before.
   * @param earlier what was read before: then only what has changed since is read, which is little
   */
  async load(earlier: CatalogueRead | null = null): Promise<void> {
    const since = earlier?.moment ?? null
    for (const agency of updated(earlier?.agencies, await this.#store.loadAgencies(since))) this.putAgency(agency)
    for (const key of updated(earlier?.keys, await this.#store.loadKeys(since))) this.putKey(key)
    const tokens = updated(earlier?.accessTokens, await this.#store.loadAccessTokens(since))
    for (const token of tokens) this.putAccessToken(token)
    for (const person of updated(earlier?.people, await this.#store.loadPeople(since))) this.putPerson(person)
  }

  /** Puts agencies that this process gets, as they are stored now. What it may still have of them from before is forgotten. */
  putPart({ agencies, keys, accessTokens, people }: CataloguePart): void {
    for (const { id } of agencies) this.forget(id)
    for (const agency of agencies) this.#put(agency)
    for (const key of keys) this.putKey(key)
    for (const token of accessTokens) this.putAccessToken(token)
    for (const person of people) this.putPerson(person)
  }

  /** Another process has the agency now. */
  forget(agencyId: string): void {
    const slug = this.#agencies.get(agencyId)?.slug
    // A sandbox that was made new has the slug of the one before it.
    if (slug !== undefined && this.#agencyIdBySlug.get(slug) === agencyId) this.#agencyIdBySlug.delete(slug)
    this.#agencies.delete(agencyId)
    this.keys.forget(agencyId)
    this.accessTokens.forget(agencyId)
    this.#people.forget(agencyId)
    this.dropInventory(agencyId)
  }

  get stats(): CatalogueStats {
    return { inventoryLoads: this.#inventoryLoads }
  }

  agencies(): Agency[] {
    return [...this.#agencies.values()].sort((a, b) => (a.slug < b.slug ? -1 : 1))
  }

  /** The sandboxes whose clocks have not arrived yet. */
  movingClocks(): Agency[] {
    return [...this.#agencies.values()].filter(({ clock }) => clock !== undefined && clock.now < clock.target)
  }

  agencyById(agencyId: string): Agency | null {
    return this.#agencies.get(agencyId) ?? null
  }

  agencyBySlug(slug: string): Agency | null {
    const agencyId = this.#agencyIdBySlug.get(slug)
    return agencyId === undefined ? null : this.agencyById(agencyId)
  }

  /** The sandbox of a live agency; null when it has none. Looks through all agencies. */
  sandboxOf(agencyId: string): Agency | null {
    for (const agency of this.#agencies.values()) if (agency.sandboxOf === agencyId) return agency
    return null
  }

  /** Without those who were removed, oldest first. */
  peopleOf(agencyId: string): Person[] {
    return this.#people.of(agencyId)
  }

  /** In any state. */
  personById(agencyId: string, personId: string): Person | null {
    return this.#people.byId(agencyId, personId)
  }

  /** In any state, even revoked or removed. */
  member(kind: Member['kind'], agencyId: string, id: string): Member | null {
    const agency = this.agencyById(agencyId)
    if (agency === null) return null
    if (kind === 'person') {
      const member = this.personById(agencyId, id)
      return member === null ? null : { kind, member, agency }
    }
    const member = this.accessTokens.byId(agencyId, id)
    return member === null ? null : { kind, member, agency }
  }

  /**
   * The agency's inventory; null when it is not in memory.
   * @param holder of a key of the agency: keeps where the inventory is, because in a large service the map of all is in none of the
   *   processor's caches (docs/decisions.md#speed)
   */
  peekInventory(agencyId: string, holder: KeyHolder | null = null): Inventory | null {
    let cached = holder?.cached ?? null
    if (cached === null || cached.inventory === null) {
      cached = this.#inventories.get(agencyId) ?? null
      if (holder !== null) holder.cached = cached
      if (cached === null) return null
    }
    cached.isUsed = true
    return cached.inventory
  }

  /** @throws the refusal of an agency that another process has; what the store rejects with */
  async inventory(agencyId: string): Promise<Inventory> {
    return this.peekInventory(agencyId) ?? (await this.#load(agencyId))
  }

  /**
   * Of a cluster: which ownership of the agency this is; null: another process has it. What was read or written in one is not put in a
   * later one, which has read the agency again: another process may have changed it in between.
   */
  termOf(agencyId: string): number | null {
    return this.#served.termOf(agencyId)
  }

  /** @param term of `termOf`, when what led to this began */
  putAgency(agency: Agency, term = this.termOf(agency.id)): void {
    if (this.#isCurrent(agency.id, term)) this.#put(agency)
  }

  #isCurrent(agencyId: string, term: number | null): boolean {
    return term !== null && term === this.termOf(agencyId)
  }

  #put(read: Agency): void {
    if (read.status === 'deleted') {
      this.forget(read.id)
      return
    }
    // What was read may be older than what its clock shows by now, which its requests hold.
    const clock = this.#agencies.get(read.id)?.clock
    const agency = clock === undefined ? read : { ...read, clock }
    this.#agencies.set(agency.id, agency)
    this.#agencyIdBySlug.set(agency.slug, agency.id)
    this.keys.putAgency(agency)
    this.accessTokens.putAgency(agency)
  }

  /**
   * A key that is revoked here stays revoked, whatever is put later: revocation is permanent
   * (docs/contract.md#authentication, rule 8).
   */
  putKey(key: ApiKey): void {
    const agency = this.#agencies.get(key.agencyId)
    if (agency !== undefined) this.keys.put(key, agency)
  }

  /** As `putKey`: one that is revoked stays revoked. */
  putAccessToken(token: AccessToken): void {
    const agency = this.#agencies.get(token.agencyId)
    if (agency !== undefined) this.accessTokens.put(token, agency)
  }

  /** Never replaces a later state. */
  putPerson(person: Person): void {
    if (this.#agencies.has(person.agencyId)) this.#people.put(person)
  }

  putUnit(agencyId: string, unit: Unit): void {
    this.#change(agencyId, (inventory) => inventory.withUnit(unit))
  }

  /** @param term as for `putAgency` */
  putFeeType(agencyId: string, feeType: FeeType, term = this.termOf(agencyId)): void {
    if (this.#isCurrent(agencyId, term)) this.#change(agencyId, (inventory) => inventory.withFeeType(feeType))
  }

  /** Called with the rules of a unit that has come into memory (`Inventory.shareRules`). */
  shareRules(agencyId: string, unitId: string, rules: UnitRules): void {
    this.#inventories.get(agencyId)?.inventory?.shareRules(unitId, rules)
  }

  /** Drops an inventory that may differ from what is stored. The next caller that needs it loads it again. */
  dropInventory(agencyId: string): void {
    const loading = this.#loading.get(agencyId)
    if (loading !== undefined) loading.stale = true
    const cached = this.#inventories.get(agencyId)
    if (cached !== undefined) this.#uncache(agencyId, cached)
  }

  #uncache(agencyId: string, cached: Cached): void {
    this.#inventories.delete(agencyId)
    this.#cachedUnits -= cached.inventory?.size ?? 0
    cached.inventory = null
  }

  #change(agencyId: string, change: (inventory: Inventory) => Inventory): void {
    const loading = this.#loading.get(agencyId)
    if (loading !== undefined) loading.stale = true
    const inventory = this.#inventories.get(agencyId)?.inventory ?? null
    if (inventory !== null) this.#cache(agencyId, change(inventory))
  }

  #load(agencyId: string): Promise<Inventory> {
    const inProgress = this.#loading.get(agencyId)
    if (inProgress !== undefined) return inProgress.inventory
    const inventory = this.#loadUntilCurrent(agencyId).finally(() => this.#loading.delete(agencyId))
    this.#loading.set(agencyId, { inventory, stale: false })
    return inventory
  }

  async #loadUntilCurrent(agencyId: string): Promise<Inventory> {
    for (;;) {
      this.#inventoryLoads += 1
      const inventory = await this.#store.loadInventory(agencyId)
      const loading = this.#loading.get(agencyId)
      // It would not be told of changes.
      if (this.termOf(agencyId) === null) throw this.#served.refusal()
      if (loading?.stale !== true) {
        this.#cache(agencyId, inventory)
        return inventory
      }
      loading.stale = false
    }
  }

  #cache(agencyId: string, inventory: Inventory): void {
    const before = this.#inventories.get(agencyId)
    if (before !== undefined) this.#uncache(agencyId, before)
    this.#inventories.set(agencyId, { inventory, isUsed: false })
    this.#cachedUnits += inventory.size
    for (const [visited, cached] of this.#inventories) {
      if (this.#cachedUnits <= this.#cachedUnitsMax) break
      if (visited === agencyId) continue
      if (cached.isUsed) {
        cached.isUsed = false
        this.#inventories.delete(visited)
        this.#inventories.set(visited, cached)
      } else this.#uncache(visited, cached)
    }
  }
}

/** What was read earlier, with what has changed since. */
function updated<T extends { readonly id: string }>(
  earlier: readonly T[] | undefined,
  changed: readonly T[],
): readonly T[] {
  if (earlier === undefined || changed.length === 0) return earlier ?? changed
  const ids = new Set(changed.map(({ id }) => id))
  return [...earlier.filter(({ id }) => !ids.has(id)), ...changed]
}
