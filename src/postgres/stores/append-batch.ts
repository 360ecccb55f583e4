import type { NumberedRecord } from '../../core/journal/journal-store.ts'
import type { Sql } from '../client/connect.ts'
import { batchText } from './batch-text.ts'

/** One group commit, all or nothing (J2). Errors: as `classifyDatabaseError` classifies them. */
export function appendBatch(sql: Sql, epoch: number, batchId: string, records: readonly NumberedRecord[]) {
  const text = batchText(records)
  return sql`
    select append_batch(
      ${epoch}::text::bigint, ${batchId}::text::uuid,
      ${text.entries}::text::journal_row[], ${text.payloads}::text,
      ${text.created}::text::booking_row[], ${text.changed}::text::booking_row[], ${text.guests}::text::guest_row[],
      ${text.events}::text::event_row[], ${text.bodies}::text,
      ${text.auditLines}::text::audit_row[],
      ${text.idempotencies}::text::idempotency_row[], ${text.answers}::text,
      ${text.others}::text::jsonb)`
}
