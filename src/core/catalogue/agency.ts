import type { Instant } from '../domain/booking.ts'
import type { FeeType, Unit, UnitRules } from '../domain/unit.ts'
import type { SandboxClock } from './agency-time.ts'

/** The plan an agency has bought. */
export interface Plan {
  readonly apiAccess: boolean
  /** Per API key, rolling minute. */
  readonly requestsPerMinute: number
  /** Per agency, calendar month in UTC. */
  readonly requestsPerMonth: number
}

/** A tenant (docs/contract.md#tenant). */
export interface Agency {
  readonly id: string
  readonly slug: string
  readonly name: string
  /** ISO 4217; all amounts are in its minor unit. */
  readonly currency: string
  /** IANA name. Days begin and end in this time zone. */
  readonly timezone: string
  /** `deleted`: a former sandbox, which nothing opens. */
  readonly status: 'active' | 'suspended' | 'deleted'
  readonly plan: Plan
  /** Hours a hold lasts when the request does not say, 1 to 2160. */
  readonly defaultHoldHours: number
  readonly createdAt: Instant
  /** Of a sandbox: id of the live agency. Both have the same shard, so one process has both. */
  readonly sandboxOf?: string | null
  /** Only a sandbox has one. */
  readonly clock?: SandboxClock
}

export function isSandbox({ clock }: Pick<Agency, 'clock'>): boolean {
  return clock !== undefined
}

export const SCOPES = [
  'read:units',
  'read:availability',
  'read:rates',
  'read:bookings',
  'read:guests',
  'write:bookings',
] as const
export type Scope = (typeof SCOPES)[number]

/** Pre-selected at key creation (docs/contract.md#authentication, rule 7). */
export const DEFAULT_SCOPES: readonly Scope[] = ['read:units', 'read:availability', 'read:rates', 'read:bookings']

/** The prefix of every key of a live agency (docs/contract.md#authentication, rule 2). */
export const KEY_PREFIX = 'hr_live_'
/** That of the keys of sandboxes (docs/partner-additions.md). */
export const TEST_KEY_PREFIX = 'hr_test_'

/** An API key. Only the hash of its secret is stored (docs/contract.md#authentication, rule 2). */
export interface ApiKey {
  readonly id: string
  readonly agencyId: string
  readonly name: string | null
  /** The first characters of the secret, to recognize the key by. */
  readonly prefix: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Instant
  readonly expiresAt: Instant | null
  readonly revokedAt: Instant | null
  /** To the minute; null: never. Changed in place (KeyUses), and stored some time later. */
  lastUsedAt: Instant | null
}

/** What people of an agency, and access tokens of its programs, may do in the portal (docs/design.md#portal-access), lowest first: each role may do everything that those before it may. */
export const ROLES = ['viewer', 'desk', 'manager', 'owner'] as const
export type Role = (typeof ROLES)[number]

/** The least that a portal operation asks for. `operator`: nobody of an agency may. */
export type RequiredRole = Role | 'operator'

const LOWEST_FIRST: readonly RequiredRole[] = [...ROLES, 'operator']

export function suffices(held: RequiredRole, required: RequiredRole): boolean {
  return LOWEST_FIRST.indexOf(held) >= LOWEST_FIRST.indexOf(required)
}

/** The prefix of every access token. */
export const TOKEN_PREFIX = 'hp_live_'

/** An access token. Only the hash of its secret is stored. */
export interface AccessToken {
  readonly id: string
  readonly agencyId: string
  /** For people: whose it is. */
  readonly name: string
  readonly role: Role
  /** The first characters of the secret, to recognize the token by. */
  readonly prefix: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly createdAt: Instant
  readonly expiresAt: Instant | null
  readonly revokedAt: Instant | null
}

