import type {
  AgencyBooking,
  AgencyBookingFilter,
  AgencyBookings,
  ArrivalOrder,
  Listed,
} from '../../core/bookings/booking-lists.ts'
import { addNights, formatNight, type Night, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'
import type { Encoded } from '../../core/journal/fields.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { bookingFilter, bookingPage } from './booking-page.ts'
import type { ListReads } from './list-reads.ts'
import { bookingColumns, bookingRowOf, type StoredBooking } from './postgres-booking-rows.ts'
import { guestOf } from './postgres-guest-list.ts'
import { selectedObject } from './table.ts'
import { GUEST } from './tables.ts'

/**
 * The condition `and …` on rows of `journal` that selects the entries of a booking. They are those of the units it has been in, which
 * have an index.
 */
export function ofBooking(sql: Sql, agencyId: string, bookingId: string): Fragment {
  const booking = sql`${uuidIn('bkg', bookingId)}::text::uuid`
  return sql`
    and booking_id = ${booking}
    and unit_id = any (array(
      with recursive stayed_in as (
        select unit_id from booking where agency_id = ${uuidOf(agencyId)} and booking_id = ${booking}
        union
        select j.other_unit_id from stayed_in s
        join journal j on j.unit_id = s.unit_id and j.booking_id = ${booking} and j.other_unit_id is not null)
      select unit_id from stayed_in))`
}

type StoredAgencyBooking = StoredBooking & { readonly guest: Encoded<typeof GUEST.fields> | null }

/** Bookings with guest and notes, for their agency only. */
export class PostgresAgencyBookings implements AgencyBookings {
  readonly #sql: Sql

  readonly #lists: ListReads

  constructor(sql: Sql, lists: ListReads) {
    this.#sql = sql
    this.#lists = lists
  }

  async find(agencyId: string, bookingId: string): Promise<AgencyBooking | null> {
    const sql = this.#sql
    const [row] = await sql<StoredAgencyBooking[]>`
      select ${bookingColumns(sql)}, ${guestColumn(sql)} from booking ${guestJoin(sql)}
      where booking.agency_id = ${uuidOf(agencyId)} and booking.booking_id = ${uuidIn('bkg', bookingId)}`
    return row === undefined ? null : agencyBookingOf(row)
  }

  async findAll(agencyId: string, bookingIds: readonly string[]): Promise<ReadonlyMap<string, AgencyBooking>> {
    const { sql } = this.#lists
    const uuids = bookingIds.flatMap((id) => uuidIn('bkg', id) ?? [])
    const rows = await this.#lists.read(
      agencyId,
      sql<StoredAgencyBooking[]>`
        select ${bookingColumns(sql)}, ${guestColumn(sql)}
        from jsonb_array_elements_text(${JSON.stringify(uuids)}::text::jsonb) as wanted (id)
        join booking on booking.agency_id = ${uuidOf(agencyId)} and booking.booking_id = wanted.id::uuid ${guestJoin(sql)}`,
    )
    return new Map(rows.map(agencyBookingOf).map((found) => [found.booking.id, found]))
  }

  async list(
    agencyId: string,
    filter: AgencyBookingFilter,
    page: { offset: number; limit: number; order: ArrivalOrder },
  ): Promise<Listed<AgencyBooking>> {
    const { sql } = this.#lists
    const wanted = sql`
      ${bookingFilter(sql, agencyId, filter)}
      ${filter.departedBefore === null ? sql`` : sql`and booking.departure < ${formatNight(filter.departedBefore)}::text::date`}
      ${filter.from === null ? sql`` : sql`and booking.arrival >= ${formatNight(earliestArrival(filter.from))}::text::date`}
      ${filter.type === null ? sql`` : sql`and booking.type = ${filter.type}`}
      ${filter.source === null ? sql`` : sql`and booking.source = ${filter.source}`}
      ${filter.sourceRef === null ? sql`` : sql`and booking.source_ref = ${filter.sourceRef}`}
      ${filter.guestId === null ? sql`` : sql`and booking.guest_id = ${uuidIn('gst', filter.guestId)}`}`
    const columns = sql`${bookingColumns(sql)}, ${guestColumn(sql)}`
    const selection = { columns, joined: guestJoin(sql), wanted }
    const { total, rows } = await bookingPage<StoredAgencyBooking>(this.#lists, agencyId, selection, page)
    return { total, rows: rows.map(agencyBookingOf) }
  }
}

/** No stay that departs on `from` or later arrived earlier: the oldest part of the index need not be read. */
function earliestArrival(from: Night): Night {
  return addNights(from, -STAY_NIGHTS_MAX)
}

function guestJoin(sql: Sql) {
  return sql`left join guest on guest.agency_id = booking.agency_id and guest.guest_id = booking.guest_id`
}

function guestColumn(sql: Sql) {
  return sql`case when guest.guest_id is null then null else ${selectedObject(sql, GUEST)} end as "guest"`
}

function agencyBookingOf(row: StoredAgencyBooking): AgencyBooking {
  const guest = row.guest === null ? null : guestOf(row.guest)
  return { booking: bookingRowOf(row).booking, guest, notes: row.notes }
}
