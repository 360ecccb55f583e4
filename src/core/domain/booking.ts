import type { MinorUnits } from './money.ts'
import { formatNight, type Night, nightsOf } from './night.ts'
import type { Unit } from './unit.ts'

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
  /** `grp_…`, shared by the bookings that were made together; null: it was made alone. */
  readonly groupId: string | null
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

/** What every published form of a booking says of it: its id, unit, group, type, status and source. */
export function bookingIdentity(booking: BookingFacts, unit: Pick<Unit, 'slug' | 'name'>): BookingIdentity {
  const identity = {
    id: booking.id,
    unitSlug: unit.slug,
    unitName: unit.name,
    type: booking.type,
    status: booking.status,
    source: booking.source,
  }
  return booking.groupId === null ? identity : { ...identity, groupId: booking.groupId }
}

interface BookingIdentity extends Pick<BookingFacts, 'id' | 'type' | 'status' | 'source'> {
  readonly unitSlug: string
  readonly unitName: string
  /** Absent from a booking without one. */
  readonly groupId?: string
}

/** What every published form says of the stay. Dates are `YYYY-MM-DD`; `totalAmount` is in minor units of the agency's currency. */
export function bookedStay(booking: BookingFacts) {
  return {
    arrival: formatNight(booking.arrival),
    departure: formatNight(booking.departure),
    nights: nightsOf(booking),
    adults: booking.adults,
    children: booking.children,
    totalAmount: booking.totalAmount,
  }
}

/** A half-open range of dates. */
export interface DateSpan {
  /** Null: no beginning. */
  readonly from: Night | null
  /** Exclusive. Null: no end. */
  readonly to: Night | null
}

/**
 * The unit was created, or its master data, prices or rules changed; `rates_set`: only its rates or restrictions. Carries the whole unit.
 */
export interface UnitSet {
  readonly kind: 'unit_set' | 'rates_set'
  readonly unit: Unit
  /** The dates for which prices, minimum stays or restrictions may have changed. Left out: the entry is not announced. */
  readonly changed?: DateSpan
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

/** The events of units in the journal; a unit's state is derived from nothing else. As decided, they carry whole bookings. */
export type UnitEvent<B extends BookingFacts = Booking> = UnitSet | BookingEvent<B>

/** A guest was erased. Belongs to no unit, and is announced to nobody. */
interface GuestErased {
  readonly kind: 'guest_erased'
  /** `gst_…`, of nobody from here on. */
  readonly guestId: string
}

/** Every event in the journal. */
export type LedgerEvent<B extends BookingFacts = Booking> = UnitEvent<B> | GuestErased

/** An event of a unit as the journal returns it: without the free texts. */
export type LoggedEvent = UnitEvent<BookingFacts>

export function isUnitSet(event: LoggedEvent): event is UnitSet {
  return event.kind === 'unit_set' || event.kind === 'rates_set'
}

/** The webhook events of bookings (docs/contract.md#event-kinds). */
export const BOOKING_EVENTS = ['booking.created', 'booking.updated', 'booking.cancelled'] as const

/** The events of units, sent only to readers and endpoints that ask for them (docs/partner-additions.md#9-changes-of-rates-and-units). */
export const UNIT_EVENTS = ['rates.updated', 'unit.updated'] as const
export type UnitEventKind = (typeof UNIT_EVENTS)[number]

export const WEBHOOK_EVENTS = [...BOOKING_EVENTS, ...UNIT_EVENTS] as const
export type WebhookEventKind = (typeof WEBHOOK_EVENTS)[number]

/** The kind of entry that fires each of them; `event_of` in sql/001_schema.sql says the same. */
export const KIND_OF = {
  'rates.updated': 'rates_set',
  'unit.updated': 'unit_set',
} as const satisfies Record<UnitEventKind, UnitSet['kind']>

/** The webhook event that a change fires; null when it fires none (docs/contract.md#event-kinds). */
export function webhookEventOf(event: LedgerEvent<BookingFacts>): WebhookEventKind | null {
  switch (event.kind) {
    case 'unit_set':
      return event.changed === undefined ? null : 'unit.updated'
    case 'rates_set':
      return event.changed === undefined ? null : 'rates.updated'
    case 'booking_created':
      return 'booking.created'
    case 'booking_cancelled':
      return 'booking.cancelled'
    case 'guest_erased':
      return null
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
