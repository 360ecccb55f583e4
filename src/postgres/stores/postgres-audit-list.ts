import type { AuditEntry, AuditFilter, AuditList } from '../../admin/audit-list.ts'
import type { Listed } from '../../core/bookings/booking-list.ts'
import type { Actor } from '../../core/journal/record.ts'
import type { ListReads } from './list-reads.ts'

interface StoredAudit {
  id: string
  at: Date
  actorKind: Actor['kind']
  actorId: string | null
  route: string
  outcome: string
  bookingId: string | null
  requestId: string | null
  count: number
  total: number
}

/** The audit trail, by its index on (agency, newest, id). */
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
    const { sql } = this.#lists
    const wanted = sql`
      agency_id = ${agencyId}
      ${filter.from === null ? sql`` : sql`and at >= ${new Date(filter.from)}`}
      ${filter.to === null ? sql`` : sql`and at < ${new Date(filter.to)}`}
      ${filter.actorKind === null ? sql`` : sql`and actor_kind = ${filter.actorKind}`}
      ${filter.actorId === null ? sql`` : sql`and actor_id = ${filter.actorId}`}
      ${filter.outcome === null ? sql`` : sql`and outcome = ${filter.outcome}`}
      ${filter.bookingId === null ? sql`` : sql`and booking_id = ${filter.bookingId}`}
      ${filter.requestId === null ? sql`` : sql`and request_id = ${filter.requestId}`}`
    const rows = await this.#lists.read(
      agencyId,
      sql<StoredAudit[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from audit where ${wanted}) counted
        left join lateral (
          select audit_id as "id", at, actor_kind as "actorKind", actor_id as "actorId", route, outcome,
                 booking_id as "bookingId", request_id as "requestId", count::float8 as "count"
          from audit where ${wanted}
          order by at desc, audit_id desc offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page.at desc, page."id" desc`,
    )
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(entryOf) }
  }
}

function entryOf(row: StoredAudit): AuditEntry {
  const { id, at, actorKind, actorId, route, outcome, bookingId, requestId, count } = row
  const actor = { kind: actorKind, id: actorId }
  return { id, at: at.getTime(), actor, route, outcome, bookingId, requestId, count }
}