/** What gives access to an agency, and is recognized by the hash of its secret. */
export interface Credential {
  readonly id: string
  readonly agencyId: string
  /** SHA-256 of the secret, lower-case hex. */
  readonly secretSha256: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Of one agency and kind. One that is revoked or has expired takes no place: an agency with more has lost track of them. */
export const LIVE_CREDENTIALS_MAX = 200

/** Of one agency and kind: the newest that are revoked or have expired stay in memory. Older ones are only in the database. */
export const ENDED_CREDENTIALS_KEPT_MAX = 1_000

/** Whether it is neither revoked nor expired at `now`. */
export function isLive({ expiresAt, revokedAt }: Credential, now: number): boolean {
  return revokedAt === null && (expiresAt === null || now <= expiresAt)
}

/**
 * The credentials of one kind in memory, of all agencies: those that are live, and the newest that have ended. `H`: what is found by a
 * hash: a credential together with its agency.
 */
export class Credentials<C extends Credential, H> {
  readonly #holderOf: (credential: C, agency: Agency) => H
  readonly #holderByHash = new Map<string, H>()
  /** By agency, then by id. */
  readonly #byAgency = new Map<string, Map<string, C>>()

  constructor(holderOf: (credential: C, agency: Agency) => H) {
    this.#holderOf = holderOf
  }

  /**
   * The holder in any state, even with a credential that is revoked or has expired; null for an unknown hash. `sha256`: lower-case hex of
   * the whole secret.
   */
  holderByHash(sha256: string): H | null {
    return this.#holderByHash.get(sha256) ?? null
  }

  /** Oldest first. */
  of(agencyId: string): C[] {
    return this.#allOf(agencyId).sort((a, b) => a.createdAt - b.createdAt)
  }

  byId(agencyId: string, id: string): C | null {
    return this.#byAgency.get(agencyId)?.get(id) ?? null
  }

  /** One that is revoked here stays revoked, whatever is put later. */
  put(given: C, agency: Agency): void {
    const own = this.#byAgency.get(agency.id) ?? new Map<string, C>()
    if (own.size === 0) this.#byAgency.set(agency.id, own)
    const revokedAt = given.revokedAt ?? own.get(given.id)?.revokedAt ?? null
    const credential = revokedAt === given.revokedAt ? given : { ...given, revokedAt }
    own.set(credential.id, credential)
    this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }

  /** Forgets those of an agency that had ended long ago at `now`. */
  forgetEnded(agencyId: string, now: number): void {
    const own = this.#byAgency.get(agencyId)
    if (own === undefined || own.size <= ENDED_CREDENTIALS_KEPT_MAX) return
    const ended = this.#allOf(agencyId).filter((credential) => !isLive(credential, now))
    for (const { id, secretSha256 } of ended.sort(newestEndFirst).slice(ENDED_CREDENTIALS_KEPT_MAX)) {
      own.delete(id)
      this.#holderByHash.delete(secretSha256)
    }
  }

