import type { Listed } from '../desk/booking-list.ts'
import type { Guest, GuestList } from '../desk/guest-list.ts'
import { withDeadline } from '../lib/deadline.ts'
import { QUERY_DEADLINE_MS } from './booking-rows.ts'
import type { Sql } from './connect.ts'
import type { ListReads } from './list-reads.ts'

interface StoredGuest extends Omit<Guest, 'createdAt'> {
  createdAt: Date
}

export class PostgresGuestList implements GuestList {
  readonly #sql: Sql
  readonly #lists: ListReads

  constructor(sql: Sql, lists: ListReads) {
    this.#sql = sql
    this.#lists = lists
  }

  async list(agencyId: string, search: string | null, page: { offset: number; limit: number }): Promise<Listed<Guest>> {
    const { sql } = this.#lists
    const pattern = search === null ? null : `%${search.replace(/[\\%_]/g, '\\$&')}%`
    const wanted = sql`
      agency_id = ${agencyId}
      ${
        pattern === null
          ? sql``
          : sql`and (first_name ilike ${pattern} or last_name ilike ${pattern} or email ilike ${pattern}
                     or phone ilike ${pattern})`
      }`
    const rows = await this.#lists.read(
      agencyId,
      sql<(StoredGuest & { total: number })[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from guest where ${wanted}) counted
        left join lateral (
          select ${guestColumns(sql)} from guest where ${wanted}
          order by created_at desc, guest_id offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."createdAt" desc, page."id"`,
    )
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(guestOf) }
  }

  async find(agencyId: string, guestId: string): Promise<Guest | null> {
    const sql = this.#sql
    const [row] = await withDeadline(
      sql<StoredGuest[]>`
        select ${guestColumns(sql)} from guest where agency_id = ${agencyId} and guest_id = ${guestId}`,
      QUERY_DEADLINE_MS,
    )
    return row === undefined ? null : guestOf(row)
  }
}

function guestColumns(sql: Sql) {
  return sql`guest_id as "id", first_name as "firstName", last_name as "lastName", email, phone, nationality,
             created_at as "createdAt"`
}

function guestOf(row: StoredGuest): Guest {
  const { id, firstName, lastName, email, phone, nationality, createdAt } = row
  return { id, firstName, lastName, email, phone, nationality, createdAt: createdAt.getTime() }
}
