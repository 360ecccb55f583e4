import type { BatchToAppend } from '../../core/journal/journal-store.ts'
import type { Sql } from '../client/connect.ts'
import { batchText } from './batch-text.ts'

/** One group commit, all or nothing (J2). Errors: as `classifyDatabaseError` classifies them. */
export function appendBatch(sql: Sql, batch: BatchToAppend) {
  const text = batchText(batch)
  return sql`
    select append_batch(
      ${text.shards}::text::smallint[], ${text.epochs}::text::bigint[],
      ${text.entries}::text::journal_row[], ${text.payloads}::text, ${text.links}::text::bytea,
      ${text.created}::text::booking_row[], ${text.changed}::text::booking_row[], ${text.guests}::text::guest_row[],
      ${text.auditLines}::text::audit_row[],
      ${text.idempotencies}::text::idempotency_row[], ${text.answers}::text,
      ${text.others}::text::jsonb)`
}
