/**
 * Finds the stays that can be booked, with their totals, in all units of an agency (docs/partner-additions.md#3-get-search-what-can-be-booked-with-exact-totals).
 * Nothing is quoted or decided one by one: arrivals are found by bit operations on the nights of a unit, and totals from sums of night prices.
 */
import type { Clock } from '../../lib/clock.ts'
import { compareCodePoints, foldCase } from '../../lib/code-points.ts'
import { FairShares } from '../../lib/queues.ts'
import { Slices } from '../../lib/slices.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import { timeOf } from '../catalogue/agency-time.ts'
import { findBookableArrivals, type StayWindow, wordsFor } from '../domain/bookable-arrivals.ts'
import type { MinorUnits } from '../domain/money.ts'
import type { Night } from '../domain/night.ts'
import { PricedNightsCache, restrictedIn } from '../domain/priced-nights.ts'
import { type EveryStayFees, everyStayFees, stayTotals } from '../domain/pricing.ts'
import {
  type ArrivalRange,
  arrivalRange,
  NO_RESTRICTIONS,
  type Restrictions,
  type SaleMoment,
} from '../domain/restrictions.ts'
import type { Unit, UnitRules } from '../domain/unit.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type { Listed } from './booking-lists.ts'
import { OfferPage, type OfferSort } from './offer-page.ts'

/** Validated. Null: any. */
export interface OfferSearchParams {
  /** A stay of given dates is the only one of its window. */
  readonly window: StayWindow
  readonly adults: number
  readonly children: number
  readonly extraBed: boolean
  /** Exact, but for upper and lower case. */
  readonly city: string | null
  readonly area: string | null
  /** At least. */
  readonly bedrooms: number | null
  /** Inclusive. */
  readonly maxTotal: MinorUnits | null
  /** Each stay that can be booked, or of each unit the cheapest, and of those the earliest. */
  readonly each: 'unit' | 'stay'
  readonly sort: OfferSort
  readonly page: { readonly offset: number; readonly limit: number }
}

/** A stay that `book` would accept. */
export interface Offer {
  readonly unit: Unit
  readonly arrival: Night
  readonly total: MinorUnits
}

/** Searches that run at once, all agencies together: each holds the event loop for a slice between two turns of it. */
const SEARCHES_MAX = 4
/** Those of one agency that run, and that wait for it. */
export const SEARCHES_PER_AGENCY_MAX = 1
const SEARCHES_WAITING_PER_AGENCY_MAX = 32
const WAIT_MS_MAX = 5_000

/** A page of offers, and how many steps it took to find them among all. */
export interface OffersFound extends Listed<Offer> {
  readonly steps: number
}

/** About 2 ms of CPU (`bench/search.ts`). */
export const STEPS_PER_PART = 100_000
/** A step is the price of a stay. `bench/search.ts` measures what a slice takes. */
export const STEPS_PER_SLICE = 1_000
/** The arrivals of a unit take as long as so many prices. */
const STEPS_OF_UNIT = 30
/** A row of restrictions that is read for the first time, for every night that stays of the span touch, takes as long as so many. */
const STEPS_OF_ROW = 80
/** Units loaded and then read before the next: the directory may have no room for all of them. */
const UNITS_AT_ONCE = 200

