import { findBookableArrivals, type StayWindow, wordsFor } from './bookable-arrivals.ts'
import type { BookingStatus } from './booking.ts'
import { addNights, NIGHT_MAX, NIGHT_MIN, type Night, nightsOf, overlap, type Stay } from './night.ts'
import { effectiveMinStay, minStayOf, type Quote } from './pricing.ts'
import {
  arrivalRange,
  type Refusal,
  type Restrictions,
  refusalsOf,
  restrictedStays,
  type SaleMoment,
} from './restrictions.ts'
import type { UnitRules } from './unit.ts'
import type { UnitState } from './unit-state.ts'

/** The stay is shorter than the effective minimum of `minStay` nights. */
export interface BelowMinStay {
  readonly code: 'MIN_STAY'
  readonly minStay: number
}

/** Restrictions of the agency that refuse a stay, and the alternatives. */
export interface Restrained {
  readonly restrictions: readonly Refusal[]
  /** The nearest arrivals, within 30 days either way, on which a stay of the same length would be accepted now; null: none. */
  readonly alternatives: { readonly previousArrival: Night | null; readonly nextArrival: Night | null }
}

interface Restricted extends Restrained {
  readonly code: 'RESTRICTED'
}

/** The rules that refuse a stay with a 422, before any 409. */
export type RuleRefusal = BelowMinStay | Restricted

/**
 * The arrival falls within the cleaning block after `departure`. `bookableFrom`: the first later arrival on which a
 * stay of the same length would be accepted now; null when there is none within `OFFER_HORIZON_NIGHTS`.
 */
interface TurnoverBlockConflict {
  readonly code: 'TURNOVER_BLOCK_CONFLICT'
  readonly conflict: { readonly bookableFrom: Night | null; readonly departure: Night }
}

/** A guest in house is expected to extend into the wanted nights. Ranges are half-open. */
interface ExpectedExtensionConflict {
  readonly code: 'EXPECTED_EXTENSION_CONFLICT'
  readonly conflicts: readonly { readonly from: Night; readonly to: Night }[]
}

/**
 * Nights of the wanted stay are taken: `nights` lists them, `[from, to)` spans them. Reveals neither the booking nor
 * the guest (docs/design.md#night-guard).
 */
interface BookingConflict {
  readonly code: 'BOOKING_CONFLICT'
  readonly conflict: {
    readonly from: Night
    readonly to: Night
    readonly nights: readonly Night[]
    readonly bookableFrom: Night | null
  }
}

/** The caller has agreed to another price. `quote`: the present one. */
interface QuoteChanged {
  readonly code: 'QUOTE_CHANGED'
  readonly quote: Quote
}

/** The state machine has no such transition. `possible`: the transitions from `from`. */
interface InvalidTransition {
  readonly code: 'INVALID_TRANSITION'
  readonly from: BookingStatus
  readonly to: BookingStatus
  readonly possible: readonly BookingStatus[]
}

/** A change that matches the schema but not the booking; `field` is the one to correct. */
export interface InvalidChange {
  readonly code: 'VALIDATION'
  readonly field: string
  readonly message: string
}

/** The booking is no longer at the version that the change is based on, but at `version`. */
export interface VersionChanged {
  readonly code: 'VERSION_CHANGED'
  readonly version: number
}

/** The rules that refuse a stay with a 409, in the order they are checked (docs/contract.md#post-bookings, rule 3). */
export type StayConflict = TurnoverBlockConflict | ExpectedExtensionConflict | BookingConflict

/** Why a unit refused a command. A value, never thrown. */
export type Rejection = RuleRefusal | StayConflict | QuoteChanged | InvalidTransition | InvalidChange | VersionChanged

/**
 * Which rules are enforced: minimum stay, restrictions, cleaning block and expected extension apply to partners only; the
 * night guard applies to the agency too (docs/design.md#portal-api).
 */
export type Enforcement = 'partner' | 'agency'

/** How far from the requested arrival a refusal by restrictions looks for alternatives. */
const ALTERNATIVES_NIGHTS = 30

