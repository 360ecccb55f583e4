import type { Booking, BookingStatus, BookingType } from '../domain/booking.ts'
import type { Night } from '../domain/night.ts'
import type { Listed } from './booking-list.ts'
import type { Guest } from './guest-list.ts'

/** A booking with what only its agency sees. */
export interface AgencyBooking {
  readonly booking: Booking
  readonly guest: Guest | null
  readonly notes: string | null
}

export const ARRIVAL_ORDERS = ['latest_first', 'earliest_first'] as const
export type ArrivalOrder = (typeof ARRIVAL_ORDERS)[number]

/** Null: any. */
export interface AgencyBookingFilter {
  /** Departure on or after it. */
  readonly from: Night | null
  /** Arrival on or before it. */
  readonly to: Night | null
  /** Departure before it. */
  readonly departedBefore: Night | null
  readonly status: BookingStatus | null
  readonly type: BookingType | null
  readonly unitId: string | null
  readonly source: string | null
  readonly sourceRef: string | null
  readonly guestId: string | null
}

/** The port behind the agency's reads of bookings: never behind what an answer said (J2). */
export interface AgencyBookings {
  /** Null for an unknown id, and for a booking of another agency. */
  find(agencyId: string, bookingId: string): Promise<AgencyBooking | null>
  /** By id; those that `find` finds. */
  findAll(agencyId: string, bookingIds: readonly string[]): Promise<ReadonlyMap<string, AgencyBooking>>
  /** By arrival, ties by id. */
  list(
    agencyId: string,
    filter: AgencyBookingFilter,
    page: { offset: number; limit: number; order: ArrivalOrder },
  ): Promise<Listed<AgencyBooking>>
}
