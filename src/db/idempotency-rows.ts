import type { IdempotencyScope, KeptAnswer } from '../edge/idempotency.ts'
import { withDeadline } from '../lib/deadline.ts'
import { QUERY_DEADLINE_MS } from './booking-rows.ts'
import type { Sql } from './connect.ts'

/** Answers kept for repeated requests. They are written by the booking's own batch (J2), in `append_batch`. */
export class PostgresIdempotencyRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * The answer kept in the scope after `newerThan`; null when there is none.
   * @throws DeadlineError, or what the database answers
   */
  async find(scope: IdempotencyScope, newerThan: number): Promise<KeptAnswer | null> {
    const { agencyId, keyId, route, idempotencyKey } = scope
    const [row] = await withDeadline(
      this.#sql<KeptAnswer[]>`
        select request_hash as "requestHash", status, body from idempotency
        where agency_id = ${agencyId} and key_id = ${keyId} and route = ${route}
          and idempotency_key = ${idempotencyKey} and created_at > ${new Date(newerThan)}`,
      QUERY_DEADLINE_MS,
    )
    return row === undefined ? null : { requestHash: row.requestHash, status: row.status, body: row.body }
  }

  /**
   * Deletes answers kept at `notAfter` or before, the oldest first, at most `limit`.
   * @returns how many were deleted
   */
  async deleteExpired({ notAfter, limit }: { notAfter: number; limit: number }): Promise<number> {
    // A row that a batch has just replaced has moved: its old place is no longer deleted, and its new time is not due.
    const deleted = await withDeadline(
      this.#sql`
        delete from idempotency
        where created_at <= ${new Date(notAfter)} and ctid = any (array(
          select ctid from idempotency where created_at <= ${new Date(notAfter)} order by created_at limit ${limit}))`,
      QUERY_DEADLINE_MS,
    )
    return deleted.count
  }
}
