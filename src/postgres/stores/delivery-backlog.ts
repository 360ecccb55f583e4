import { BACKLOG_COUNTED_MAX, type DeliveryBacklog } from '../../webhooks/delivery-backlog.ts'
import type { Sql } from '../client/connect.ts'

/**
 * Two index scans: one entry per pending delivery up to the limit, one probe per endpoint that has any.
 * @param sql of purpose `probes`: it is queried every few seconds, and a late answer is of no use
 * @throws DeadlineError or a database error
 */
export async function deliveryBacklog(sql: Sql): Promise<DeliveryBacklog> {
  const query = sql<{ pending: number; oldest: Date | null }[]>`
    select (select count(*) from
             (select from webhook_delivery where status = 'pending' limit ${BACKLOG_COUNTED_MAX}) waiting)::float8
             as pending,
           next_delivery_due('-infinity') as oldest`
  const [row] = await query
  if (row === undefined) throw new Error('Cannot count deliveries: no answer')
  return { pending: row.pending, oldestDueAt: row.oldest?.getTime() ?? null }
}
