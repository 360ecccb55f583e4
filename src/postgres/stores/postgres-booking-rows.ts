import type { BookingRow, BookingRows } from '../../core/bookings/booking-rows.ts'
import type { BookingStatus, BookingType, Instant } from '../../core/domain/booking.ts'
import { decodeNight } from '../../core/journal/entry-codec.ts'
import type { LapsedHold } from '../../core/units/lapsed-hold.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Sql } from '../client/connect.ts'

export const QUERY_DEADLINE_MS = 5_000

/** A row of `booking` as the statements of this folder select it. */
export interface StoredBooking {
  agencyId: string
  id: string
  unitId: string
  type: BookingType
  status: BookingStatus
  source: string
  sourceRef: string | null
  arrival: string
  departure: string
  adults: number
  children: number
  extraBed: boolean
  totalAmount: number
  guestId: string | null
  notes: string | null
  holdExpiresAt: Date | null
  expectedUntil: string | null
  cancelledAt: Date | null
  cancelReason: string | null
  createdAt: Date
  updatedAt: Date
  version: number
  seq: number
}

/** The columns of `StoredBooking`; dates as text, so that no time zone touches them, bigints as exact numbers. */
export function bookingColumns(sql: Sql) {
  return sql`
    booking.agency_id as "agencyId", booking.booking_id as "id", booking.unit_id as "unitId", booking.type,
    booking.status, booking.source, booking.source_ref as "sourceRef", booking.arrival::text as "arrival",
    booking.departure::text as "departure", booking.adults, booking.children, booking.extra_bed as "extraBed",
    booking.total_amount::float8 as "totalAmount", booking.guest_id as "guestId", booking.notes,
    booking.hold_expires_at as "holdExpiresAt", booking.expected_until::text as "expectedUntil",
    booking.cancelled_at as "cancelledAt", booking.cancel_reason as "cancelReason",
    booking.created_at as "createdAt", booking.updated_at as "updatedAt", booking.version,
    booking.seq::float8 as "seq"`
}

export function bookingRowOf(row: StoredBooking): BookingRow {
  return {
    agencyId: row.agencyId,
    seq: row.seq,
    booking: {
      id: row.id,
      unitId: row.unitId,
      type: row.type,
      status: row.status,
      source: row.source,
      sourceRef: row.sourceRef,
      arrival: decodeNight(row.arrival),
      departure: decodeNight(row.departure),
      adults: row.adults,
      children: row.children,
      extraBed: row.extraBed,
      totalAmount: row.totalAmount,
      holdExpiresAt: row.holdExpiresAt?.getTime() ?? null,
      expectedUntil: row.expectedUntil === null ? null : decodeNight(row.expectedUntil),
      cancelledAt: row.cancelledAt?.getTime() ?? null,
      cancelReason: row.cancelReason,
      createdAt: row.createdAt.getTime(),
      updatedAt: row.updatedAt.getTime(),
      version: row.version,
    },
  }
}

/** What the booking commands look up before they change a booking. */
export class PostgresBookingRows implements BookingRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async find(agencyId: string, bookingId: string): Promise<BookingRow | null> {
    const sql = this.#sql
    const [row] = await withDeadline(
      sql<StoredBooking[]>`
        select ${bookingColumns(sql)} from booking where agency_id = ${agencyId} and booking_id = ${bookingId}`,
      QUERY_DEADLINE_MS,
    )
    return row === undefined ? null : bookingRowOf(row)
  }

  /** The expiry is passed as text: a `Date` has only milliseconds, and would sort a hold before itself. */
  async lapsedHolds(at: Instant, after: LapsedHold | null, limit: number): Promise<readonly LapsedHold[]> {
    const { expiry, bookingId } = after ?? { expiry: '-infinity', bookingId: '' }
    return withDeadline(
      this.#sql<LapsedHold[]>`
        select agency_id as "agencyId", unit_id as "unitId", booking_id as "bookingId", hold_expires_at::text as "expiry"
        from booking
        where status in ('draft', 'option') and hold_expires_at <= ${new Date(at)}
          and (hold_expires_at, booking_id) > (${expiry}::text::timestamptz, ${bookingId}::text)
        order by hold_expires_at, booking_id limit ${limit}`,
      QUERY_DEADLINE_MS,
    )
  }

  async nextExpiry(at: Instant): Promise<Instant | null> {
    const [row] = await withDeadline(
      this.#sql<{ at: Date | null }[]>`
        select min(hold_expires_at) as "at" from booking
        where status in ('draft', 'option') and hold_expires_at > ${new Date(at)}`,
      QUERY_DEADLINE_MS,
    )
    return row?.at?.getTime() ?? null
  }
}
