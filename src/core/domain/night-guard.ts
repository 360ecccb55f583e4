import { addNights, NIGHT_MAX, type Night } from './night.ts'
import { effectiveMinStay } from './pricing.ts'
import type { BookingConflict, ExpectedExtensionConflict, StayConflict, TurnoverBlockConflict } from './rejection.ts'
import { nightsOf, overlap, type Stay } from './stay.ts'
import type { UnitState } from './unit-state.ts'

/**
 * Whose rules hold: minimum stay, cleaning block and expected extension bind a partner; the night guard binds the agency
 * too (design, Portal API).
 */
export type Enforcement = 'partner' | 'agency'

/** How far ahead of the wanted arrival a refusal looks for the first date it can offer, in nights. */
export const OFFER_HORIZON_NIGHTS = 732

/**
 * The codes of every rule that refuses the stay with a 409, in the order a partner's booking is checked (contract,
 * POST /bookings rule 3): cleaning block, expected extension, night guard. Empty when the stay can be sold. Only
 * the codes: the offers that a refusal makes cost twenty times as much, and a quote does not make them.
 */
export function stayConflictCodes(state: UnitState, stay: Stay): StayConflict['code'][] {
  const codes: StayConflict['code'][] = []
  if (isTurnover(state, stay)) codes.push('TURNOVER_BLOCK_CONFLICT')
  if (state.extensions.some((extension) => isExtended(extension, stay))) codes.push('EXPECTED_EXTENSION_CONFLICT')
  if (state.occupied.anyIn(stay.arrival, stay.departure)) codes.push('BOOKING_CONFLICT')
  return codes
}

/** The first rule that refuses the stay, with what it offers instead; null when the stay can be sold. */
export function firstStayConflict(state: UnitState, stay: Stay): StayConflict | null {
  return (
    turnoverConflict(state, stay) ??
    extensionConflict(state, stay) ??
    nightConflict(state, stay, { enforcement: 'partner' })
  )
}

/**
 * The hard night guard, which nobody can override. `own`: nights that count as free because the booking being changed
 * holds them itself.
 */
export function nightConflict(
  state: UnitState,
  stay: Stay,
  options: { readonly enforcement: Enforcement; readonly own?: Stay },
): BookingConflict | null {
  const taken = takenNights(state, stay, options.own)
  const first = taken[0]
  const last = taken[taken.length - 1]
  if (first === undefined || last === undefined) return null
  return {
    code: 'BOOKING_CONFLICT',
    conflict: {
      from: first,
      to: addNights(last, 1),
      nights: taken,
      bookableFrom: firstOffer(state, addNights(stay.arrival, 1), nightsOf(stay), options.enforcement),
    },
  }
}

function takenNights(state: UnitState, stay: Stay, own: Stay | undefined): Night[] {
  const taken = state.occupied.anyIn(stay.arrival, stay.departure)
    ? state.occupied.nightsIn(stay.arrival, stay.departure)
    : []
  return own === undefined ? taken : taken.filter((night) => night < own.arrival || night >= own.departure)
}

/** The arrival lies in the cleaning block of the latest departure at or before it (design, Cleaning block). */
function isTurnover(state: UnitState, stay: Stay): boolean {
  return state.cleaning.has(stay.arrival)
}

function turnoverConflict(state: UnitState, stay: Stay): TurnoverBlockConflict | null {
  if (!isTurnover(state, stay)) return null
  let departure = stay.arrival
  while (!state.departures.has(departure)) departure = addNights(departure, -1)
  const free = addNights(departure, state.rules.turnoverNights)
  return {
    code: 'TURNOVER_BLOCK_CONFLICT',
    conflict: { bookableFrom: firstOffer(state, free, nightsOf(stay), 'partner'), departure },
  }
}

/** The stay begins or goes on while a guest who is there is expected to stay on (design, Expected extension). */
function isExtended({ from, to }: { from: Night; to: Night }, stay: Stay): boolean {
  return overlap(stay, { arrival: from, departure: to })
}

function extensionConflict(state: UnitState, stay: Stay): ExpectedExtensionConflict | null {
  if (state.extensions.length === 0) return null
  const conflicts = state.extensions
    .filter((extension) => isExtended(extension, stay))
    .map(({ from, to }) => ({ from, to }))
  return conflicts.length === 0 ? null : { code: 'EXPECTED_EXTENSION_CONFLICT', conflicts }
}

/**
 * The first arrival at or after `from` on which a stay of `nights` would be accepted by every rule that is enforced now. Each step jumps
 * past what is in the way, so the work is bounded by the blocks within the horizon.
 */
function firstOffer(state: UnitState, from: Night, nights: number, enforcement: Enforcement): Night | null {
  const last = Math.min(from + OFFER_HORIZON_NIGHTS, NIGHT_MAX - nights)
  let arrival = from
  while (arrival <= last) {
    const next = passObstacle(state, { arrival, departure: addNights(arrival, nights) }, enforcement)
    if (next === arrival) return arrival
    arrival = next
  }
  return null
}

/** The arrival itself when nothing is in the way; otherwise a later one, before which no arrival can pass. */
function passObstacle(state: UnitState, stay: Stay, enforcement: Enforcement): Night {
  const { arrival, departure } = stay
  const taken = state.occupied.firstIn(arrival, departure)
  if (taken !== null) return state.occupied.firstFreeFrom(taken)
  if (enforcement === 'agency') return arrival
  if (state.cleaning.has(arrival)) return state.cleaning.firstFreeFrom(arrival)
  for (const extension of state.extensions) if (isExtended(extension, stay)) return extension.to
  if (nightsOf(stay) < effectiveMinStay(state.rules, arrival)) return addNights(arrival, 1)
  return arrival
}
