import { WriteError } from '../desk/write-error.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { PendingChoice } from '../webhooks/endpoint-rows.ts'
import { fencedWrite } from './audited-write.ts'
import { QUERY_DEADLINE_MS } from './booking-rows.ts'
import type { Fragment, Sql } from './connect.ts'

/** Pending deliveries that one statement ends or hurries; a flood of them must not meet the statement timeout. */
export const PENDING_CHUNK = 5_000

interface Settling {
  readonly agencyId: string
  readonly endpointId: string
  readonly choice: PendingChoice
  /** Wall clock; the same in every statement of one request, so that none does what an earlier one has done. */
  readonly at: number
}

/** Ends or hurries what is pending for an endpoint. `which`: conditions on the delivery `d`, from `and` on. */
export function settlement(sql: Sql, { agencyId, endpointId, choice, at }: Settling, which: Fragment): Fragment {
  const change =
    choice === 'drop'
      ? sql`status = 'dropped', next_attempt_at = null, finished_at = ${new Date(at)}, claimed_by = null`
      : sql`tries = 0, next_attempt_at = ${new Date(at)}`
  return sql`
    update webhook_delivery set ${change}
    where agency_id = ${agencyId} and status = 'pending' and delivery_id in (
      select d.delivery_id from webhook_delivery d
      where d.agency_id = ${agencyId} and d.endpoint_id = ${endpointId} and d.status = 'pending' ${which})`
}

/**
 * Settles what is pending for an endpoint that is off, in chunks under the fence, until one statement may do the rest.
 * @returns whether anything was settled
 * @throws WriteError, JournalError; what it had settled by then stays so
 */
export async function settleFlood(sql: Sql, epoch: number, settling: Settling): Promise<boolean> {
  const { agencyId, endpointId, choice, at } = settling
  const left = choice === 'drop' ? sql`` : sql`and (d.tries <> 0 or d.next_attempt_at <> ${new Date(at)})`
  const isFlooded = async (): Promise<boolean> => {
    const pending = await withDeadline(
      sql`select from webhook_delivery d
          where d.agency_id = ${agencyId} and d.endpoint_id = ${endpointId} and d.status = 'pending' ${left}
            and exists (select from webhook_endpoint e where e.agency_id = d.agency_id
                        and e.endpoint_id = d.endpoint_id and e.status = 'disabled')
          limit ${PENDING_CHUNK + 1}`,
      QUERY_DEADLINE_MS,
    )
    return pending.count > PENDING_CHUNK
  }
  if (!(await isFlooded())) return false
  const chunk = () =>
    fencedWrite(sql`
      with fence as (select check_fence(${epoch}) as held)
      ${settlement(sql, settling, sql`${left} and (select held from fence) limit ${PENDING_CHUNK}`)}`)
  await chunk()
  while (await begun(isFlooded())) await begun(chunk())
  return true
}

/**
 * Drops what is pending for an endpoint that is deleted, in chunks under the fence.
 * @throws WriteError, JournalError; what it had dropped by then stays so
 */
export async function dropOfDeleted(sql: Sql, epoch: number, settling: Omit<Settling, 'choice'>): Promise<void> {
  const isDeleted = sql`
    and exists (select from webhook_endpoint e where e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
                and e.status = 'deleted')`
  for (let isFirst = true; ; isFirst = false) {
    const chunk = fencedWrite(sql`
      with fence as (select check_fence(${epoch}) as held)
      ${settlement(sql, { ...settling, choice: 'drop' }, sql`${isDeleted} and (select held from fence) limit ${PENDING_CHUNK}`)}`)
    const { count } = await (isFirst ? chunk : begun(chunk))
    if (count < PENDING_CHUNK) return
  }
}

/** A part of the change is durable already: whatever becomes of the rest, something was changed. */
export async function begun<T>(rest: Promise<T>): Promise<T> {
  try {
    return await rest
  } catch (error) {
    throw new WriteError('begun', 'Cannot finish a change that has begun', { cause: error })
  }
}
