import type { PendingQuery, Row } from 'postgres'
import { JournalError } from '../journal/journal-error.ts'
import type { AuditDraft } from '../journal/record.ts'
import { withDeadline } from '../lib/deadline.ts'
import { QUERY_DEADLINE_MS } from './booking-rows.ts'
import type { Sql } from './connect.ts'

const DIVISION_BY_ZERO = '22012'

/**
 * Runs a change of the agency's own data as one statement with its line of the audit trail, and under the fence (J5): a stale writer
 * must not change what the new one has in memory.
 * @param change ends with a `returning` clause
 * @returns the rows it returned; the line is written only where there are some
 * @throws JournalError of kind `fenced` when another process writes by now; whatever else is thrown leaves the outcome unknown
 */
export async function auditedWrite<R extends object>(
  sql: Sql,
  {
    agencyId,
    epoch,
    audit,
    change,
  }: { agencyId: string; epoch: number; audit: AuditDraft; change: PendingQuery<Row[]> },
): Promise<R[]> {
  try {
    return await withDeadline(
      sql<R[]>`
        with fence as (
          -- An error, because nothing less takes back what the other parts of the statement have done.
          select 1 / (case when epoch = ${epoch}::text::bigint then 1 else 0 end) as held from writer_fence for share
        ), changed as (${change}), audited as (
          insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
          select ${agencyId}, ${audit.auditId}, ${new Date(audit.at)}::timestamptz, ${audit.actor.kind},
                 ${audit.actor.id}::text, ${audit.route}, ${audit.outcome}, ${audit.bookingId}::text,
                 ${audit.requestId}::text, ${audit.count}::text::bigint
          from changed)
        select changed.* from fence left join changed on true where fence.held = 1`,
      QUERY_DEADLINE_MS,
    )
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === DIVISION_BY_ZERO)
      throw new JournalError('fenced', 'Cannot change the data of an agency: fenced by another writer', {
        cause: error,
      })
    throw error
  }
}
