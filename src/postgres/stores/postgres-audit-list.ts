import type { AuditEntry, AuditFilter, AuditList } from '../../admin/audit-list.ts'
import type { Listed } from '../../core/bookings/booking-list.ts'
import { decoderOf, type Stored } from '../../core/journal/fields.ts'
import type { ListReads } from './list-reads.ts'
import { selected } from './table.ts'
import { AUDIT } from './tables.ts'

type StoredAudit = Stored<typeof AUDIT.fields> & { readonly total: number }

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
          select ${selected(sql, AUDIT)} from audit where ${wanted}
          order by at desc, audit_id desc offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page.at desc, page."id" desc`,
    )
    const found = rows.filter((row) => row.id !== null)
    return { total: rows[0]?.total ?? 0, rows: found.map(entryOf) }
  }
}

const decodeLine = decoderOf(AUDIT.fields)

function entryOf(row: StoredAudit): AuditEntry {
  const { actorKind, actorId, ...line } = decodeLine(row)
  return { ...line, actor: { kind: actorKind, id: actorId } }
}
