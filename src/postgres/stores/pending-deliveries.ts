/**
 * - W6 A deleted endpoint has no pending deliveries, unless its deletion was interrupted; `verify` reports what is left.
 * - J8 After a statement that took too long, the next ones settle fewer deliveries.
 */

import { WriteError } from '../../core/bookings/write-error.ts'
import type { BatchLimit } from '../../core/journal/batch.ts'
import { shardOf } from '../../core/journal/shard.ts'
import type { PendingChoice } from '../../events/webhooks/endpoint-rows.ts'
import { BACKLOG_COUNTED_MAX, type DeliveryBacklog } from '../../events/webhooks/sender-store.ts'
import { isTooSlow } from '../../lib/deadline.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { fencedWrite } from './audited-write.ts'

/**
 * One index probe per active endpoint, one for each that has pending deliveries, and an index entry for each delivery or event that
 * is counted: with 10,000 active endpoints that are up to date, some 60 ms.
 * @param sql of purpose `probes`: it is queried every few seconds, and a late answer is of no use
 * @throws DeadlineError or a database error
 */
export async function deliveryBacklog(sql: Sql): Promise<DeliveryBacklog> {
  const query = sql<{ pending: number; oldest: Date | null }[]>`
    select waiting::float8 as "pending", oldest_due as "oldest" from webhook_backlog(${BACKLOG_COUNTED_MAX})`
  const [row] = await query
  if (row === undefined) throw new Error('Cannot count deliveries: no answer')
  return { pending: row.pending, oldestDueAt: row.oldest?.getTime() ?? null }
}

/** Pending deliveries that one statement ends or makes due, at most; a large backlog must not exceed the statement timeout. */
export const PENDING_CHUNK = 5_000
/** Those that are left to the last statement, which also changes the endpoint, and may keep batches waiting meanwhile. */
const LEFT_MAX = 100

interface Settling {
  readonly agencyId: string
  readonly endpointId: string
  readonly choice: PendingChoice
  /** Wall clock; the same in every statement of one request, so that no statement repeats the work of an earlier one. */
  readonly at: number
}

/**
 * Runs a statement that settles at most as many deliveries as it is told, again with fewer as long as that was too many for its timeout.
 * @param isRepeatable whether it may be run again when its outcome is unknown
 * @throws WriteError, JournalError
 */
export async function whileTooSlow<T>(
  limit: BatchLimit,
  settle: (max: number) => Promise<T>,
  { isRepeatable }: { isRepeatable: boolean },
): Promise<T> {
  for (;;) {
    const { max } = limit
    const since = performance.now()
    try {
      const settled = await settle(max)
      limit.noteDurable(max, performance.now() - since)
      return settled
    } catch (error) {
      if (!(error instanceof WriteError) || !isTooSlow(error.cause)) throw error
      limit.noteTooSlow(max)
      if (max === 1 || (error.outcome === 'unknown' && !isRepeatable)) throw error
    }
  }
}

/**
 * Ends the pending deliveries of an endpoint or makes them due now. It uses the index on pending deliveries and no join: before the
 * tables are analysed, the planner would compare every delivery with every other.
 * @param which an additional condition
 */
export function settlement(sql: Sql, { agencyId, endpointId, choice, at }: Settling, which: Fragment): Fragment {
  const change =
    choice === 'drop'
      ? sql`status = 'dropped', next_attempt_at = null, finished_at = ${new Date(at)}, claimed_by = null`
      : sql`tries = 0, next_attempt_at = ${new Date(at)}`
  return sql`
    update webhook_delivery set ${change}
    where agency_id = ${uuidOf(agencyId)} and endpoint_id = ${uuidIn('whe', endpointId)} and status = 'pending'
      and ${isLeft(sql, { choice, at })} and ${which}`
}

/** Of a pending delivery: no earlier statement of the request has settled it. */
function isLeft(sql: Sql, { choice, at }: Pick<Settling, 'choice' | 'at'>): Fragment {
  return choice === 'drop' ? sql`true` : sql`(tries <> 0 or next_attempt_at <> ${new Date(at)})`
}

/**
 * Settles the pending deliveries of an endpoint with this status, in chunks under the fence, until only a few are left.
 * @returns whether anything was settled
 * @throws WriteError, JournalError; what was settled before stays settled
 */
export async function settleBacklog(
  sql: Sql,
  epoch: number,
  settling: Settling & { readonly status: 'disabled' | 'deleted' },
  limit: BatchLimit,
): Promise<boolean> {
  const { agencyId, endpointId, status } = settling
  const [agency, endpoint] = [uuidOf(agencyId), uuidIn('whe', endpointId)]
  const statement = (max: number) =>
    fencedWrite(sql`
      with fence as (select check_fence(${shardOf(agencyId)}, ${epoch}) as held)
      ${settlement(
        sql,
        settling,
        sql`(select held from fence)
            and (select e.status from webhook_endpoint e
                 where e.agency_id = ${agency} and e.endpoint_id = ${endpoint}) = ${status}
            and (next_attempt_at, delivery_id) <= (
              select next_attempt_at, delivery_id from (
                select next_attempt_at, delivery_id from webhook_delivery
                where agency_id = ${agency} and endpoint_id = ${endpoint} and status = 'pending' and ${isLeft(sql, settling)}
                order by next_attempt_at, delivery_id limit ${max + LEFT_MAX}) chunk
              order by next_attempt_at desc, delivery_id desc offset ${LEFT_MAX} limit 1)`,
      )}`)
  // What a statement without an answer has settled, the next one passes over.
  const chunk = () => whileTooSlow(limit, statement, { isRepeatable: true })
  if ((await chunk()).count === 0) return false
  while ((await started(chunk())).count > 0);
  return true
}

/**
 * Drops the pending deliveries of a deleted endpoint.
 * @throws WriteError, JournalError; what was dropped before stays dropped
 */
export async function dropOfDeleted(
  sql: Sql,
  epoch: number,
  params: Omit<Settling, 'choice'>,
  limit: BatchLimit,
): Promise<void> {
  const settling = { ...params, choice: 'drop', status: 'deleted' } as const
  const isStarted = await settleBacklog(sql, epoch, settling, limit)
  const rest = fencedWrite(sql`
    with fence as (select check_fence(${shardOf(params.agencyId)}, ${epoch}) as held)
    ${settlement(
      sql,
      settling,
      sql`(select held from fence)
          and (select e.status from webhook_endpoint e
               where e.agency_id = ${uuidOf(params.agencyId)}
                 and e.endpoint_id = ${uuidIn('whe', params.endpointId)}) = 'deleted'`,
    )}`)
  await (isStarted ? started(rest) : rest)
}

/** A part of the change is already durable: whatever happens to the rest, something was changed. */
export async function started<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest
  } catch (error) {
    throw new WriteError('started', 'Cannot finish a change that has started', { cause: error })
  }
}
