import type { Agency } from '../core/catalogue/agency.ts'
import type { Booking } from '../core/domain/booking.ts'
import { bookedStay, bookingIdentity } from '../core/domain/booking-summary.ts'
import type { BookingEvent } from '../core/domain/event.ts'

import type { Unit } from '../core/domain/unit.ts'
import type { Announcement } from '../core/journal/record.ts'

/**
 * The webhook event of a change (docs/contract.md#events): a snapshot of the booking without guest data. The body is built
 * once, when the journal's sequence number is known, and is identical in every delivery.
 * @returns null when status, dates and unit are unchanged, because no event is sent then (docs/contract.md#event-kinds)
 */
export function announce(input: {
  readonly event: BookingEvent
  readonly agency: Agency
  readonly unit: Unit
  readonly eventId: string
}): Announcement | null {
  const { event, agency, unit, eventId } = input
  const kind = eventKind(event)
  if (kind === null) return null
  const booking = event.after
  return {
    eventId,
    kind,
    body: (seq) =>
      JSON.stringify({
        id: eventId,
        event: kind,
        occurredAt: new Date(booking.updatedAt).toISOString(),
        seq,
        data: bookingData(booking, agency, unit),
      }),
  }
}

/** The contract's event kind of a change; null when the change sends no event (docs/contract.md#event-kinds). */
export function eventKind(event: BookingEvent): Announcement['kind'] | null {
  if (event.kind === 'booking_created') return 'booking.created'
  if (event.kind === 'booking_cancelled') return 'booking.cancelled'
  const { before, after } = event
  const isAnnounced =
    before.status !== after.status ||
    before.arrival !== after.arrival ||
    before.departure !== after.departure ||
    before.unitId !== after.unitId
  return isAnnounced ? 'booking.updated' : null
}

function bookingData(booking: Booking, agency: Agency, unit: Unit): Record<string, unknown> {
  return {
    ...bookingIdentity(booking, unit),
    sourceRef: booking.sourceRef,
    ...bookedStay(booking),
    currency: agency.currency,
    version: booking.version,
  }
}
