import type { Booking, Instant } from '../domain/booking.ts'
import type { ExpiredHold } from '../units/expired-hold.ts'

/** A booking as stored in Postgres, with the journal's number of its last change. */
export interface BookingRow {
  readonly agencyId: string
  readonly booking: Booking
  readonly seq: number
}

/** The port through which the booking commands find what they are asked to change. */
export interface BookingRows {
  /** Null for an unknown id, and for a booking of another agency. */
  find(agencyId: string, bookingId: string): Promise<BookingRow | null>
  /** Holds of all agencies whose lifetime has elapsed at `at`: as `Holds.expired`. */
  expiredHolds(at: Instant, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]>
  /** When the first hold that has not expired at `at` does; null when there is none. */
  nextExpiry(at: Instant): Promise<Instant | null>
}
