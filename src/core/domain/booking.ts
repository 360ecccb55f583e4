import type { MinorUnits } from './money.ts'
import type { Night } from './night.ts'

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Instant = number

/** Only `guest` rows are guest stays (docs/contract.md#booking). */
export const BOOKING_TYPES = ['guest', 'owner_stay', 'maintenance', 'block'] as const
export type BookingType = (typeof BOOKING_TYPES)[number]

export const BOOKING_STATUSES = ['draft', 'option', 'confirmed', 'checked_in', 'checked_out', 'cancelled'] as const
export type BookingStatus = (typeof BOOKING_STATUSES)[number]

/** The state machine: from each status, the statuses it can change to (docs/design.md#statuses). */
export const TRANSITIONS = {
  draft: ['option', 'confirmed', 'cancelled'],
  option: ['confirmed', 'cancelled'],
  confirmed: ['checked_in', 'cancelled'],
  checked_in: ['checked_out', 'cancelled'],
  checked_out: ['cancelled'],
  cancelled: [],
} as const satisfies Record<BookingStatus, readonly BookingStatus[]>

/** The longest that a hold may be asked to last: 90 days (docs/contract.md#limits). */
export const HOLD_HOURS_MAX = 2_160

/** The cancellation reason of an expired hold (docs/design.md#statuses). */
export const HOLD_EXPIRED = 'hold_expired'

/** What the journal keeps of a booking: all that the rules depend on, and nothing that may hold personal data. */
export interface BookingFacts {
  readonly id: string
  readonly unitId: string
  readonly type: BookingType
  readonly status: BookingStatus
  readonly source: string
  readonly arrival: Night
  readonly departure: Night
  readonly adults: number
  readonly children: number
  readonly extraBed: boolean
  readonly totalAmount: MinorUnits
  /** Null unless the booking is an active hold. */
  readonly holdExpiresAt: Instant | null
  /** The new departure of a guest in house who is expected to extend the stay. Set by the agency. */
  readonly expectedUntil: Night | null
  readonly cancelledAt: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
  /** Counts the changes of this booking, starting at 1. */
  readonly version: number
}

/**
 * A booking as the ledger keeps it. Its free texts are only in its row, never in the journal: they can be erased without
 * rewriting history. Guest and notes are not part of it: they exist only in Postgres, and no rule depends on them.
 */
export interface Booking extends BookingFacts {
  readonly sourceRef: string | null
  readonly cancelReason: string | null
}

/** Whether the booking occupies its nights: true for every type and every status except cancelled. */
export function isLive(booking: { readonly status: BookingStatus }): boolean {
  return booking.status !== 'cancelled'
}

/**
 * Whether the status is a hold: a draft or option is released when its lifetime has elapsed
 * (docs/contract.md#states-and-transitions).
 */
export function isHold(status: BookingStatus): boolean {
  return status === 'draft' || status === 'option'
}

/** Whether a cleaning block follows the departure (docs/design.md#cleaning-block). */
export function isCleanedAfter(type: BookingType): boolean {
  return type === 'guest' || type === 'owner_stay'
}
