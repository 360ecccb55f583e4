import { type Static, Type } from '@sinclair/typebox'
import type { BookingFilter } from '../../core/bookings/booking-lists.ts'
import type { Inventory } from '../../core/catalogue/agency.ts'
import {
  BOOKING_STATUSES,
  BOOKING_TYPES,
  type Booking,
  bookedStay,
  bookingIdentity,
} from '../../core/domain/booking.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { assert } from '../../lib/assert.ts'
import { instantText } from '../../lib/clock.ts'
import { dateText } from '../text-schema.ts'
import { nightOf } from './request-fields.ts'

const timestamp = (description: string) => Type.String({ format: 'date-time', description })
const nullableTimestamp = (description: string) => Type.Union([timestamp(description), Type.Null()])

/** See docs/contract.md#booking, and the members that the design adds. It carries no guest personal data. */
export const BookingJson = Type.Object(
  {
    id: Type.String({ description: 'Opaque.' }),
    unitSlug: Type.String(),
    unitName: Type.String(),
    type: Type.Unsafe<Booking['type']>({
      type: 'string',
      enum: [...BOOKING_TYPES],
      description: 'Only `guest` rows are guest stays: filter on it before computing occupancy or revenue.',
    }),
    status: Type.Unsafe<Booking['status']>({ type: 'string', enum: [...BOOKING_STATUSES] }),
    source: Type.String({ description: '`partner` for bookings created through this API.' }),
    arrival: dateText('The first night.'),
    departure: dateText('The departure day.'),
    nights: Type.Integer({ minimum: 1 }),
    adults: Type.Integer({ minimum: 0 }),
    children: Type.Integer({ minimum: 0 }),
    totalAmount: Type.Integer({ description: "In minor units of the agency's currency." }),
    sourceRef: Type.Union([Type.String(), Type.Null()], { description: "The caller's own reference." }),
    createdAt: timestamp('When the booking was created.'),
    updatedAt: timestamp('When the booking last changed.'),
    holdExpiresAt: nullableTimestamp('When the hold expires; null unless the booking is an active hold.'),
    cancelledAt: nullableTimestamp('When the booking was cancelled; null unless it is.'),
    cancelReason: Type.Union([Type.String(), Type.Null()], { description: '`hold_expired` for a hold that expired.' }),
    groupId: Type.Optional(Type.String({ description: 'Present only if the booking was made in a group.' })),
  },
  { $id: 'Booking' },
)

/** @param inventory of the booking's agency: it knows the unit, archived ones too */
export function bookingJson(booking: Booking, inventory: Inventory): Static<typeof BookingJson> {
  return bookingJsonIn(booking, unitOf(booking, inventory))
}

/** The unit of a booking. */
export function unitOf({ unitId }: Pick<Booking, 'unitId'>, inventory: Inventory): Unit {
  const unit = inventory.unitById(unitId)
  assert(unit !== null, 'Cannot show a booking: its unit is not in the catalogue')
  return unit
}

/** @param unit as it is to be called */
export function bookingJsonIn(booking: Booking, unit: Pick<Unit, 'slug' | 'name'>): Static<typeof BookingJson> {
  return {
    ...bookingIdentity(booking, unit),
    ...bookedStay(booking),
    sourceRef: booking.sourceRef,
    createdAt: timestampOf(booking.createdAt),
    updatedAt: timestampOf(booking.updatedAt),
    holdExpiresAt: timestampOrNull(booking.holdExpiresAt),
    cancelledAt: timestampOrNull(booking.cancelledAt),
    cancelReason: booking.cancelReason,
  }
}

/** ISO 8601, UTC, with milliseconds. */
export function timestampOf(instant: number): string {
  return instantText(instant)
}

export function timestampOrNull(instant: number | null): string | null {
  return instant === null ? null : timestampOf(instant)
}

/**
 * The filter that a request asks for; its dates have passed the schema. Null: nothing can match (docs/design.md#order-of-checks:
 * an unknown unit or status gives an empty list).
 */
export function bookingFilterOf(
  params: { from?: string; to?: string; status?: string; unit?: string; group?: string },
  inventory: Inventory,
): BookingFilter | null {
  const status = params.status === undefined ? null : BOOKING_STATUSES.find((known) => known === params.status)
  const unit = params.unit === undefined ? null : (inventory.unitBySlug(params.unit) ?? undefined)
  if (status === undefined || unit === undefined) return null
  return {
    from: params.from === undefined ? null : nightOf(params.from),
    to: params.to === undefined ? null : nightOf(params.to),
    status,
    unitId: unit?.id ?? null,
    groupId: params.group ?? null,
  }
}
