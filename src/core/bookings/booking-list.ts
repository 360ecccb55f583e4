import type { Booking, BookingStatus } from '../domain/booking.ts'
import type { Night } from '../domain/night.ts'

/** Null: any. */
export interface BookingFilter {
  /** Departure on or after it. */
  readonly from: Night | null
  /** Arrival on or before it. */
  readonly to: Night | null
  readonly status: BookingStatus | null
  readonly unitId: string | null
}

/** One page of a list, and how many rows there are in all at the same moment. */
export interface Listed<Row> {
  readonly rows: readonly Row[]
  readonly total: number
}

/** The port behind the lists of bookings: never behind what an answer said (J2). */
export interface BookingList {
  /** Newest arrival first, ties by id (docs/contract.md#get-bookings). */
  list(agencyId: string, filter: BookingFilter, page: { offset: number; limit: number }): Promise<Listed<Booking>>
  /** The guest's bookings of any status, newest arrival first, ties by id. */
  ofGuest(agencyId: string, guestId: string, limit: number): Promise<readonly Booking[]>
}
