import type { Guest, GuestList, Listed } from '../../core/bookings/booking-lists.ts'
import { decoderOf, type Stored } from '../../core/journal/fields.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { guestMatches } from './guest-search.ts'
import type { ListReads } from './list-reads.ts'
import { selected } from './table.ts'
import { GUEST } from './tables.ts'

type StoredGuest = Stored<typeof GUEST.fields>

export class PostgresGuestList implements GuestList {
  readonly #sql: Sql
  readonly #lists: ListReads

  constructor(sql: Sql, lists: ListReads) {
    this.#sql = sql
    this.#lists = lists
  }

  async list(agencyId: string, search: string | null, page: { offset: number; limit: number }): Promise<Listed<Guest>> {
    const { sql } = this.#lists
    const statement = search === null ? allGuests(sql, agencyId, page) : foundGuests(sql, { agencyId, search, page })
    const rows = await this.#lists.read(agencyId, statement)
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(guestOf) }
  }

  async find(agencyId: string, guestId: string): Promise<Guest | null> {
    const sql = this.#sql
    const [row] = await sql<StoredGuest[]>`
      select ${selected(sql, GUEST)} from guest
      where agency_id = ${uuidOf(agencyId)} and guest_id = ${uuidIn('gst', guestId)}`
    return row === undefined ? null : guestOf(row)
  }
}

interface Page {
  readonly offset: number
  readonly limit: number
}

/** One page with the total count; a page beyond the end has only the count. Both use an index. */
function allGuests(sql: Sql, agencyId: string, { offset, limit }: Page) {
  return sql<(StoredGuest & { total: number })[]>`
    select counted.total, page.*
    from (select count(*)::float8 as total from guest where agency_id = ${uuidOf(agencyId)}) counted
    left join lateral (
      select ${selected(sql, GUEST)} from guest where agency_id = ${uuidOf(agencyId)}
      order by created_at desc, guest_id offset ${offset}::text::bigint limit ${limit}
    ) page on true
    order by page."createdAt" desc, page."id"`
}

/**
 * As `allGuests`, for the guests that match. The matches are found once, for both count and page. A page query of its own would
 * read from the newest guest until the page is full, which is all guests when few match. Only the rows of the page are returned.
 */
export function foundGuests(sql: Sql, wanted: { agencyId: string; search: string; page: Page }) {
  const { agencyId, search, page } = wanted
  return sql<(StoredGuest & { total: number })[]>`
    with hit as materialized (
      select ctid as place, guest_id, created_at from guest where ${guestMatches(sql, agencyId, search)}
    )
    select counted.total, page.*
    from (select count(*)::float8 as total from hit) counted
    left join lateral (
      select ${selected(sql, GUEST)}
      from (
        select * from hit order by hit.created_at desc, hit.guest_id
        offset ${page.offset}::text::bigint limit ${page.limit}
      ) newest join guest on guest.ctid = newest.place
    ) page on true
    order by page."createdAt" desc, page."id"`
}

export const guestOf: (row: StoredGuest) => Guest = decoderOf(GUEST.fields)
