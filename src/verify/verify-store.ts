import type { BookingRow } from '../core/bookings/booking-rows.ts'
import type { StoredEntry } from '../core/journal/entry-codec.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import type { StoredSnapshot } from '../core/journal/snapshot-codec.ts'

/** A row of `booking` with what the journal does not know of. */
export interface ProjectedBooking extends BookingRow {
  readonly guestId: string | null
  /** Whether the guest that the booking names exists. */
  readonly hasGuest: boolean
}

export interface EventAddress {
  readonly agencyId: string
  readonly eventId: string
}

/** A webhook event, with what its body says of the booking. */
export interface StoredEvent extends EventAddress {
  readonly seq: number
  readonly kind: string
  /** Null when it cannot be read. */
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
 * What a verification reads. Every read is bounded by `seq`, so that a service may write at the same time, and by `limit`, so that memory
 * does not grow with the ledger.
 */
export interface VerifyStore {
  /** The journal up to its end now: the highest number, how many entries, how many different numbers. */
  extent(): Promise<{ lastSeq: number; entries: number; numbers: number }>
  /** All units that the journal or the table of units knows, in order of agency and id, after `after`. */
  units(after: UnitAddress, limit: number): Promise<readonly UnitAddress[]>
  /** Of the unit, in order: numbers above `after` and up to `until`. */
  entries(
    unit: UnitAddress,
    range: { readonly after: number; readonly until: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]>
  /** By their numbers, whatever their unit. */
  entriesAt(seqs: readonly number[]): Promise<readonly (StoredEntry & { readonly agencyId: string })[]>
  /** The newest first. */
  snapshots(unit: UnitAddress, untilSeq: number, limit: number): Promise<readonly StoredSnapshot[]>
  bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]>
  /** Bookings whose row names a journal entry that is not theirs, or none that exists. */
  strayBookings(
    untilSeq: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly unitId: string; readonly seq: number }[]>
  /** Events of journal entries, in order of agency and event, after `after`. */
  events(after: EventAddress, untilSeq: number, limit: number): Promise<readonly StoredEvent[]>
  /** Bookings with fewer lines `OK` in the audit trail than changes. */
  bookingsShortOfAudit(
    untilSeq: number,
    limit: number,
  ): Promise<
    readonly { readonly id: string; readonly unitId: string; readonly version: number; readonly lines: number }[]
  >
  /** Deliveries whose event or endpoint is missing. */
  strayDeliveries(limit: number): Promise<readonly string[]>
  /** Pending deliveries of deleted endpoints: nothing sends them, and nothing ends them. */
  orphanedDeliveries(limit: number): Promise<readonly string[]>
}
