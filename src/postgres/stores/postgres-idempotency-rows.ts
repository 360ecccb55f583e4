import { shardOf } from '../../core/journal/shard.ts'
import { ANSWER_KEPT_MS, type IdempotencyScope, type KeptAnswer } from '../../http/idempotent-writes.ts'
import { BatchedCalls } from '../../lib/batched-calls.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/** Scopes in one statement: a quarter of the requests that may be open. */
const LOOKED_UP_AT_ONCE = 1_000

/** A scope as the statement reads it. */
interface Asked {
  readonly agency_id: string
  readonly key_id: string
  readonly route: string
  readonly idempotency_key: string
  readonly newer_than: string
}

/**
 * Answers stored for repeated requests. They are written in the booking's own batch (J2), in `append_batch`. An answer expires
 * only when both the caller's clock and the database's clock say so: either of them may have jumped forward (I5). Those of a sandbox expire
 * by its clock alone.
 */
export class PostgresIdempotencyRows {
  readonly #sql: Sql
  readonly #seen: BatchedCalls<Asked, KeptAnswer | null>

  constructor(sql: Sql) {
    this.#sql = sql
    this.#seen = new BatchedCalls((asked) => this.#read(asked, sql`select true as held`), LOOKED_UP_AT_ONCE)
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
    // Here, and not in the batch: what cannot be asked for fails for its caller alone.
    const asked = askedOf(scope, newerThan)
    if ((await this.#seen.call(asked)) === null) return null
    const fence = this.#sql`select true as held from shard where shard = ${shardOf(scope.agencyId)} for share`
    const [answer = null] = await this.#read([asked], fence)
    return answer
  }

  /** Looks up, by a statement that is not shared with others, so that as many connections as there are calls are ready for the next one. */
  async warmUp(scope: IdempotencyScope): Promise<void> {
    await this.#read([askedOf(scope, 0)], this.#sql`select true as held`)
  }

  /** By place in `asked`. */
  async #read(asked: readonly Asked[], fence: Fragment): Promise<readonly (KeptAnswer | null)[]> {
    const scopes = asked.map((each, n) => ({ n, ...each }))
    const rows = await this.#sql<(KeptAnswer & { n: number })[]>`
      with fence as materialized (${fence})
      select a.n, i.request_hash as "requestHash", i.status, i.body
      from jsonb_to_recordset(${JSON.stringify(scopes)}::text::jsonb) as a (
        n integer, agency_id uuid, key_id uuid, route text, idempotency_key text, newer_than timestamptz)
      cross join lateral (
        select request_hash, status, body from idempotency i
        where i.agency_id = a.agency_id and i.key_id = a.key_id and i.route = a.route and i.idempotency_key = a.idempotency_key
          and i.created_at > least(
            a.newer_than,
            case when not exists (select from agency g where g.agency_id = a.agency_id and g.clock_now is not null)
              then now() - ${ANSWER_KEPT_MS}::float8 * interval '1 millisecond' end)
        limit 1) i
      where (select held from fence)`
    const found = new Map(rows.map(({ n, requestHash, status, body }) => [n, { requestHash, status, body }]))
    return asked.map((_, n) => found.get(n) ?? null)
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

/** @throws RangeError when `newerThan` is no time */
function askedOf({ agencyId, keyId, route, idempotencyKey }: IdempotencyScope, newerThan: number): Asked {
  return {
    agency_id: uuidOf(agencyId),
    key_id: uuidOf(keyId),
    route,
    idempotency_key: idempotencyKey,
    newer_than: new Date(newerThan).toISOString(),
  }
}
