import type { Booking, BookingStatus, BookingType, Instant } from '../domain/booking.ts'
import type { Night } from '../domain/night.ts'
import type { StoredEntry } from '../journal/entry-codec.ts'
import type { Actor } from '../journal/record.ts'

/** A page of a list took longer to read than a caller waits. */
export class SlowListError extends Error {
  override readonly name = 'SlowListError'
}

/** Null: any. */
export interface BookingFilter {
  /** Departure on or after it. */
  readonly from: Night | null
  /** Arrival on or before it. */
  readonly to: Night | null
  readonly status: BookingStatus | null
  readonly unitId: string | null
  readonly groupId: string | null
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

/** A guest of an agency (docs/contract.md#guest): personal data, in Postgres only. */
export interface Guest {
  readonly id: string
  readonly firstName: string
  readonly lastName: string
  readonly email: string | null
  readonly phone: string | null
  readonly nationality: string | null
  readonly createdAt: Instant
  /** Whether retention leaves the guest alone. */
  readonly keep: boolean
}

export interface GuestList {
  /**
   * Newest first, ties by id (docs/contract.md#get-guests).
   * @param search part of a first name, last name, e-mail or phone, whatever the case; null: all guests
   */
  list(agencyId: string, search: string | null, page: { offset: number; limit: number }): Promise<Listed<Guest>>
  /** Null for an unknown id, and for a guest of another agency. */
  find(agencyId: string, guestId: string): Promise<Guest | null>
}

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
  readonly groupId: string | null
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

/** A journal entry of a booking, with its time and its actor. */
export interface BookingEntry extends StoredEntry {
  readonly at: Instant
  readonly actor: Actor
}

/** The port behind the history of a booking: never behind what an answer said (J2). */
export interface BookingHistory {
  /**
   * The announced entries of a booking that are kept, in all units it has been in, newest first, at most `limit`.
   * @param before only entries before this one; null: all
   */
  read(
    agencyId: string,
    bookingId: string,
    page: { readonly before: BookingEntry | null; readonly limit: number },
  ): Promise<readonly BookingEntry[]>
}

/** A stay of the tape chart: what its bar shows. Days are counted from the first day of the window. */
export interface TapeStay {
  /** `bkg_…` */
  readonly id: string
  /** `unt_…` */
  readonly unitId: string
  readonly arrival: number
  readonly departure: number
  readonly type: BookingType
  readonly status: Exclude<BookingStatus, 'cancelled'>
  /** First and last name; null without a guest. */
  readonly guest: string | null
  readonly source: string
  readonly sourceRef: string | null
  /** Minor units. */
  readonly total: number
  /** Seconds since 1970, rounded up; null unless the booking is a hold. */
  readonly holdExpiresAt: number | null
  readonly expectedUntil: number | null
  readonly version: number
  readonly adults: number
  readonly children: number
  /** `grp_…`; null for a booking without a group. */
  readonly groupId: string | null
}

export interface TapeWindow {
  readonly from: Night
  /** Exclusive. */
  readonly to: Night
  /** Of the agency's units, the longest time for cleaning after a departure: it may reach into the window. */
  readonly turnoverNightsMax: number
  readonly staysMax: number
}

/** The port behind the tape chart: never behind what an answer said (J2). */
export interface TapeStays {
  /**
   * The stays of all units of an agency that are not cancelled and touch the window with their nights, the day of their departure, their
   * cleaning or their expected extension; at most `staysMax`, in no particular order.
   */
  read(agencyId: string, window: TapeWindow): Promise<readonly TapeStay[]>
}
