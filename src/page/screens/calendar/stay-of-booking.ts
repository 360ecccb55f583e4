import type { Schema } from '../../api/schema.ts'
import type { ChartUnit, Stay } from '../../chart/stay.ts'
import { dayOf } from '../../format/days.ts'
import { guestName } from '../../stays/stay-name.ts'

/** A booking as the chart has it. */
export function stayOfBooking(booking: Schema<'Booking'>): Stay {
  const { id, unitSlug, type, status, source, sourceRef, totalAmount, version, adults, children, guest } = booking
  return {
    ...{ id, type, status, source, sourceRef, version, adults, children },
    unit: unitSlug,
    arrival: dayOf(booking.arrival),
    departure: dayOf(booking.departure),
    guest: guest === null ? null : guestName(guest),
    total: totalAmount,
    holdExpiresAt: booking.holdExpiresAt === null ? null : Math.floor(Date.parse(booking.holdExpiresAt) / 1_000),
    expectedUntil: booking.expectedUntil === null ? null : dayOf(booking.expectedUntil),
  }
}

export function unitOfJson(unit: Schema<'Unit'>): ChartUnit {
  const { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, status } = unit
  return { slug, name, city, area, bedrooms, maxGuests, minStay, turnoverNights, isArchived: status === 'archived' }
}
