import type { RefusalLine } from '../../access/refusal-counter.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Sql } from '../client/connect.ts'
import { classifyDatabaseError } from '../client/database-error.ts'
import { QUERY_DEADLINE_MS } from './postgres-booking-rows.ts'

/**
 * Lines of the audit trail that stand for many attempts. They are written beside the journal and without the fence (J5): they
 * record what this process has answered, which is true whichever process may write now.
 */
export class PostgresRefusalRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * Writes lines; of lines with the same id, the highest count is kept. If the database rejects the data of one line, the others
   * are still written.
   * @throws DeadlineError, or the database's error; some lines may then be written
   */
  async keep(lines: readonly RefusalLine[]): Promise<void> {
    try {
      await this.#insert(lines)
    } catch (error) {
      if (lines.length < 2 || classifyDatabaseError(error) !== 'poison') throw error
      const settled = await Promise.allSettled(lines.map((line) => this.#insert([line])))
      const refused = settled.find(({ status }) => status === 'rejected')
      if (refused?.status === 'rejected') throw refused.reason
    }
  }

  async #insert(lines: readonly RefusalLine[]): Promise<void> {
    const rows = JSON.stringify(
      lines.map(({ at, actor, ...line }) => ({ ...line, at: new Date(at).toISOString(), actor })),
    )
    await withDeadline(
      this.#sql`
        insert into audit (agency_id, audit_id, at, actor_kind, actor_id, route, outcome, booking_id, request_id, count)
        select l."agencyId", l."auditId", l.at, l.actor ->> 'kind', l.actor ->> 'id', l.route, l.outcome, l."bookingId",
               l."requestId", l.count
        from jsonb_to_recordset(${rows}::text::jsonb) as l (
          "agencyId" text, "auditId" text, at timestamptz, actor jsonb, route text, outcome text, "bookingId" text,
          "requestId" text, count bigint)
        on conflict (agency_id, audit_id) do update set count = greatest(audit.count, excluded.count)`,
      QUERY_DEADLINE_MS,
    )
  }
}
