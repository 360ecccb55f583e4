/** Decides which changes the agency can make to a booking (docs/design.md#portal-api, PATCH bookings). Pure (U3). */
import { assert } from '../../lib/assert.ts'
import type { BookingCancelled, BookingChanged, Pricing } from './booking.ts'
import { type Booking, type BookingStatus, type Instant, isHold, isLive, TRANSITIONS } from './booking.ts'
import { cancelled, type Decision, reject, type Tariff, totalOf, versionChanged, warningsOf } from './decide.ts'
import { formatNight, type Night, nightsOf, STAY_NIGHTS_MAX } from './night.ts'
import type { InvalidChange, Rejection } from './night-guard.ts'
import { nightConflict } from './night-guard.ts'
import type { SaleMoment } from './restrictions.ts'
import type { UnitState } from './unit-state.ts'

/** Members left out stay as they are. */
export interface BookingChange {
  readonly status?: BookingStatus
  readonly arrival?: Night
  readonly departure?: Night
  readonly unitId?: string
  /** An instant at or before the command's time ends the hold now. */
  readonly holdExpiresAt?: Instant
  readonly expectedUntil?: Night | null
}

interface ChangeBooking {
  /** The current row. */
  readonly booking: Booking
  /** The version that the caller has seen. Left out: any. */
  readonly ifVersion?: number | undefined
  readonly change: BookingChange
  /** Of a move; left out: `reprice`. */
  readonly pricing?: Pricing | undefined
  readonly tariff: Tariff
  readonly at: Instant
  /** For the unit that the booking will be in. */
  readonly moment: SaleMoment
}

/**
 * Decides a change, given the unit the booking is in and the unit it is to be in: the same state twice unless the
 * booking moves (U4). New dates or a new unit are priced again by the same engine, unless the agency keeps the price. Nothing else
 * changes a total.
 */
export function decideChange(
  from: UnitState,
  to: UnitState,
  command: ChangeBooking,
): Decision<BookingChanged | BookingCancelled> {
  const { booking, change, pricing = 'reprice', at } = command
  assert(booking.unitId === from.unitId, 'Cannot change a booking: it belongs to another unit')
  assert((change.unitId ?? booking.unitId) === to.unitId, 'Cannot change a booking: it moves to another unit')

  const refused = versionChanged(command) ?? refusedTransition(booking, change) ?? refusedChange(booking, change)
  if (refused !== null) return reject(refused)
  if (change.status === 'cancelled' && isLive(booking)) {
    return { kind: 'accepted', event: cancelled(booking, null, at) }
  }
  const changed = withChange(booking, change)
  if (isUnchanged(booking, changed)) return { kind: 'unchanged', booking }
  if (changed.holdExpiresAt !== null && changed.holdExpiresAt <= at) {
    return { kind: 'accepted', event: cancelled(booking, 'hold_expired', at) }
  }

  const moves = from !== to
  const needsNights = moves || changed.arrival !== booking.arrival || changed.departure !== booking.departure
  // A booking is not in its own way: other arrivals may have its nights.
  const others = needsNights && !moves ? to.without(booking) : to
  if (needsNights) {
    const conflict = nightConflict(others, changed)
    if (conflict !== null) return reject(conflict)
  }
  const after: Booking = {
    ...changed,
    totalAmount: needsNights && pricing === 'reprice' ? totalOf(to, changed, command.tariff) : booking.totalAmount,
    updatedAt: at,
    version: booking.version + 1,
  }
  const event: BookingChanged = { kind: 'booking_changed', before: booking, after }
  if (!needsNights) return { kind: 'accepted', event }
  return { kind: 'accepted', event: { ...event, pricing }, warnings: warningsOf(others, after, command.moment) }
}

function refusedTransition(booking: Booking, change: BookingChange): Rejection | null {
  const possible: readonly BookingStatus[] = TRANSITIONS[booking.status]
  const to = change.status ?? booking.status
  // A cancelled booking has released its nights, so it cannot change, even without a new status.
  const stays = to === booking.status && isLive(booking)
  if (stays || possible.includes(to)) return null
  const asksForTheSame = change.status === booking.status && Object.keys(change).length === 1
  if (asksForTheSame) return null
  return { code: 'INVALID_TRANSITION', from: booking.status, to, possible }
}

function refusedChange(booking: Booking, change: BookingChange): InvalidChange | null {
  const changed = withChange(booking, change)
  const nights = nightsOf(changed)
  if (nights < 1) return invalid('departure', `departure must be after arrival (${formatNight(changed.arrival)})`)
  if (nights > STAY_NIGHTS_MAX)
    return invalid('departure', `departure must be at most ${STAY_NIGHTS_MAX} nights after arrival`)
  if (change.holdExpiresAt !== undefined && !isHold(changed.status))
    return invalid('holdExpiresAt', 'holdExpiresAt can be set only while the status is draft or option')
  if (change.expectedUntil !== undefined && change.expectedUntil !== null) {
    if (changed.status !== 'checked_in')
      return invalid('expectedUntil', 'expectedUntil can be set only while the status is checked_in')
    if (change.expectedUntil <= changed.departure)
      return invalid('expectedUntil', `expectedUntil must be after departure (${formatNight(changed.departure)})`)
  }
  return null
}

function withChange(booking: Booking, change: BookingChange): Booking {
  const status = change.status ?? booking.status
  const departure = change.departure ?? booking.departure
  const expectedUntil = change.expectedUntil === undefined ? booking.expectedUntil : change.expectedUntil
  return {
    ...booking,
    status,
    arrival: change.arrival ?? booking.arrival,
    departure,
    unitId: change.unitId ?? booking.unitId,
    holdExpiresAt: isHold(status) ? (change.holdExpiresAt ?? booking.holdExpiresAt) : null,
    // The expected extension ends when the guest has left, or when the booked departure reaches it.
    expectedUntil:
      status === 'checked_in' && expectedUntil !== null && expectedUntil > departure ? expectedUntil : null,
  }
}

function isUnchanged(a: Booking, b: Booking): boolean {
  return (Object.keys(a) as (keyof Booking)[]).every((member) => a[member] === b[member])
}

function invalid(field: string, message: string): InvalidChange {
  return { code: 'VALIDATION', field, message }
}
