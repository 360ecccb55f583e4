/**
 * What the nights of a unit cost one by one, after season and weekday and before discounts, cleaning and fees, and the minimum stay of an
 * arrival on each. The same prices as in the accommodation lines of a quote (`priceStay`): a property test compares the two.
 */

import type { MinStayRun } from './bookable-arrivals.ts'
import type { MinorUnits } from './money.ts'
import { isoWeekday, type Night } from './night.ts'
import { basisPointsByWeekday, nightPrice } from './pricing.ts'
import { type RestrictedStays, type Restrictions, restrictedStays } from './restrictions.ts'
import type { Rates, Season, UnitRules } from './unit.ts'
import type { UnitState } from './unit-state.ts'

/** Consecutive nights of one season, or of none. */
export interface NightPriceRun {
  readonly from: Night
  /** Exclusive. */
  readonly to: Night
  /** Of the night `from` and those after it, in order: seven, or a single one if all nights cost the same. */
  readonly prices: readonly MinorUnits[]
  /** The effective minimum stay of an arrival on any of these nights. */
  readonly minStay: number
  /** The name of the season; null outside of all. */
  readonly season: string | null
}

/** Calls `visit` for each run of the nights `[from, to)`, in order. Together the runs cover them all. */
export function forEachNightPriceRun(
  rules: UnitRules,
  from: Night,
  to: Night,
  visit: (run: NightPriceRun) => void,
): void {
  if (from >= to) return
  const { seasons, weekdayAdjustments } = rules.rates
  const basisPoints = weekdayAdjustments.length === 0 ? null : basisPointsByWeekday(weekdayAdjustments)
  const run = (first: Night, end: Night, season: Season | null): NightPriceRun => ({
    from: first,
    to: end,
    prices: pricesFrom(first, season?.nightlyPrice ?? rules.basePrice, basisPoints),
    minStay: season?.minStay ?? rules.minStay,
    season: season?.name ?? null,
  })
  let night = from
  for (const season of seasonsIn(seasons, from, to)) {
    if (season.from > night) visit(run(night, season.from, null))
    const first = Math.max(season.from, night) as Night
    night = Math.min(season.to, to) as Night
    visit(run(first, night, season))
  }
  if (night < to) visit(run(night, to, null))
}

/**
 * Sums of night prices: element `i` is the sum over the `i` nights from `from` on, so that the nights `[from + a, from + b)` cost the
 * difference of elements `b` and `a`. One element more than there are nights. Exact for a range of at most 8,000 nights (PRICE_MAX).
 */
export function nightPriceSums(rules: UnitRules, from: Night, to: Night): Float64Array {
  const sums = new Float64Array(to - from + 1)
  let sum = 0
  let i = 0
  forEachNightPriceRun(rules, from, to, (run) => {
    const { prices } = run
    const nights = run.to - run.from
    for (let n = 0; n < nights; n++) {
      sum += prices[n % prices.length] ?? 0
      sums[++i] = sum
    }
  })
  return sums
}

/** Those that have a night of `[from, to)`, in order. Seasons do not overlap (`ratesProblems`). */
function seasonsIn(seasons: readonly Season[], from: Night, to: Night): Season[] {
  const within = seasons.filter((season) => season.from < to && season.to > from)
  return within.length > 1 ? within.sort((a, b) => a.from - b.from) : within
}

const WEEK_NIGHTS = 7

function pricesFrom(first: Night, price: MinorUnits, basisPoints: readonly number[] | null): readonly MinorUnits[] {
  if (basisPoints === null) return [price]
  const weekday = isoWeekday(first)
  return Array.from({ length: WEEK_NIGHTS }, (_, i) =>
    nightPrice(price, basisPoints[((weekday - 1 + i) % WEEK_NIGHTS) + 1]),
  )
}

/** Of the nights `[from, to)` of a unit. */
interface PricedNights {
  readonly from: Night
  readonly to: Night
  /** As of `nightPriceSums`. */
  readonly sums: Float64Array
  /** In order, of all the nights. */
  readonly minStays: readonly MinStayRun[]
  /** By length of stay, for all these nights: what the unit's restrictions refuse. Made on first use. */
  readonly restricted: Map<number, RestrictedStays>
  /** What they were computed from: rules are never changed, only replaced. */
  readonly rates: Rates
  readonly basePrice: number
  readonly minStay: number
  readonly restrictions: Restrictions | undefined
}

/** Searches of nearby windows are to find the same nights priced: a span begins at a multiple of `step` and has `min` nights or more. */
const SPAN_NIGHTS = { step: 64, min: 256 } as const

/** For how many lengths of stay a unit's restrictions are kept. */
const LENGTHS_MAX = 8

/** Nights of all units together: 8 bytes each, so 32 MB; 2 more for each length of stay, where there are restrictions. */
const PRICED_NIGHTS_MAX = 4_000_000

/**
 * The night prices of units as sums, kept from one search to the next: the price of any run of nights is a subtraction. They are computed
 * again when the rates of the unit change, or when a search is about other nights.
 */
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

function isOf({ rates, basePrice, minStay, restrictions }: PricedNights, rules: UnitRules): boolean {
  if (rates !== rules.rates || restrictions !== rules.restrictions) return false
  return basePrice === rules.basePrice && minStay === rules.minStay
}

/** What the restrictions of the unit refuse to stays of `nights` nights; null when it has none. */
export function restrictedIn(priced: PricedNights, nights: number): RestrictedStays | null {
  const { restrictions, restricted, from, to } = priced
  if (restrictions === undefined) return null
  const known = restricted.get(nights)
  if (known !== undefined) return known
  if (restricted.size >= LENGTHS_MAX) restricted.clear()
  const stays = restrictedStays(restrictions, nights, from, to)
  restricted.set(nights, stays)
  return stays
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
  const { rates, basePrice, minStay, restrictions } = rules
  const sums = nightPriceSums(rules, from, to)
  return { from, to, sums, minStays, restricted: new Map(), rates, basePrice, minStay, restrictions }
}
