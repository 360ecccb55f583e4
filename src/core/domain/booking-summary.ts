import type { BookingFacts } from './booking.ts'
import { formatNight } from './night.ts'
import { nightsOf } from './stay.ts'
import type { Unit } from './unit.ts'

/** What every published form of a booking says of it: which booking, of which unit, and where it stands. */
export function bookingIdentity(booking: BookingFacts, unit: Pick<Unit, 'slug' | 'name'>) {
  return {
    id: booking.id,
    unitSlug: unit.slug,
    unitName: unit.name,
    type: booking.type,
    status: booking.status,
    source: booking.source,
  }
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