  /** Forgets all credentials of an agency. */
  forget(agencyId: string): void {
    for (const { secretSha256 } of this.#allOf(agencyId)) this.#holderByHash.delete(secretSha256)
    this.#byAgency.delete(agencyId)
  }

  /** Puts the agency as it is now beside its credentials. */
  putAgency(agency: Agency): void {
    for (const credential of this.#allOf(agency.id))
      this.#holderByHash.set(credential.secretSha256, this.#holderOf(credential, agency))
  }

  #allOf(agencyId: string): C[] {
    return [...(this.#byAgency.get(agencyId)?.values() ?? [])]
  }
}

function newestEndFirst(a: Credential, b: Credential): number {
  return endOf(b) - endOf(a)
}

function endOf({ expiresAt, revokedAt }: Credential): number {
  return Math.min(expiresAt ?? Number.MAX_VALUE, revokedAt ?? Number.MAX_VALUE)
}

let inventories = 0

/** The units of an agency, which may have thousands: a change of one that keeps its name and slug copies two lists and nothing else. */
interface UnitsInOrder {
  /** By name, ties by id. */
  readonly sorted: readonly Unit[]
  /** All except archived ones. */
  readonly listed: readonly Unit[]
  /** Where each stands in `sorted`, by id and by slug. */
  readonly placeById: ReadonlyMap<string, number>
  readonly placeBySlug: ReadonlyMap<string, number>
}

function inOrder(units: Iterable<Unit>): UnitsInOrder {
  const sorted = [...units].sort(byName)
  return { sorted, listed: sorted.filter(isListed), ...placesOf(sorted) }
}

function placesOf(sorted: readonly Unit[]): Pick<UnitsInOrder, 'placeById' | 'placeBySlug'> {
  return {
    placeById: new Map(sorted.map(({ id }, place) => [id, place])),
    placeBySlug: new Map(sorted.map(({ slug }, place) => [slug, place])),
  }
}

function isListed(unit: Unit | null): boolean {
  return unit !== null && unit.status !== 'archived'
}

/** A list in order with `after` instead of `before`, each where it belongs. */
function replaced(list: readonly Unit[], before: Unit | null, after: Unit | null): Unit[] {
  const copy = [...list]
  if (before !== null) copy.splice(placeOf(before, copy), 1)
  if (after !== null) copy.splice(placeOf(after, copy), 0, after)
  return copy
}

/** Where the unit is, or belongs. */
function placeOf(unit: Unit, sorted: readonly Unit[]): number {
  let [from, to] = [0, sorted.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const other = sorted[middle]
    if (other !== undefined && byName(other, unit) < 0) from = middle + 1
    else to = middle
  }
  return from
}

/**
 * The units and fees of one agency. Its values never change: a change creates a new one. What finds a unit by its slug is in the inventory
 * itself: every object on the way is one more place of memory that no cache of the processor has in a large service (docs/decisions.md#speed).
 */
export class Inventory {
  /** No other inventory of this process has it, of any agency: entity tags are made from it. */
  readonly version = ++inventories
  /** In the same order as `listed`. */
  readonly units: readonly Unit[]
  /** All units except archived ones, ordered by name, ties by id (docs/contract.md#get-units). */
  readonly listed: readonly Unit[]
  /** In the agency's order. */
  readonly feeTypes: readonly FeeType[]
  readonly #placeById: ReadonlyMap<string, number>
  readonly #placeBySlug: ReadonlyMap<string, number>

  /** @param units in any order, or as another inventory has them: of so many units, sorting is most of the work */
  constructor(units: Iterable<Unit> | UnitsInOrder, feeTypes: readonly FeeType[]) {
    const { sorted, listed, placeById, placeBySlug } = 'placeById' in units ? units : inOrder(units)
    this.units = sorted
    this.listed = listed
    this.feeTypes = feeTypes
    this.#placeById = placeById
    this.#placeBySlug = placeBySlug
  }

  get size(): number {
    return this.units.length
  }

  /** A unit of any status: a booking keeps its unit when the unit is archived. */
  unitById(unitId: string): Unit | null {
    return this.units[this.#placeById.get(unitId) ?? -1] ?? null
  }

  /** A unit of any status, archived included: slugs are never reused. */
  unitBySlug(slug: string): Unit | null {
    return this.units[this.#placeBySlug.get(slug) ?? -1] ?? null
  }

  /** The unit a partner may address; archived units count as unknown (docs/design.md#order-of-checks). */
  sellableUnit(slug: string): Unit | null {
    const unit = this.unitBySlug(slug)
    return isListed(unit) ? unit : null
  }

  /** Lets a unit in memory and its master data have one object of rules, which is most of either. Does nothing unless they are equal. */
  shareRules(unitId: string, rules: UnitRules): void {
    const unit: { rules: UnitRules } | null = this.unitById(unitId)
    if (unit !== null && unit.rules !== rules && Bun.deepEquals(unit.rules, rules)) unit.rules = rules
  }

  withUnit(unit: Unit): Inventory {
    const before = this.unitById(unit.id)
    const sorted = replaced(this.units, before, unit)
    const listed = replaced(this.listed, isListed(before) ? before : null, isListed(unit) ? unit : null)
    const keepsPlaces = before?.name === unit.name && before.slug === unit.slug
    return new Inventory({ sorted, listed, ...(keepsPlaces ? this.#places : placesOf(sorted)) }, this.feeTypes)
  }

  withFeeType(feeType: FeeType): Inventory {
    const known = this.feeTypes.some((other) => other.id === feeType.id)
    const feeTypes = known
      ? this.feeTypes.map((other) => (other.id === feeType.id ? feeType : other))
      : [...this.feeTypes, feeType]
    return new Inventory({ sorted: this.units, listed: this.listed, ...this.#places }, feeTypes)
  }

  get #places() {
    return { placeById: this.#placeById, placeBySlug: this.#placeBySlug }
  }
}

function byName(a: Unit, b: Unit): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.id < b.id ? -1 : 1
}
