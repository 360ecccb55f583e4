import { type Static, Type } from '@sinclair/typebox'
import type { AgencyBooking } from '../../core/bookings/booking-lists.ts'
import type { Inventory } from '../../core/catalogue/agency.ts'
import type { Booking } from '../../core/domain/booking.ts'
import { formatNight } from '../../core/domain/night.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { BookingJson, bookingJsonIn, unitOf } from '../../http/json/booking-json.ts'
import { GuestJson, guestJson } from '../../http/json/guest-json.ts'
import { dateText, nullable } from '../../http/text-schema.ts'

/** All that partners read of a booking, and what only its agency sees. */
export const AgencyBookingJson = Type.Object(
  {
    ...BookingJson.properties,
    extraBed: Type.Boolean(),
    expectedUntil: nullable(dateText('The day until which the current guest is expected to stay.')),
    version: Type.Integer({ minimum: 1, description: 'Increases with every change to the booking.' }),
    guest: nullable(GuestJson),
    notes: nullable(Type.String()),
  },
  { $id: 'Booking' },
)

/** All but what is stored beside the booking: guest and notes. */
export type BookingWithoutGuest = Omit<Static<typeof AgencyBookingJson>, 'guest' | 'notes'>

export function bookingWithoutGuest(booking: Booking, inventory: Inventory): BookingWithoutGuest {
  return bookingWithoutGuestIn(booking, unitOf(booking, inventory))
}

/** @param unit as it is to be called */
export function bookingWithoutGuestIn(booking: Booking, unit: Pick<Unit, 'slug' | 'name'>): BookingWithoutGuest {
  return {
    ...bookingJsonIn(booking, unit),
    extraBed: booking.extraBed,
    expectedUntil: booking.expectedUntil === null ? null : formatNight(booking.expectedUntil),
    version: booking.version,
  }
}

/** @param found null: retention has deleted the booking since. A repeated write still shows what the first one did */
export function withGuest(
  booking: BookingWithoutGuest,
  found: Pick<AgencyBooking, 'guest' | 'notes'> | null,
): Static<typeof AgencyBookingJson> {
  const { guest, notes } = found ?? { guest: null, notes: null }
  return { ...booking, guest: guest === null ? null : guestJson(guest), notes }
}

export function agencyBookingJson(found: AgencyBooking, inventory: Inventory): Static<typeof AgencyBookingJson> {
  return withGuest(bookingWithoutGuest(found.booking, inventory), found)
}
