import { shardOf } from '../../core/journal/shard.ts'
import { ANSWER_KEPT_MS, type IdempotencyScope, type KeptAnswer } from '../../http/idempotent-writes.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/**
 * Answers stored for repeated requests. They are written in the booking's own batch (J2), in `append_batch`. An answer expires
 * only when both the caller's clock and the database's clock say so: either of them may have jumped forward (I5). Those of a sandbox expire
 * by its clock alone.
 */
export class PostgresIdempotencyRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * The answer kept in the scope after `newerThan`, or within the last 24 hours of the database; null when there is none. In a sandbox only
   * `newerThan` counts.
   *
   * A row that is seen may still wait to be replicated, if someone ended the session that wrote it. So an answer is read a second time
   * under the lock of its fence: that makes it a transaction of its own, whose commit waits for the standby after everything before
   * it. "None" needs no lock: whatever the caller is told then is in a commit as well, its booking or the audit line of its refusal.
   * @throws DeadlineError, or what the database answers
   */
  async find(scope: IdempotencyScope, newerThan: number): Promise<KeptAnswer | null> {
    const seen = await this.#read(scope, newerThan, this.#sql`select true as held`)
    if (seen === null) return null
    const fence = this.#sql`select true as held from shard where shard = ${shardOf(scope.agencyId)} for share`
    return this.#read(scope, newerThan, fence)
  }

  async #read(scope: IdempotencyScope, newerThan: number, fence: Fragment): Promise<KeptAnswer | null> {
    const { agencyId, keyId, route, idempotencyKey } = scope
    const [row] = await this.#sql<KeptAnswer[]>`
      with fence as materialized (${fence})
      select request_hash as "requestHash", status, body from idempotency
      where (select held from fence) and agency_id = ${uuidOf(agencyId)} and key_id = ${uuidOf(keyId)} and route = ${route}
        and idempotency_key = ${idempotencyKey}
        and created_at > least(
          ${new Date(newerThan)},
          case when not exists (select from agency a where a.agency_id = ${uuidOf(agencyId)} and a.clock_now is not null)
            then now() - ${ANSWER_KEPT_MS}::float8 * interval '1 millisecond' end)`
    return row === undefined ? null : { requestHash: row.requestHash, status: row.status, body: row.body }
  }

  /**
   * Deletes answers kept at `notAfter` or before and longer than 24 hours ago by the clock of the database, the oldest
   * first, at most `limit`. Those of a sandbox stay until they have expired by its clock too.
   * @returns how many were deleted
   */
  async deleteExpired({ notAfter, limit }: { notAfter: number; limit: number }): Promise<number> {
    // A row that a batch has just replaced has moved: its old place is no longer deleted, and its new time is not due.
    const deleted = await this.#sql`
      with due as materialized (
        select least(${new Date(notAfter)}, now() - ${ANSWER_KEPT_MS}::float8 * interval '1 millisecond') as at
      )
      delete from idempotency
      where created_at <= (select at from due) and ctid = any (array(
        select ctid from idempotency i where created_at <= (select at from due) and not exists (
          select from agency a
          where a.agency_id = i.agency_id
            and i.created_at > a.clock_now - ${ANSWER_KEPT_MS}::float8 * interval '1 millisecond')
        order by created_at limit ${limit}))`
    return deleted.count
  }
}
