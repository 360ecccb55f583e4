import type { Booking, BookingFacts } from './booking.ts'
import type { Unit } from './unit.ts'

/** The unit was created, or its master data, prices or rules changed. Carries the whole unit. */
export interface UnitSet {
  readonly kind: 'unit_set'
  readonly unit: Unit
}

export interface BookingCreated<B extends BookingFacts = Booking> {
  readonly kind: 'booking_created'
  readonly after: B
}

/** What happens to the total of a stay that gets other dates or another unit: it is priced again, or stays as it is. */
export const PRICINGS = ['reprice', 'keep'] as const
export type Pricing = (typeof PRICINGS)[number]

/**
 * Status, dates, unit or hold of a booking changed. When `before.unitId` and `after.unitId` differ, the event belongs
 * to both units (invariant U4).
 */
export interface BookingChanged<B extends BookingFacts = Booking> {
  readonly kind: 'booking_changed'
  readonly before: B
  readonly after: B
  /** Of a move. Left out of an entry that is older than the choice: every move was priced again. */
  readonly pricing?: Pricing
}

/** Cancelled by a partner or the agency, or because a hold expired. */
export interface BookingCancelled<B extends BookingFacts = Booking> {
  readonly kind: 'booking_cancelled'
  readonly before: B
  readonly after: B
}

export type BookingEvent<B extends BookingFacts = Booking> = BookingCreated<B> | BookingChanged<B> | BookingCancelled<B>

/** The events in the journal; a unit's state is derived from nothing else. As decided, they carry whole bookings. */
export type UnitEvent<B extends BookingFacts = Booking> = UnitSet | BookingEvent<B>

/** An event as the journal returns it: without the free texts. */
export type LoggedEvent = UnitEvent<BookingFacts>

/** The webhook events of bookings (docs/contract.md#event-kinds). */
export type WebhookEventKind = 'booking.created' | 'booking.updated' | 'booking.cancelled'

/** The webhook event that a change fires; null when it fires none (docs/contract.md#event-kinds). */
export function webhookEventOf(event: LoggedEvent): WebhookEventKind | null {
  switch (event.kind) {
    case 'unit_set':
      return null
    case 'booking_created':
      return 'booking.created'
    case 'booking_cancelled':
      return 'booking.cancelled'
    case 'booking_changed': {
      const { before, after } = event
      const isAnnounced =
        before.status !== after.status ||
        before.arrival !== after.arrival ||
        before.departure !== after.departure ||
        before.unitId !== after.unitId
      return isAnnounced ? 'booking.updated' : null
    }
  }
}
