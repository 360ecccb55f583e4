import type { Attempt, WebhookDelivery } from '../../events/webhooks/sender-store.ts'
import { idOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** A row of `webhook_delivery` with its attempts. */
export interface StoredDelivery {
  id: string
  endpointId: string
  eventId: string
  event: WebhookDelivery['event']
  bookingId: string | null
  status: WebhookDelivery['status']
  attempts: (Omit<Attempt, 'at'> & { atMs: number })[] | null
  nextAttemptAt: Date | null
  createdAt: Date
  finishedAt: Date | null
}

/**
 * The columns of `StoredDelivery`, of `webhook_delivery d` and its endpoint `e`. A pending delivery of a
 * disabled endpoint is `held`; of one that was deleted meanwhile, `dropped`.
 */
export function deliveryColumns(sql: Sql) {
  return sql`
    d.delivery_id as "id", d.endpoint_id as "endpointId", d.event_id as "eventId", d.kind as "event",
    (select j.booking_id from journal j
     where j.agency_id = d.agency_id and j.seq = d.seq and j.month = d.entry_month) as "bookingId",
    case when d.status <> 'pending' or e.status = 'active' then d.status
         when e.status = 'disabled' then 'held' else 'dropped' end as "status",
    (select jsonb_agg(jsonb_build_object(
       'attempt', a.attempt, 'atMs', round(extract(epoch from a.at) * 1000), 'durationMs', a.duration_ms,
       'httpStatus', a.http_status, 'reason', a.reason) order by a.attempt)
     from webhook_attempt a
     where a.agency_id = d.agency_id and a.delivery_id = d.delivery_id and a.month = d.month) as "attempts",
    d.next_attempt_at as "nextAttemptAt", d.created_at as "createdAt", d.finished_at as "finishedAt"`
}

export function deliveryOf(row: StoredDelivery): WebhookDelivery {
  return {
    id: idOf('dlv', row.id),
    endpointId: idOf('whe', row.endpointId),
    eventId: idOf('evt', row.eventId),
    event: row.event,
    bookingId: row.bookingId === null ? null : idOf('bkg', row.bookingId),
    status: row.status,
    attempts: (row.attempts ?? []).map(({ atMs, ...attempt }) => ({
      attempt: attempt.attempt,
      at: atMs,
      durationMs: attempt.durationMs,
      httpStatus: attempt.httpStatus,
      reason: attempt.reason,
    })),
    nextAttemptAt: row.status === 'pending' ? (row.nextAttemptAt?.getTime() ?? null) : null,
    createdAt: row.createdAt.getTime(),
    finishedAt: row.finishedAt?.getTime() ?? null,
  }
}
