import type { AuditDraft } from '../journal/record.ts'
import type { Sql } from './connect.ts'

/** `insert into audit … select …`, to be ended with ` from <the rows of the change>`: a line for each of them. */
export function auditInsert(sql: Sql, agencyId: string, audit: AuditDraft) {
  return sql`
    insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
    select ${agencyId}, ${audit.auditId}, ${new Date(audit.at)}::timestamptz, ${audit.actor.kind},
           ${audit.actor.id}::text, ${audit.route}, ${audit.outcome}, ${audit.bookingId}::text,
           ${audit.requestId}::text, ${audit.count}::text::bigint`
}
