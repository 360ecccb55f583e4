import type { BookingFilter, BookingList, Listed } from '../../core/bookings/booking-lists.ts'
import type { Booking } from '../../core/domain/booking.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { bookingFilter, bookingPage } from './booking-page.ts'
import type { ListReads } from './list-reads.ts'
import { bookingColumns, bookingRowOf, type StoredBooking } from './postgres-booking-rows.ts'

/** Pages of bookings, by the index on (agency, newest arrival, id). */
export class PostgresBookingList implements BookingList {
  readonly #sql: Sql

  readonly #lists: ListReads

  constructor(sql: Sql, lists: ListReads) {
    this.#sql = sql
    this.#lists = lists
  }

  async list(
    agencyId: string,
    filter: BookingFilter,
    page: { offset: number; limit: number },
  ): Promise<Listed<Booking>> {
    const { sql } = this.#lists
    const wanted = bookingFilter(sql, agencyId, filter)
    const selection = { columns: bookingColumns(sql), wanted }
    const { total, rows } = await bookingPage<StoredBooking>(this.#lists, agencyId, selection, page)
    return { total, rows: rows.map((row) => bookingRowOf(row).booking) }
  }

  async ofGuest(agencyId: string, guestId: string, limit: number): Promise<readonly Booking[]> {
    const sql = this.#sql
    const rows = await sql<StoredBooking[]>`
      select ${bookingColumns(sql)} from booking
      where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidIn('gst', guestId)}
      order by booking.arrival desc, booking.booking_id limit ${limit}`
    return rows.map((row) => bookingRowOf(row).booking)
  }
}
