import { type Actor, actorOf } from '../../src/core/journal/record.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'

/** A line of the audit trail with its ids as they are published. */
interface TrailLine {
  readonly agency_id: string
  /** `aud_…` */
  readonly line_id: string
  readonly actor_kind: Actor['kind']
  readonly actor_id: string | null
  readonly route: string
  readonly outcome: string
  readonly booking_id: string | null
  readonly request_id: string | null
  readonly count: number
}

/** The audit trail as it is stored, of one agency or of all, oldest first: what entries of the journal tell, and what none tells. */
export async function auditTrail(sql: Sql, agencyId: string | null = null): Promise<TrailLine[]> {
  const ofAgency = agencyId === null ? sql`true` : sql`agency_id = ${uuidOf(agencyId)}`
  const rows = await sql<TrailLine[]>`
    select agency_id, line_id, actor_kind, actor_id, route, outcome, booking_id, request_id, count::float8 as count
    from (
      select at, agency_id, entry_id as line_id, actor_kind, actor_id, route, 'OK' as outcome,
             'bkg_' || replace(booking_id::text, '-', '') as booking_id, request_id, 1 as count
      from journal where ${ofAgency}
      union all
      select at, agency_id, line_id, actor_kind, actor_id, route, outcome, booking_id, request_id, count
      from audit_line where ${ofAgency}
    ) trail
    order by at, line_id`
  return rows.map((row) => ({
    ...row,
    agency_id: idOf('agc', row.agency_id),
    line_id: idOf('aud', row.line_id),
    actor_id: actorOf(row.actor_kind, row.actor_id).id,
  }))
}
