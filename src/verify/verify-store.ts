import type { BookingRow } from '../core/bookings/booking-rows.ts'
import type { StoredEntry } from '../core/journal/entry-codec.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import type { StoredSnapshot } from '../core/journal/snapshot-codec.ts'

/** A row of `booking`, with the guest, which is not in the journal. */
export interface ProjectedBooking extends BookingRow {
  readonly guestId: string | null
  /** Whether the guest that the booking names exists. */
  readonly hasGuest: boolean
}

export interface EventAddress {
  readonly agencyId: string
  readonly eventId: string
}

/** A webhook event, and what its body says about the booking. */
export interface StoredEvent extends EventAddress {
  readonly seq: number
  readonly kind: string
  /** Null when the body cannot be read. */
  readonly body: {
    readonly seq: number
    readonly id: string
    readonly version: number
    readonly status: string
    readonly arrival: string
    readonly departure: string
    readonly totalAmount: number
  } | null
}

/**
 * The port a verification reads from. Every read is bounded by `seq`, so that a service can write at the same time, and
 * by `limit`, so that memory does not grow with the ledger.
 */
export interface VerifyStore {
  /** The current extent of the journal: highest number, number of entries, number of distinct numbers. */
  extent(): Promise<{ lastSeq: number; entries: number; numbers: number }>
  /** Units in the journal or the table of units, ordered by agency and id, after `after`. */
  units(after: UnitAddress, limit: number): Promise<readonly UnitAddress[]>
  /** Entries of the unit, in order: numbers above `after` and up to `until`. */
  entries(
    unit: UnitAddress,
    range: { readonly after: number; readonly until: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]>
  /** Entries by number, of any unit. */
  entriesAt(seqs: readonly number[]): Promise<readonly (StoredEntry & { readonly agencyId: string })[]>
  /** Newest first. */
  snapshots(unit: UnitAddress, untilSeq: number, limit: number): Promise<readonly StoredSnapshot[]>
  bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]>
  /** Bookings whose row names a journal entry that belongs to another booking or does not exist. */
  strayBookings(
    untilSeq: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly unitId: string; readonly seq: number }[]>
  /** Events of journal entries, ordered by agency and event, after `after`. */
  events(after: EventAddress, untilSeq: number, limit: number): Promise<readonly StoredEvent[]>
  /** Bookings with fewer audit lines `OK` than changes. */
  bookingsShortOfAudit(
    untilSeq: number,
    limit: number,
  ): Promise<
    readonly { readonly id: string; readonly unitId: string; readonly version: number; readonly lines: number }[]
  >
  /** Deliveries whose event or endpoint is missing. */
  strayDeliveries(limit: number): Promise<readonly string[]>
  /** Pending deliveries of deleted endpoints, which would never be sent or finished. */
  orphanedDeliveries(limit: number): Promise<readonly string[]>
}
