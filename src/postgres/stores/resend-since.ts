/** The statement that sends deliveries of one endpoint again, a bounded part at a time. */
import type { ResendSince, ResentPart } from '../../events/webhooks/endpoint-rows.ts'
import {
  RESEND_LOOKED_AT_MAX,
  RESEND_PART_MAX,
  RESENT_DUE_MAX,
  WAITING_COUNTED_MAX,
} from '../../events/webhooks/webhook-endpoint.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/** What the statement returns: no row when the endpoint is not active, or too much of the agency is due already. */
export interface PartRow {
  readonly resent: number
  readonly remaining: number
  readonly until: number
  /** A UUID. */
  readonly lastId: string | null
}

/**
 * Deliveries are looked at in the order in which they were made. What is pending keeps its schedule. The endpoint is locked: one that is
 * being deleted or switched off gets no new pending delivery, and of two requests at once the second sees what the first has sent again.
 */
export function resendStatement(sql: Sql, part: ResendSince): { readonly before: Fragment; readonly change: Fragment } {
  const { agencyId, endpointId, failedOnly, after } = part
  const [agency, endpoint] = [uuidOf(agencyId), uuidIn('whe', endpointId)]
  const at = new Date(part.at)
  const ofEndpoint = sql`d.agency_id = ${agency} and d.endpoint_id = ${endpoint}`
  const inRange = sql`d.created_at <= ${new Date(part.until)}`
  const from =
    after === null
      ? sql`d.created_at >= ${new Date(part.since)}`
      : behind(
          sql,
          sql`(select a.created_at from webhook_delivery a where a.agency_id = ${agency} and a.delivery_id = ${uuidIn('dlv', after)})`,
          sql`${uuidIn('dlv', after)}::uuid`,
        )
  const states = failedOnly ? sql`('dead')` : sql`('dead', 'delivered', 'dropped')`
  const before = sql`
    endpoint as (
      select e.endpoint_id from webhook_endpoint e
      where (select held from fence) and e.agency_id = ${agency} and e.endpoint_id = ${endpoint} and e.status = 'active'
      for update
    ), room as (
      -- A retry that is not due yet takes no place: it waits for hours.
      select ${RESENT_DUE_MAX}::int - count(*)::int as places from (
        select from webhook_endpoint e
        join webhook_delivery d on d.agency_id = e.agency_id and d.endpoint_id = e.endpoint_id
        where e.agency_id = ${agency} and e.status = 'active' and d.status = 'pending'
          and d.next_attempt_at <= ${at}::timestamptz + interval '1 second'
        limit ${RESENT_DUE_MAX}) due
    ), looked_at as materialized (
      select d.delivery_id, d.month, d.created_at, d.kind, d.status from webhook_delivery d
      where ${ofEndpoint} and ${inRange} and ${from}
      order by d.created_at, d.delivery_id desc
      limit ${RESEND_LOOKED_AT_MAX}
    ), chosen as materialized (
      select l.*, row_number() over (order by l.created_at, l.delivery_id desc) as place from looked_at l
      where l.kind <> 'ping' and l.status in ${states}
      order by l.created_at, l.delivery_id desc
      limit (select least(${RESEND_PART_MAX}::int, places) from room)
    ), resent as (
      -- A microsecond apart, so that they go out in their order.
      update webhook_delivery d set
        status = 'pending', tries = 0, finished_at = null, claimed_by = null,
        next_attempt_at = ${at}::timestamptz + c.place * interval '1 microsecond'
      from endpoint, chosen c
      where ${ofEndpoint} and d.delivery_id = c.delivery_id and d.month = c.month and d.status <> 'pending'
      returning true
    ), last as (
      -- Of a full part, the last that was chosen: behind it there may be more.
      select l.created_at, l.delivery_id from looked_at l
      where (select count(*) from chosen) < (select least(${RESEND_PART_MAX}::int, places) from room)
        or exists (select from chosen c where c.delivery_id = l.delivery_id)
      order by l.created_at desc, l.delivery_id limit 1
    ),`
  const change = sql`
    select (select count(*)::int from resent) as "resent", ${part.until}::float8 as "until",
           coalesce((select delivery_id from last), ${after === null ? null : uuidIn('dlv', after)}::uuid) as "lastId",
           (select count(*)::int from (
              select from last l, webhook_delivery d
              where ${ofEndpoint} and ${inRange} and ${behind(sql, sql`l.created_at`, sql`l.delivery_id`)}
              limit ${WAITING_COUNTED_MAX}) rest) as "remaining"
    from endpoint, room where room.places > 0`
  return { before, change }
}

/** Deliveries that come after one, in the order of the index. */
function behind(sql: Sql, createdAt: Fragment, deliveryId: Fragment): Fragment {
  return sql`d.created_at >= ${createdAt} and (d.created_at > ${createdAt} or d.delivery_id < ${deliveryId})`
}

export function keptPart(sql: Sql): Fragment {
  return sql`to_jsonb(changed)::text`
}

export function partIn(kept: string): ResentPart {
  return partOf(JSON.parse(kept) as PartRow)
}

export function partOf({ resent, remaining, until, lastId }: PartRow): ResentPart {
  return { resent, remaining, until, after: lastId === null ? null : idOf('dlv', lastId) }
}
