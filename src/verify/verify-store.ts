import type { BookingRow } from '../desk/booking-rows.ts'
import type { StoredEntry } from '../journal/entry-codec.ts'
import type { UnitAddress } from '../journal/recovery.ts'
import type { StoredSnapshot } from '../journal/snapshot-codec.ts'

/** A row of `booking` with what the journal does not know of. */
export interface ProjectedBooking extends BookingRow {
  readonly guestId: string | null
  /** Whether the guest that the booking names exists. */
  readonly hasGuest: boolean
}

/** A webhook event, with what its body says of the booking. */
export interface StoredEvent {
  readonly seq: number
  readonly kind: string
  readonly body: {
    readonly seq: number
    readonly id: string
    readonly version: number
    readonly status: string
    readonly arrival: string
    readonly departure: string
    readonly totalAmount: number
  }
}

/** What a verification reads. Every look is bounded by `seq`, so that a service may write meanwhile. */
export interface VerifyStore {
  /** The journal up to its end now: the highest number, how many entries, how many different numbers. */
  extent(): Promise<{ lastSeq: number; entries: number; numbers: number }>
  /** All units that the journal or the table of units knows, in order of agency and id, after `after`. */
  units(after: UnitAddress, limit: number): Promise<readonly UnitAddress[]>
  entries(unit: UnitAddress, untilSeq: number): Promise<readonly StoredEntry[]>
  snapshots(unit: UnitAddress, untilSeq: number): Promise<readonly StoredSnapshot[]>
  /** Bookings that are in the unit now. */
  bookingsIn(unit: UnitAddress): Promise<readonly ProjectedBooking[]>
  bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]>
  /** All events of an agency; read once for all of its units. */
  events(agencyId: string, untilSeq: number): Promise<readonly StoredEvent[]>
  /** By booking: the lines `OK` of the agency's audit trail that name it. Read once for all of its units. */
  auditLines(agencyId: string): Promise<ReadonlyMap<string, number>>
  /** Deliveries whose event or endpoint is missing. */
  strayDeliveries(): Promise<readonly string[]>
  /** Deliveries that are pending for an endpoint that is deleted: nobody sends them, and nobody ends them. */
  orphanedDeliveries(): Promise<readonly string[]>
}
