import type { AuditEntry, AuditFilter, AuditList } from '../../admin/audit-list.ts'
import type { Listed } from '../../core/bookings/booking-list.ts'
import type { Actor } from '../../core/journal/record.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import type { ListReads } from './list-reads.ts'

/**
 * The audit trail: the entries of the journal, and the lines that no entry tells. Both have an index on (agency, newest, id), and
 * the two are merged in that order.
 */
export class PostgresAuditList implements AuditList {
  readonly #lists: ListReads

  constructor(lists: ListReads) {
    this.#lists = lists
  }

  async list(
    agencyId: string,
    filter: AuditFilter,
    page: { offset: number; limit: number },
  ): Promise<Listed<AuditEntry>> {
    const rows = await this.#lists.read(agencyId, auditPage(this.#lists.sql, agencyId, filter, page))
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(entryOf) }
  }
}

interface StoredLine {
  readonly total: number
  readonly id: string
  readonly at: Date
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
  readonly route: string
  readonly outcome: string
  /** As the caller gave it; of an entry, its UUID. */
  readonly bookingId: string | null
  readonly isEntry: boolean
  readonly requestId: string | null
  readonly count: number
}

/**
 * One page and the count of all; a page beyond the end has only the count. Each of the two parts is read from the newest on, until
 * it could fill all pages up to this one: written as one list of both, the planner sorts all of it.
 */
export function auditPage(
  sql: Sql,
  agencyId: string,
  filter: AuditFilter,
  { offset, limit }: { offset: number; limit: number },
) {
  const common = commonCondition(sql, agencyId, filter)
  const { bookingId } = filter
  const booking = bookingId === null ? null : uuidIn('bkg', bookingId)
  const entries = sql`
    ${common}
    ${filter.outcome === null || filter.outcome === 'OK' ? sql`` : sql`and false`}
    ${bookingId === null ? sql`` : sql`and booking_id = ${booking}::text::uuid`}`
  const lines = sql`
    ${common}
    ${filter.outcome === null ? sql`` : sql`and outcome = ${filter.outcome}`}
    ${bookingId === null ? sql`` : sql`and booking_id = ${bookingId}`}`
  const isOnPage = sql`order by at desc, id desc limit ${offset}::text::bigint + ${limit}::text::bigint`
  return sql<StoredLine[]>`
    select counted.total, page.*
    from (select ((select count(*) from journal where ${entries}) + (select count(*) from audit_line where ${lines}))::float8 as total
         ) counted
    left join lateral (
      (select at, entry_id as id, actor_kind as "actorKind", actor_id as "actorId", route, 'OK' as outcome,
              booking_id::text as "bookingId", true as "isEntry", request_id as "requestId", 1::float8 as "count"
       from journal where ${entries} ${isOnPage})
      union all
      (select at, line_id as id, actor_kind, actor_id, route, outcome, booking_id, false, request_id, count::float8
       from audit_line where ${lines} ${isOnPage})
      order by at desc, id desc offset ${offset}::text::bigint limit ${limit}::text::bigint
    ) page on true
    order by page.at desc, page.id desc`
}

function commonCondition(sql: Sql, agencyId: string, filter: AuditFilter): Fragment {
  return sql`
    agency_id = ${uuidOf(agencyId)}
    ${filter.from === null ? sql`` : sql`and at >= ${new Date(filter.from)}`}
    ${filter.to === null ? sql`` : sql`and at < ${new Date(filter.to)}`}
    ${filter.actorKind === null ? sql`` : sql`and actor_kind = ${filter.actorKind}`}
    ${filter.actorId === null ? sql`` : sql`and actor_id = ${uuidIn('key', filter.actorId)}::text::uuid`}
    ${filter.requestId === null ? sql`` : sql`and request_id = ${filter.requestId}`}`
}

function entryOf({ total: _, isEntry, actorKind, actorId, bookingId, ...line }: StoredLine): AuditEntry {
  return {
    ...line,
    id: idOf('aud', line.id),
    at: line.at.getTime(),
    actor: { kind: actorKind, id: actorId === null ? null : idOf('key', actorId) },
    bookingId: bookingId !== null && isEntry ? idOf('bkg', bookingId) : bookingId,
  }
}