/** How many nights after the wanted arrival a refusal searches for an alternative date. */
const OFFER_HORIZON_NIGHTS = 732

/**
 * The codes of all rules that refuse the stay with a 409, in the order in which a partner's booking is checked
 * (docs/contract.md#post-bookings, rule 3): cleaning block, expected extension, night guard. Empty when the stay can be sold.
 * Codes only: calculating alternative dates costs twenty times as much, and a quote does not offer them.
 */
export function stayConflictCodes(state: UnitState, stay: Stay): StayConflict['code'][] {
  const codes: StayConflict['code'][] = []
  if (isBeingCleaned(state, stay)) codes.push('TURNOVER_BLOCK_CONFLICT')
  if (state.extensions.some((extension) => overlapsExtension(extension, stay)))
    codes.push('EXPECTED_EXTENSION_CONFLICT')
  if (state.occupied.anyIn(stay.arrival, stay.departure)) codes.push('BOOKING_CONFLICT')
  return codes
}

/** What refuses the stay to partners with a 422: the minimum stay, or else the restrictions. Null: nothing. */
export function ruleRefusal(state: UnitState, stay: Stay, moment: SaleMoment): RuleRefusal | null {
  const refusal = refusalByRules(state.rules, stay, moment)
  return refusal?.code === 'RESTRICTED' ? { ...refusal, alternatives: alternativesTo(state, stay, moment) } : refusal
}

/** The same without the alternatives, which cost sixty times as much. */
export function refusalByRules(
  rules: UnitRules,
  stay: Stay,
  moment: SaleMoment,
): BelowMinStay | Omit<Restricted, 'alternatives'> | null {
  const minStay = minStayOf(rules, stay)
  if (nightsOf(stay) < minStay) return { code: 'MIN_STAY', minStay }
  const restrictions = rules.restrictions === undefined ? [] : refusalsOf(rules.restrictions, stay, moment)
  return restrictions.length === 0 ? null : { code: 'RESTRICTED', restrictions }
}

/** The restrictions that refuse the stay, other than minimum stays; null if there are none. */
export function restrainedBy(state: UnitState, stay: Stay, moment: SaleMoment): Restrained | null {
  const { restrictions } = state.rules
  if (restrictions === undefined) return null
  const refusals = refusalsOf(restrictions, stay, moment)
  return refusals.length === 0 ? null : { restrictions: refusals, alternatives: alternativesTo(state, stay, moment) }
}

function alternativesTo(state: UnitState, stay: Stay, moment: SaleMoment): Restrained['alternatives'] {
  const nearest = (step: 1 | -1) => nearestArrival(state, stay, step, moment)
  return { previousArrival: nearest(-1), nextArrival: nearest(1) }
}

function nearestArrival(state: UnitState, stay: Stay, step: 1 | -1, moment: SaleMoment): Night | null {
  for (let i = 1; i <= ALTERNATIVES_NIGHTS; i++) {
    const arrival = addNights(stay.arrival, i * step)
    const other = { arrival, departure: addNights(stay.departure, i * step) }
    if (arrival < NIGHT_MIN || other.departure > NIGHT_MAX) return null
    if (refusalByRules(state.rules, other, moment) === null && stayConflictCodes(state, other).length === 0)
      return arrival
  }
  return null
}

/** The first rule that refuses the stay, with the alternative it offers; null when the stay can be sold. */
export function firstStayConflict(state: UnitState, stay: Stay, moment: SaleMoment): StayConflict | null {
  return turnoverConflict(state, stay, moment) ?? extensionConflict(state, stay) ?? nightConflict(state, stay, moment)
}

/** The night guard, which cannot be overridden. `moment`: only for a partner's stay, to which all rules apply. */
export function nightConflict(state: UnitState, stay: Stay, moment?: SaleMoment): BookingConflict | null {
  if (!state.occupied.anyIn(stay.arrival, stay.departure)) return null
  const conflicting = state.occupied.nightsIn(stay.arrival, stay.departure)
  const first = conflicting[0]
  const last = conflicting[conflicting.length - 1]
  if (first === undefined || last === undefined) return null
  return {
    code: 'BOOKING_CONFLICT',
    conflict: {
      from: first,
      to: addNights(last, 1),
      nights: conflicting,
      bookableFrom: firstBookable(state, addNights(stay.arrival, 1), nightsOf(stay), moment),
    },
  }
}

