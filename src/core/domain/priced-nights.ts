/**
 * The night prices of units as sums, kept from one search to the next: the price of any run of nights is a subtraction. They are computed
 * again when the rates of the unit change, or when a search is about other nights.
 */
import type { MinStayRun } from './bookable-arrivals.ts'
import type { Night } from './night.ts'
import { forEachNightPriceRun, nightPriceSums } from './night-prices.ts'
import type { Rates, UnitRules } from './rules.ts'
import type { UnitState } from './unit-state.ts'

/** Of the nights `[from, to)` of a unit. */
export interface PricedNights {
  readonly from: Night
  readonly to: Night
  /** As of `nightPriceSums`. */
  readonly sums: Float64Array
  /** In order, of all the nights. */
  readonly minStays: readonly MinStayRun[]
  /** What they were computed from: rules are never changed, only replaced. */
  readonly rates: Rates
  readonly basePrice: number
  readonly minStay: number
}

/** Searches of nearby windows are to find the same nights priced: a span begins at a multiple of `step` and has `min` nights or more. */
const SPAN_NIGHTS = { step: 64, min: 256 } as const

/** Nights of all units together: 8 bytes each, so 32 MB. */
export const PRICED_NIGHTS_MAX = 4_000_000

export class PricedNightsCache {
  readonly #nightsMax: number
  /** By unit, the least recently computed first. */
  readonly #units = new Map<string, PricedNights>()
  #nights = 0
  #computed = 0

  constructor(nightsMax = PRICED_NIGHTS_MAX) {
    this.#nightsMax = nightsMax
  }

  /** How many are kept. */
  get nights(): number {
    return this.#nights
  }

  /** How often the nights of a unit were priced since the start. */
  get computed(): number {
    return this.#computed
  }

  /** Those of the unit that cover `[from, to)`, and perhaps more. */
  of({ unitId, rules }: Pick<UnitState, 'unitId' | 'rules'>, from: Night, to: Night): PricedNights {
    const known = this.#units.get(unitId)
    if (known !== undefined && known.from <= from && to <= known.to && isOf(known, rules)) return known
    if (known !== undefined) this.#remove(unitId, known)
    const priced = pricedNights(rules, from, to)
    this.#units.set(unitId, priced)
    this.#nights += priced.to - priced.from
    this.#computed += 1
    for (const [oldest, nights] of this.#units) {
      if (this.#nights <= this.#nightsMax) break
      this.#remove(oldest, nights)
    }
    return priced
  }

  #remove(unitId: string, { from, to }: PricedNights): void {
    this.#units.delete(unitId)
    this.#nights -= to - from
  }
}

function isOf({ rates, basePrice, minStay }: PricedNights, rules: UnitRules): boolean {
  return rates === rules.rates && basePrice === rules.basePrice && minStay === rules.minStay
}

function pricedNights(rules: UnitRules, first: Night, last: Night): PricedNights {
  const { step, min } = SPAN_NIGHTS
  const from = (first - (first % step)) as Night
  const to = Math.max(from + min, last) as Night
  const minStays: MinStayRun[] = []
  forEachNightPriceRun(rules, from, to, ({ from: begin, to: end, minStay }) => {
    const before = minStays.at(-1)
    if (before?.minStay === minStay) minStays[minStays.length - 1] = { ...before, to: end }
    else minStays.push({ from: begin, to: end, minStay })
  })
  const { rates, basePrice, minStay } = rules
  return { from, to, sums: nightPriceSums(rules, from, to), minStays, rates, basePrice, minStay }
}