export class OfferSearch {
  readonly #directory: Pick<UnitDirectory, 'peek' | 'readUnlessDamaged' | 'activate'>
  readonly #clock: Pick<Clock, 'now'>
  readonly #prices: PricedNightsCache
  readonly #shares = new FairShares({
    what: 'search',
    runningMax: SEARCHES_MAX,
    shareMax: SEARCHES_PER_AGENCY_MAX,
    waitingPerOwnerMax: SEARCHES_WAITING_PER_AGENCY_MAX,
    waitMsMax: WAIT_MS_MAX,
  })

  constructor(
    directory: Pick<UnitDirectory, 'peek' | 'readUnlessDamaged' | 'activate'>,
    clock: Pick<Clock, 'now'>,
    prices = new PricedNightsCache(),
  ) {
    this.#clock = clock
    this.#directory = directory
    this.#prices = prices
  }

  /**
   * A page of offers. Each unit is read at once, but different units may be read at different moments: other requests are answered in
   * between. Fees are those of `inventory`.
   * @throws NoPlaceError when the agency's share of searches is in use
   */
  page(...params: Parameters<OfferSearch['find']>): Promise<OffersFound> {
    return this.#shares.run(params[0].id, () => this.find(...params))
  }

  /** As `page`, at once. */
  async find(
    agency: Agency,
    inventory: Inventory,
    params: OfferSearchParams,
    slices = new Slices(STEPS_PER_SLICE),
  ): Promise<OffersFound> {
    const units = inventory.listed.filter(unitFilter(params)).sort((a, b) => compareCodePoints(a.name, b.name))
    const page = new OfferPage(params.sort, params.page, ranksOf(units))
    const moment = { now: timeOf(agency, this.#clock), timeZone: agency.timezone }
    const stays = new StaysOfUnits(params, everyStayFees(inventory.feeTypes), this.#prices, page, moment)
    let all = 0
    for (let i = 0; i < units.length; i++) {
      if (i % UNITS_AT_ONCE === 0) {
        const next = units.slice(i, i + UNITS_AT_ONCE)
        await this.#directory.activate(next.map(({ id }) => ({ agencyId: agency.id, unitId: id })))
      }
      const unitId = units[i]?.id ?? ''
      const address = { agencyId: agency.id, unitId }
      const state = this.#directory.peek(unitId) ?? (await this.#directory.readUnlessDamaged(address))
      const steps = STEPS_OF_UNIT + (state === null ? 0 : stays.add(i, state, units[i]?.checkinTime ?? ''))
      all += steps
      const pause = slices.spend(steps)
      if (pause !== null) await pause
    }
    const rows = page.take().flatMap(({ unit: at, arrival, total }) => {
      const unit = units[at]
      return unit === undefined ? [] : [{ unit, arrival, total }]
    })
    return { rows, total: page.found, steps: all }
  }
}

/** Adds the offers of one unit after the other to a page. */
class StaysOfUnits {
  readonly #params: OfferSearchParams
  readonly #fees: EveryStayFees
  readonly #prices: PricedNightsCache
  readonly #page: OfferPage
  readonly #arrivals: Uint32Array
  readonly #moment: Omit<SaleMoment, 'checkinTime'>
  #arrivalsBefore: { restrictions: Restrictions; checkinTime: string; range: ArrivalRange } | null = null

  constructor(
    params: OfferSearchParams,
    fees: EveryStayFees,
    prices: PricedNightsCache,
    page: OfferPage,
    moment: Omit<SaleMoment, 'checkinTime'>,
  ) {
    this.#moment = moment
    this.#params = params
    this.#fees = fees
    this.#prices = prices
    this.#page = page
    this.#arrivals = new Uint32Array(wordsFor(params.window))
  }

  /** @returns how many steps it took */
  add(unit: number, state: UnitState, checkinTime: string): number {
    const { window, each, children, extraBed } = this.#params
    const maxTotal = this.#params.maxTotal ?? Number.POSITIVE_INFINITY
    const { from, nights } = window
    const { computed } = this.#prices
    const priced = this.#prices.of(state, from, window.to)
    const { sums } = priced
    const isKept = priced.restricted.has(nights)
    const stays = restrictedIn(priced, nights)
    const restricted =
      stays === null ? null : { stays, offset: from - priced.from, range: this.#arrivalsOf(state.rules, checkinTime) }
    findBookableArrivals(state, window, priced.minStays, this.#arrivals, restricted)
    const totalOf = stayTotals(state.rules, { nights, children, extraBed }, this.#fees)
    const first = from - priced.from
    let cheapest = Number.POSITIVE_INFINITY
    let cheapestArrival = -1
    let steps = priced.minStays.length
    if (stays !== null && !isKept) steps += STEPS_OF_ROW * (state.rules.restrictions?.rows.length ?? 0)
    for (let word = 0; word < this.#arrivals.length; word++) {
      for (let bits = this.#arrivals[word] ?? 0; bits !== 0; bits &= bits - 1) {
        const i = (word << 5) + 31 - Math.clz32(bits & -bits)
        const total = totalOf((sums[first + i + nights] ?? 0) - (sums[first + i] ?? 0))
        steps += 1
        if (each === 'stay') {
          if (total <= maxTotal) steps += this.#page.add(unit, (from + i) as Night, total)
        } else if (total < cheapest) {
          cheapest = total
          cheapestArrival = i
        }
      }
    }
    if (cheapestArrival >= 0 && cheapest <= maxTotal)
      steps += this.#page.add(unit, (from + cheapestArrival) as Night, cheapest)
    if (this.#prices.computed > computed) steps += sums.length + state.rules.rates.seasons.length
    return steps
  }

  /** Most units of an agency have the same notice and window, so the result for the previous unit is kept. */
  #arrivalsOf({ restrictions = NO_RESTRICTIONS }: UnitRules, checkinTime: string): ArrivalRange {
    const { advanceNoticeHours, bookingWindowDays } = restrictions
    const last = this.#arrivalsBefore
    const isSame =
      last !== null &&
      last.checkinTime === checkinTime &&
      last.restrictions.advanceNoticeHours === advanceNoticeHours &&
      last.restrictions.bookingWindowDays === bookingWindowDays
    if (isSame) return last.range
    const range = arrivalRange(restrictions, { ...this.#moment, checkinTime })
    this.#arrivalsBefore = { restrictions, checkinTime, range }
    return range
  }
}

function unitFilter({ adults, children, city, area, bedrooms }: OfferSearchParams): (unit: Unit) => boolean {
  const isIn = (wanted: string | null) => {
    if (wanted === null) return () => true
    const folded = foldCase(wanted)
    return (place: string | null) => place !== null && foldCase(place) === folded
  }
  const [isCity, isArea] = [isIn(city), isIn(area)]
  return (unit) =>
    unit.maxGuests >= adults + children &&
    (bedrooms === null || unit.bedrooms >= bedrooms) &&
    isCity(unit.city) &&
    isArea(unit.area)
}

/** @param units ordered by name */
function ranksOf(units: readonly Unit[]): Uint32Array {
  const ranks = new Uint32Array(units.length)
  for (let i = 1; i < units.length; i++)
    ranks[i] = (ranks[i - 1] ?? 0) + (units[i]?.name === units[i - 1]?.name ? 0 : 1)
  return ranks
}
