import type { AgencyBooking, AgencyBookingFilter, AgencyBookings } from '../desk/agency-bookings.ts'
import type { Listed } from '../desk/booking-list.ts'
import type { Guest } from '../desk/guest-list.ts'
import { formatNight } from '../domain/night.ts'
import { withDeadline } from '../lib/deadline.ts'
import { bookingColumns, bookingRowOf, QUERY_DEADLINE_MS, type StoredBooking } from './booking-rows.ts'
import type { Sql } from './connect.ts'

interface StoredAgencyBooking extends StoredBooking {
  guest: (Omit<Guest, 'createdAt'> & { createdAt: string }) | null
}

/** Bookings with guest and notes, for their agency only. */
export class PostgresAgencyBookings implements AgencyBookings {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async find(agencyId: string, bookingId: string): Promise<AgencyBooking | null> {
    const sql = this.#sql
    const [row] = await withDeadline(
      sql<StoredAgencyBooking[]>`
        select ${bookingColumns(sql)}, ${guestColumn(sql)} from booking ${guestJoin(sql)}
        where booking.agency_id = ${agencyId} and booking.booking_id = ${bookingId}`,
      QUERY_DEADLINE_MS,
    )
    return row === undefined ? null : agencyBookingOf(row)
  }

  /** One statement, so that the count and the page are of the same moment. */
  async list(
    agencyId: string,
    filter: AgencyBookingFilter,
    page: { offset: number; limit: number },
  ): Promise<Listed<AgencyBooking>> {
    const sql = this.#sql
    const wanted = sql`
      booking.agency_id = ${agencyId}
      ${filter.from === null ? sql`` : sql`and booking.departure >= ${formatNight(filter.from)}::text::date`}
      ${filter.to === null ? sql`` : sql`and booking.arrival <= ${formatNight(filter.to)}::text::date`}
      ${filter.status === null ? sql`` : sql`and booking.status = ${filter.status}`}
      ${filter.type === null ? sql`` : sql`and booking.type = ${filter.type}`}
      ${filter.unitId === null ? sql`` : sql`and booking.unit_id = ${filter.unitId}`}
      ${filter.source === null ? sql`` : sql`and booking.source = ${filter.source}`}
      ${filter.sourceRef === null ? sql`` : sql`and booking.source_ref = ${filter.sourceRef}`}
      ${filter.guestId === null ? sql`` : sql`and booking.guest_id = ${filter.guestId}`}`
    const rows = await withDeadline(
      sql<(StoredAgencyBooking & { total: number })[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from booking where ${wanted}) counted
        left join lateral (
          select ${bookingColumns(sql)}, ${guestColumn(sql)} from booking ${guestJoin(sql)} where ${wanted}
          order by booking.arrival desc, booking.booking_id
          offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."arrival" desc, page."id"`,
      QUERY_DEADLINE_MS,
    )
    // Without a row on the page, the count comes alone.
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(agencyBookingOf) }
  }
}

function guestJoin(sql: Sql) {
  return sql`left join guest on guest.agency_id = booking.agency_id and guest.guest_id = booking.guest_id`
}

function guestColumn(sql: Sql) {
  return sql`
    case when guest.guest_id is null then null else jsonb_build_object(
      'id', guest.guest_id, 'firstName', guest.first_name, 'lastName', guest.last_name, 'email', guest.email,
      'phone', guest.phone, 'nationality', guest.nationality, 'createdAt', guest.created_at) end as "guest"`
}

function agencyBookingOf(row: StoredAgencyBooking): AgencyBooking {
  const guest = row.guest === null ? null : { ...row.guest, createdAt: Date.parse(row.guest.createdAt) }
  return { booking: bookingRowOf(row).booking, guest, notes: row.notes }
}
