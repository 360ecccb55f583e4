import type { BookingStatus, BookingType } from '../domain/booking.ts'
import type { Night } from '../domain/night.ts'

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
