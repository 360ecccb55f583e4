import type { BookingRow } from '../core/bookings/booking-turns.ts'
import type { StoredEntry } from '../core/journal/entry-codec.ts'
import type { UnitAddress } from '../core/journal/recovery.ts'
import type { Link, LinkedEntry, Month } from '../core/journal/shard.ts'
import type { StoredSnapshot } from '../core/journal/snapshot-codec.ts'
import type { Hash } from '../events/checkpoints/merkle-tree.ts'

/** The part of a shard's log that a verification reads. */
export interface ShardExtent {
  readonly shard: number
  /** The last entry that was archived, and its link; 0 and none when there is none. */
  readonly base: number
  readonly baseLink: Link
  /** From here on numbers have no gap. Entries before it, of an earlier version, keep the numbers that they had. */
  readonly mark: number
  /** Of the last entry up to the mark. */
  readonly markLink: Link
  /** The highest number; the mark when there is no entry after it. */
  readonly lastSeq: number
}

/** An entry with everything that its link covers, and its link. */
export interface LogEntry extends LinkedEntry {
  readonly link: Link
}

/** Where a page of a shard's log ended. A number that is used twice is in two months. */
export interface LogPosition {
  readonly seq: number
  readonly month: Month
}

export interface VerifiedUnit extends UnitAddress {
  readonly hasEntries: boolean
}

/** An entry of a unit. */
export interface UnitEntry extends StoredEntry {
  readonly isAnnounced: boolean
}

export interface VerifiedSnapshot extends StoredSnapshot {
  /** What comes before it was archived: the unit is replayed from here. */
  readonly isBase: boolean
  /** It includes an entry that the log does not have (S3). */
  readonly isAhead: boolean
}

/** A row of `booking`, with the guest, which is not in the journal. */
export interface ProjectedBooking extends BookingRow {
  readonly guestId: string | null
  /** Whether the guest that the booking names exists. */
  readonly hasGuest: boolean
  /** What `after_restore` raised all versions to, at least; 0 when it never did. */
  readonly versionMark: number
}

/** A part of an agency's tree as it is stored, with what it should be made of. */
export interface TreePart {
  readonly firstLeaf: number
  readonly size: number
  /** The entry of its last leaf. */
  readonly lastSeq: number
  /** 32 bytes each. */
  readonly hashes: Uint8Array
  /** Of the entries in the journal: its last ones, if others were archived. */
  readonly leaves: readonly Hash[]
}

/** An endpoint whose cursor is not where its deliveries say. */
export interface CursorDifference {
  readonly endpointId: string
  readonly shard: number
  readonly seq: number
}

/**
 * The port a verification reads from. Every read is bounded by the extent of the shards at its beginning, so that a service can
 * write at the same time, and by `limit`, so that memory does not grow with the ledger.
 */
export interface VerifyStore {
  /** Of all shards, in order, as they are now. */
  extents(): Promise<readonly ShardExtent[]>
  /** Entries of the shard, in order: after `after`, with numbers up to `until`. */
  log(
    shard: number,
    range: { readonly after: LogPosition | null; readonly until: number; readonly limit: number },
  ): Promise<readonly LogEntry[]>
  /** Units after `after`: those that have entries in the journal, then those that are only in the table of units. */
  units(after: VerifiedUnit | null, limit: number): Promise<readonly VerifiedUnit[]>
  /** Entries of the unit, in order: numbers above `after` and up to `until`. */
  entries(
    unit: UnitAddress,
    range: { readonly after: number; readonly until: number; readonly limit: number },
  ): Promise<readonly UnitEntry[]>
  /** Newest first. */
  snapshots(unit: UnitAddress, limit: number): Promise<readonly VerifiedSnapshot[]>
  /** Whether entries of the unit were archived, so that a base snapshot must be there (S2). */
  hasArchivedEntries(unit: UnitAddress): Promise<boolean>
  /** Agencies by id, after `after`. */
  agencies(after: string | null, limit: number): Promise<readonly string[]>
  /** The parts of an agency's tree from this leaf on, in order. */
  treeParts(agencyId: string, fromLeaf: number, limit: number): Promise<readonly TreePart[]>
  bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]>
  /** Bookings whose row names a number that is not an entry of the booking, and that was not archived. */
  strayBookings(
    limit: number,
  ): Promise<readonly { readonly id: string; readonly unitId: string; readonly seq: number }[]>
  /** Guests who were erased and are still stored, or whose erasure is not in the log. */
  strayErasures(limit: number): Promise<readonly string[]>
  /** Deliveries that are neither a ping nor of an announced entry of their agency, and those without an endpoint. */
  strayDeliveries(limit: number): Promise<readonly string[]>
  /** Pending deliveries of deleted endpoints, which would never be sent or finished. */
  orphanedDeliveries(limit: number): Promise<readonly string[]>
  /** Announced entries that an endpoint's cursor has passed since it was last set, without a delivery for the endpoint. */
  missingDeliveries(limit: number): Promise<readonly CursorDifference[]>
  /** Cursors beyond the end of their shard. */
  cursorsBeyondEnd(limit: number): Promise<readonly CursorDifference[]>
}
