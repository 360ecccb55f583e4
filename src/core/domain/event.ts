import type { Booking } from './booking.ts'
import type { Unit } from './unit.ts'

/** The unit was created, or its master data, prices or rules changed. Carries the whole unit. */
export interface UnitSet {
  readonly kind: 'unit_set'
  readonly unit: Unit
}

export interface BookingCreated {
  readonly kind: 'booking_created'
  readonly after: Booking
}

/**
 * Status, dates, unit or hold of a booking changed. When `before.unitId` and `after.unitId` differ, the event belongs
 * to both units (invariant U4).
 */
export interface BookingChanged {
  readonly kind: 'booking_changed'
  readonly before: Booking
  readonly after: Booking
}

/** Cancelled by a partner or the agency, or because a hold expired: `after.cancelReason` says which. */
export interface BookingCancelled {
  readonly kind: 'booking_cancelled'
  readonly before: Booking
  readonly after: Booking
}

export type BookingEvent = BookingCreated | BookingChanged | BookingCancelled

/** The events in the journal; a unit's state is derived from nothing else. */
export type UnitEvent = UnitSet | BookingEvent
