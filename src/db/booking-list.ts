import type { BookingFilter, BookingList, Listed } from '../desk/booking-list.ts'
import type { Booking } from '../domain/booking.ts'
import { formatNight } from '../domain/night.ts'
import { withDeadline } from '../lib/deadline.ts'
import { bookingColumns, bookingRowOf, QUERY_DEADLINE_MS, type StoredBooking } from './booking-rows.ts'
import type { Sql } from './connect.ts'

/** Pages of bookings, by the index on (agency, newest arrival, id). */
export class PostgresBookingList implements BookingList {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** One statement, so that the count and the page are of the same moment, and a page beyond the end still has a count. */
  async list(
    agencyId: string,
    filter: BookingFilter,
    page: { offset: number; limit: number },
  ): Promise<Listed<Booking>> {
    const sql = this.#sql
    const wanted = sql`
      booking.agency_id = ${agencyId}
      ${filter.from === null ? sql`` : sql`and booking.departure >= ${formatNight(filter.from)}::text::date`}
      ${filter.to === null ? sql`` : sql`and booking.arrival <= ${formatNight(filter.to)}::text::date`}
      ${filter.status === null ? sql`` : sql`and booking.status = ${filter.status}`}
      ${filter.unitId === null ? sql`` : sql`and booking.unit_id = ${filter.unitId}`}`
    const rows = await withDeadline(
      sql<(StoredBooking & { total: number })[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from booking where ${wanted}) counted
        left join lateral (
          select ${bookingColumns(sql)} from booking where ${wanted}
          order by booking.arrival desc, booking.booking_id
          offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."arrival" desc, page."id"`,
      QUERY_DEADLINE_MS,
    )
    // Without a row on the page, the count comes alone.
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map((row) => bookingRowOf(row).booking) }
  }

  async ofGuest(agencyId: string, guestId: string, limit: number): Promise<readonly Booking[]> {
    const sql = this.#sql
    const rows = await withDeadline(
      sql<StoredBooking[]>`
        select ${bookingColumns(sql)} from booking
        where agency_id = ${agencyId} and guest_id = ${guestId}
        order by booking.arrival desc, booking.booking_id limit ${limit}`,
      QUERY_DEADLINE_MS,
    )
    return rows.map((row) => bookingRowOf(row).booking)
  }
}
