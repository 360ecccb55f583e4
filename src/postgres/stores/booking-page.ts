import type { ArrivalOrder, BookingFilter, Listed } from '../../core/bookings/booking-lists.ts'
import { formatNight } from '../../core/domain/night.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import type { ListReads } from './list-reads.ts'

/** The condition of every list of bookings (docs/contract.md#get-bookings). */
export function bookingFilter(sql: Sql, agencyId: string, filter: BookingFilter): Fragment {
  return sql`
    booking.agency_id = ${uuidOf(agencyId)}
    ${filter.from === null ? sql`` : sql`and booking.departure >= ${formatNight(filter.from)}::text::date`}
    ${filter.to === null ? sql`` : sql`and booking.arrival <= ${formatNight(filter.to)}::text::date`}
    ${filter.status === null ? sql`` : sql`and booking.status = ${filter.status}`}
    ${filter.unitId === null ? sql`` : sql`and booking.unit_id = ${uuidIn('unt', filter.unitId)}`}
    ${filter.groupId === null ? sql`` : sql`and booking.group_id = ${uuidIn('grp', filter.groupId)}`}`
}

/**
 * One page of bookings by arrival, ties by id, with the count of all. One statement, so that both are of the same
 * moment, and a page beyond the end still has a count. The rows of the page are selected first, and only they get their columns:
 * for the fiftieth page that is a tenth of the work.
 * @param page.order left out: newest arrival first
 * @param columns what is selected of `booking` and `joined`; including the booking's id as "id" and its arrival as "arrival"
 * @param joined joins that return every booking exactly once
 */
export async function bookingPage<Row extends { id: string }>(
  lists: ListReads,
  agencyId: string,
  { columns, joined, wanted }: { columns: Fragment; joined?: Fragment; wanted: Fragment },
  page: { offset: number; limit: number; order?: ArrivalOrder },
): Promise<Listed<Row>> {
  const { sql } = lists
  const isEarliestFirst = page.order === 'earliest_first'
  const rows = await lists.read(
    agencyId,
    sql<(Row & { total: number })[]>`
      select counted.total, page.*
      from (select count(*)::float8 as total from booking where ${wanted}) counted
      left join lateral (
        select ${columns}
        from (
          select * from booking where ${wanted}
          order by ${isEarliestFirst ? sql`booking.arrival` : sql`booking.arrival desc`}, booking.booking_id
          offset ${page.offset}::text::bigint limit ${page.limit}
        ) booking
        ${joined ?? sql``}
      ) page on true
      order by ${isEarliestFirst ? sql`page."arrival"` : sql`page."arrival" desc`}, page."id"`,
  )
  // Without a row on the page, the count comes alone.
  return { total: rows[0]?.total ?? 0, rows: rows.filter((row) => row.id !== null) }
}
