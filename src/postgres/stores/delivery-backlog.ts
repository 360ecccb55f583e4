import { withDeadline } from '../../lib/deadline.ts'
import { BACKLOG_COUNTED_MAX, type DeliveryBacklog } from '../../webhooks/delivery-backlog.ts'
import type { Sql } from '../client/connect.ts'

/** Whoever asks does so every few seconds: an answer that comes late is of no use. */
const DEADLINE_MS = 1_000

/**
 * Two index scans: one entry per pending delivery up to the limit, one probe per endpoint that has any.
 * @throws DeadlineError or a database error
 */
export async function deliveryBacklog(sql: Sql): Promise<DeliveryBacklog> {
  const query = sql<{ pending: number; oldest: Date | null }[]>`
    select (select count(*) from
             (select from webhook_delivery where status = 'pending' limit ${BACKLOG_COUNTED_MAX}) waiting)::float8
             as pending,
           next_delivery_due('-infinity') as oldest`
  const [row] = await withDeadline(query, DEADLINE_MS)
  if (row === undefined) throw new Error('Cannot count deliveries: no answer')
  return { pending: row.pending, oldestDueAt: row.oldest?.getTime() ?? null }
}
