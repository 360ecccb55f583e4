import type { FeeType, UnitRules } from '../domain/rules.ts'
import type { Unit } from '../domain/unit.ts'

let inventories = 0

/** The units of an agency. A change copies what it has without sorting it: an agency may have tens of thousands. */
class UnitsInOrder {
  private constructor(
    readonly byId: ReadonlyMap<string, Unit>,
    readonly bySlug: ReadonlyMap<string, Unit>,
    /** By name, ties by id. */
    readonly sorted: readonly Unit[],
  ) {}

  static of(units: Iterable<Unit>): UnitsInOrder {
    const sorted = [...units].sort(byName)
    const byId = new Map(sorted.map((unit) => [unit.id, unit]))
    return new UnitsInOrder(byId, new Map(sorted.map((unit) => [unit.slug, unit])), sorted)
  }

  with(unit: Unit): UnitsInOrder {
    const before = this.byId.get(unit.id)
    const [bySlug, sorted] = [new Map(this.bySlug), [...this.sorted]]
    if (before !== undefined) {
      bySlug.delete(before.slug)
      sorted.splice(this.#placeOf(before, sorted), 1)
    }
    sorted.splice(this.#placeOf(unit, sorted), 0, unit)
    return new UnitsInOrder(new Map(this.byId).set(unit.id, unit), bySlug.set(unit.slug, unit), sorted)
  }

  /** Where the unit is, or belongs. */
  #placeOf(unit: Unit, sorted: readonly Unit[]): number {
    let [from, to] = [0, sorted.length]
    while (from < to) {
      const middle = (from + to) >> 1
      const other = sorted[middle]
      if (other !== undefined && byName(other, unit) < 0) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** The units and fees of one agency. Its values never change: a change creates a new one. */
export class Inventory {
  /** No other inventory of this process has it, of any agency: entity tags are made from it. */
  readonly version = ++inventories
  /** In the agency's order. */
  readonly feeTypes: readonly FeeType[]
  /** All units except archived ones, ordered by name, ties by id (docs/contract.md#get-units). */
  readonly listed: readonly Unit[]
  readonly #units: UnitsInOrder

  /** @param units in any order, or as another inventory has them: of so many units, sorting is most of the work */
  constructor(units: Iterable<Unit> | UnitsInOrder, feeTypes: readonly FeeType[]) {
    this.#units = units instanceof UnitsInOrder ? units : UnitsInOrder.of(units)
    this.listed = this.#units.sorted.filter((unit) => unit.status !== 'archived')
    this.feeTypes = feeTypes
  }

  /** In the same order as `listed`. */
  get units(): readonly Unit[] {
    return this.#units.sorted
  }

  get size(): number {
    return this.#units.byId.size
  }

  /** A unit of any status: a booking keeps its unit when the unit is archived. */
  unitById(unitId: string): Unit | null {
    return this.#units.byId.get(unitId) ?? null
  }

  /** A unit of any status, archived included: slugs are never reused. */
  unitBySlug(slug: string): Unit | null {
    return this.#units.bySlug.get(slug) ?? null
  }

  /** The unit a partner may address; archived units count as unknown (docs/design.md#order-of-checks). */
  sellableUnit(slug: string): Unit | null {
    const unit = this.#units.bySlug.get(slug)
    return unit === undefined || unit.status === 'archived' ? null : unit
  }

  /** Lets a unit in memory and its master data have one object of rules, which is most of either. Does nothing unless they are equal. */
  shareRules(unitId: string, rules: UnitRules): void {
    const unit: { rules: UnitRules } | undefined = this.#units.byId.get(unitId)
    if (unit !== undefined && unit.rules !== rules && Bun.deepEquals(unit.rules, rules)) unit.rules = rules
  }

  withUnit(unit: Unit): Inventory {
    return new Inventory(this.#units.with(unit), this.feeTypes)
  }

  withFeeType(feeType: FeeType): Inventory {
    const known = this.feeTypes.some((other) => other.id === feeType.id)
    const feeTypes = known
      ? this.feeTypes.map((other) => (other.id === feeType.id ? feeType : other))
      : [...this.feeTypes, feeType]
    return new Inventory(this.#units, feeTypes)
  }
}

function byName(a: Unit, b: Unit): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1
  return a.id < b.id ? -1 : 1
}