/**
 * Whether the arrival falls within the cleaning block of the latest departure at or before it (docs/design.md#cleaning-block).
 */
function isBeingCleaned(state: UnitState, stay: Stay): boolean {
  return state.cleaning.has(stay.arrival)
}

function turnoverConflict(state: UnitState, stay: Stay, moment: SaleMoment): TurnoverBlockConflict | null {
  if (!isBeingCleaned(state, stay)) return null
  let departure = stay.arrival
  while (!state.departures.has(departure)) departure = addNights(departure, -1)
  const free = addNights(departure, state.rules.turnoverNights)
  return {
    code: 'TURNOVER_BLOCK_CONFLICT',
    conflict: { bookableFrom: firstBookable(state, free, nightsOf(stay), moment), departure },
  }
}

/**
 * Whether the stay overlaps the nights for which a guest in house is expected to stay on (docs/design.md#expected-extension).
 */
function overlapsExtension({ from, to }: { from: Night; to: Night }, stay: Stay): boolean {
  return overlap(stay, { arrival: from, departure: to })
}

function extensionConflict(state: UnitState, stay: Stay): ExpectedExtensionConflict | null {
  if (state.extensions.length === 0) return null
  const conflicts = state.extensions
    .filter((extension) => overlapsExtension(extension, stay))
    .map(({ from, to }) => ({ from, to }))
  return conflicts.length === 0 ? null : { code: 'EXPECTED_EXTENSION_CONFLICT', conflicts }
}

/**
 * The first arrival at or after `from` on which a stay of `nights` would pass every rule enforced now. Each step jumps
 * past the next obstacle, so the work is bounded by the number of obstacles within the horizon.
 */
function firstBookable(state: UnitState, from: Night, nights: number, moment: SaleMoment | undefined): Night | null {
  const last = Math.min(from + OFFER_HORIZON_NIGHTS, NIGHT_MAX - nights)
  const { restrictions } = state.rules
  if (moment !== undefined && restrictions !== undefined && from <= last)
    return firstSold(state, restrictions, { from, to: addNights(last as Night, nights), nights }, moment)
  let arrival = from
  while (arrival <= last) {
    const next = passObstacle(state, { arrival, departure: addNights(arrival, nights) }, moment)
    if (next === arrival) return arrival
    arrival = next
  }
  return null
}

/** The same where restrictions apply: they may refuse every arrival, so each date is looked at once, for all arrivals together. */
function firstSold(state: UnitState, restrictions: Restrictions, window: StayWindow, moment: SaleMoment): Night | null {
  const { from, to, nights } = window
  const bits = new Uint32Array(wordsFor(window))
  const stays = restrictedStays(restrictions, nights, from, to)
  findBookableArrivals(state, window, [], bits, { stays, offset: 0, range: arrivalRange(restrictions, moment) })
  for (let i = 0; i < to - from; i++) {
    const isSold = (((bits[i >> 5] ?? 0) >>> (i & 31)) & 1) === 1
    if (isSold && effectiveMinStay(state.rules, addNights(from, i)) <= nights) return addNights(from, i)
  }
  return null
}

/** Returns the arrival when nothing is in the way, otherwise a later night before which no arrival can pass. */
function passObstacle(state: UnitState, stay: Stay, moment: SaleMoment | undefined): Night {
  const { arrival, departure } = stay
  const firstOccupied = state.occupied.firstIn(arrival, departure)
  if (firstOccupied !== null) return state.occupied.firstFreeFrom(firstOccupied)
  if (moment === undefined) return arrival
  if (state.cleaning.has(arrival)) return state.cleaning.firstFreeFrom(arrival)
  for (const extension of state.extensions) if (overlapsExtension(extension, stay)) return extension.to
  return refusalByRules(state.rules, stay, moment) === null ? arrival : addNights(arrival, 1)
}
