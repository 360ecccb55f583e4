import type { FeeType, UnitRules } from '../domain/rules.ts'
import type { Unit } from '../domain/unit.ts'

let inventories = 0

/** The units and fees of one agency. Its values never change: a change creates a new one. */
export class Inventory {
  /** No other inventory of this process has it, of any agency: entity tags are made from it. */
  readonly version = ++inventories
  /** In the agency's order. */
  readonly feeTypes: readonly FeeType[]
  /** All units except archived ones, ordered by name, ties by id (docs/contract.md#get-units). */
  readonly listed: readonly Unit[]
  readonly #byId: ReadonlyMap<string, Unit>
  readonly #bySlug: ReadonlyMap<string, Unit>

  constructor(units: Iterable<Unit>, feeTypes: readonly FeeType[]) {
    const all = [...units]
    this.#byId = new Map(all.map((unit) => [unit.id, unit]))
    this.#bySlug = new Map(all.map((unit) => [unit.slug, unit]))
    this.listed = all.filter((unit) => unit.status !== 'archived').sort(byName)
    this.feeTypes = feeTypes
  }

  get units(): Iterable<Unit> {
    return this.#byId.values()
  }

  get size(): number {
    return this.#byId.size
  }

  /** A unit of any status: a booking keeps its unit when the unit is archived. */
  unitById(unitId: string): Unit | null {
    return this.#byId.get(unitId) ?? null
  }

  /** A unit of any status, archived included: slugs are never reused. */
  unitBySlug(slug: string): Unit | null {
    return this.#bySlug.get(slug) ?? null
  }

  /** The unit a partner may address; archived units count as unknown (docs/design.md#order-of-checks). */
  sellableUnit(slug: string): Unit | null {
    const unit = this.#bySlug.get(slug)
    return unit === undefined || unit.status === 'archived' ? null : unit
  }

  /** Lets a unit in memory and its master data have one object of rules, which is most of either. Does nothing unless they are equal. */
  shareRules(unitId: string, rules: UnitRules): void {
    const unit: { rules: UnitRules } | undefined = this.#byId.get(unitId)
    if (unit !== undefined && unit.rules !== rules && Bun.deepEquals(unit.rules, rules)) unit.rules = rules
  }

  withUnit(unit: Unit): Inventory {
    return new Inventory(new Map(this.#byId).set(unit.id, unit).values(), this.feeTypes)
  }

  withFeeType(feeType: FeeType): Inventory {
    const known = this.feeTypes.some((other) => other.id === feeType.id)
    const feeTypes = known
      ? this.feeTypes.map((other) => (other.id === feeType.id ? feeType : other))
      : [...this.feeTypes, feeType]
    return new Inventory(this.#byId.values(), feeTypes)
  }
}

function byName(a: Unit, b: Unit): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.id < b.id ? -1 : 1
}
