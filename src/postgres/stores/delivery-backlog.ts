import { BACKLOG_COUNTED_MAX, type DeliveryBacklog } from '../../webhooks/sender-store.ts'
import type { Sql } from '../client/connect.ts'

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
