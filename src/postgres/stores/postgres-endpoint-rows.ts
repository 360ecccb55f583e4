import { WEBHOOK_EVENTS, type WebhookEventKind } from '../../core/domain/booking.ts'
import { BatchLimit } from '../../core/journal/batch.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import { shardOf } from '../../core/journal/shard.ts'
import type {
  EndpointRows,
  FiredEvent,
  PingRecord,
  ResendSince,
  ResentPart,
  StoredEndpoint,
} from '../../events/webhooks/endpoint-rows.ts'
import { causeName, coarseReason, isAccepted } from '../../events/webhooks/guarded-post.ts'
import type { WebhookDelivery } from '../../events/webhooks/sender-store.ts'
import { WAITING_COUNTED_MAX } from '../../events/webhooks/webhook-endpoint.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { auditedWrite } from './audited-write.ts'
import { deliveryColumns, deliveryOf, type StoredDelivery } from './delivery-columns.ts'
import {
  type EndpointRow,
  endpointOf,
  keptDeliveryIn,
  keptEndpointIn,
  keptEndpointRow,
  keptEndpointText,
  keptResend,
  type ResendRow,
  resentDelivery,
} from './kept-webhook-answers.ts'
import type { ListReads } from './list-reads.ts'
import { dropOfDeleted, PENDING_CHUNK, settleBacklog, settlement, started, whileTooSlow } from './pending-deliveries.ts'
import { ofBooking } from './postgres-agency-bookings.ts'
import { bodyOf, type EventRow } from './postgres-sender-store.ts'
import { keptPart, type PartRow, partIn, partOf, resendStatement } from './resend-since.ts'
import { selected, wordsText } from './table.ts'
import { ENDPOINT } from './tables.ts'

type EndpointWrite = Omit<Parameters<typeof auditedWrite>[1], 'epoch'>

/** The agency's endpoints and their deliveries. The sender's statements are in postgres-sender-store.ts. */
export class PostgresEndpointRows implements EndpointRows {
  readonly #sql: Sql
  readonly #lists: ListReads
  readonly #epochOf: (agencyId: string) => number
  readonly #limit = new BatchLimit(PENDING_CHUNK, { divisor: 8 })

  /** @param epochOf returns the current epoch of this writer for the agency, which may rise (Journal.epochOf) */
  constructor(sql: Sql, lists: ListReads, epochOf: (agencyId: string) => number) {
    this.#sql = sql
    this.#lists = lists
    this.#epochOf = epochOf
  }

  /** Agencies that have an endpoint for any of these events, deleted endpoints excluded. */
  async agencies(events: readonly WebhookEventKind[] = WEBHOOK_EVENTS): Promise<readonly string[]> {
    const rows = await this.#sql<{ agencyId: string }[]>`
      select distinct agency_id as "agencyId" from webhook_endpoint where status <> 'deleted' and events && ${wordsText(events)}::text::text[]`
    return rows.map(({ agencyId }) => idOf('agc', agencyId))
  }

  async list(agencyId: string): Promise<readonly StoredEndpoint[]> {
    const sql = this.#sql
    return await this.#endpoints(sql`
      select ${endpointColumns(sql)} from webhook_endpoint e
      where e.agency_id = ${uuidOf(agencyId)} and e.status <> 'deleted'
      order by e.created_at desc, e.endpoint_id`)
  }

  async find(agencyId: string, endpointId: string): Promise<StoredEndpoint | null> {
    const sql = this.#sql
    return await this.#endpoint(sql`
      select ${endpointColumns(sql)} from webhook_endpoint e
      where e.agency_id = ${uuidOf(agencyId)} and e.endpoint_id = ${uuidIn('whe', endpointId)} and e.status <> 'deleted'`)
  }

  /** The events that a booking has fired on the unit that it is in, the newest first, as they are delivered. */
  async eventsOf(agencyId: string, bookingId: string, limit: number) {
    const rows = await this.#sql<(EventRow & Pick<FiredEvent, 'event'>)[]>`
      select j.seq::float8 as "seq", j.at, j.entry_id as "eventId", j.unit_id as "unitId", j.other_unit_id as "otherUnitId",
             j.booking_id as "bookingId", j.kind, j.payload, j.checksum::text as "checksum", b.source_ref as "sourceRef",
             event_of(j.kind) as "event", a.clock_now is not null as "isSandbox"
      from booking b
      join agency a on a.agency_id = b.agency_id
      join journal j on j.unit_id = b.unit_id and j.booking_id = b.booking_id and j.is_announced
      where b.agency_id = ${uuidOf(agencyId)} and b.booking_id = ${uuidIn('bkg', bookingId)}
      order by j.seq desc limit ${limit}`
    return rows.map((row) => ({ id: idOf('evt', row.eventId), event: row.event, body: bodyOf(row) ?? '' }))
  }

  async insert(endpoint: StoredEndpoint, max: number, audit: ChangeLine): Promise<boolean> {
    const sql = this.#sql
    const { agencyId } = endpoint
    const change = sql`
      select true from register_endpoint(
        ${this.#epochOf(agencyId)}, ${uuidOf(agencyId)}, ${uuidOf(endpoint.id)}, ${endpoint.url}, ${endpoint.description},
        ${wordsText(endpoint.events)}::text::text[], ${endpoint.secretSealed}, ${new Date(endpoint.createdAt)}, ${max}) as is_registered
      where is_registered`
    return (await this.#write({ agencyId, audit, change, alone: true })) !== null
  }

  async change(change: Parameters<EndpointRows['change']>[0], audit: ChangeLine): Promise<StoredEndpoint | null> {
    const sql = this.#sql
    const { agencyId, endpointId, url, description, events, pending } = change
    const at = new Date(change.at)
    const [agency, endpoint] = [uuidOf(agencyId), uuidIn('whe', endpointId)]
    const isDropping = pending === 'drop'
    // Settle pending deliveries before the endpoint is enabled: a dropped delivery must not be sent in the meantime.
    const settling = pending === undefined ? null : { agencyId, endpointId, choice: pending, at: change.at }
    const isStarted =
      settling !== null &&
      (await settleBacklog(sql, this.#epochOf(agencyId), { ...settling, status: 'disabled' }, this.#limit))
    const before =
      settling === null
        ? sql``
        : sql`
          off as (
            select e.endpoint_id from webhook_endpoint e
            where (select held from fence) and e.agency_id = ${agency} and e.endpoint_id = ${endpoint}
              and e.status = 'disabled' for update
          ), log_end as (
            select seq, month from end_of_log(${agency}, ${this.#epochOf(agencyId)})
          ), settled as (${settlement(sql, settling, sql`exists (select from off)`)} returning true),`
    const isEnabled = pending === undefined ? sql`false` : sql`(e.status = 'disabled')`
    // Up to its cursor, it was sent what it got then.
    const fromSeq = events === undefined ? sql`e.from_seq` : sql`e.made_seq`
    const cursor = isDropping
      ? sql`
        made_seq = case when ${isEnabled} then (select seq from log_end) else e.made_seq end,
        from_seq = case when ${isEnabled} then (select seq from log_end) else ${fromSeq} end,
        made_month = case when ${isEnabled} then (select month from log_end) else e.made_month end,`
      : sql`from_seq = ${fromSeq},`
    const isNewUrl = url === undefined ? sql`false` : sql`true`
    const isDescribed = description === undefined ? sql`false` : sql`true`
    const isOfOthers = events === undefined ? sql`false` : sql`true`
    const update = sql`
      update webhook_endpoint e set ${cursor}
        url = coalesce(${url ?? null}::text, e.url),
        events = coalesce(${events === undefined ? null : wordsText(events)}::text::text[], e.events),
        description = case when ${isDescribed} then ${description ?? null}::text else e.description end,
        status = case when ${isEnabled} then 'active' else e.status end,
        disabled_reason = case when ${isEnabled} then null else e.disabled_reason end,
        consecutive_failures = case when ${isEnabled} or (${isNewUrl} and e.status = 'active') then 0
                                    else e.consecutive_failures end,
        revision = e.revision + case when ${isEnabled} or ${isNewUrl} then 1 else 0 end,
        updated_at = case when ${isEnabled} or ${isNewUrl} or ${isDescribed} or ${isOfOthers} then ${at}::timestamptz else e.updated_at end
      where ${settling === null ? sql`` : sql`(select count(*) from settled) >= 0 and`}
        e.agency_id = ${agency} and e.endpoint_id = ${endpoint} and e.status <> 'deleted'
      returning ${endpointColumns(sql, isDropping ? sql`exists (select from off)` : undefined)}`
    const answerBody = keptEndpointRow(sql, change.at)
    const write = this.#endpointWrite({ agencyId, audit, change: update, before, alone: isDropping, answerBody })
    return isStarted ? started(write) : write
  }

  async delete({ agencyId, endpointId, at }: Parameters<EndpointRows['delete']>[0], audit: ChangeLine) {
    const sql = this.#sql
    const found = await this.find(agencyId, endpointId)
    const changeOf = (max: number) => sql`
      select dropped, dropped = ${max}::integer as "hasMore"
      from delete_webhook_endpoint(${this.#epochOf(agencyId)}, ${uuidOf(agencyId)}, ${uuidIn('whe', endpointId)}, ${new Date(at)},
                                   ${max}) as dropped
      where dropped is not null`
    const deletionOf = (endpoint: StoredEndpoint) => (max: number) =>
      this.#write<{ hasMore: boolean }>({
        agencyId,
        audit,
        change: changeOf(max),
        answerBody: sql`${keptEndpointText(endpoint, at)}`,
      })
    // A deletion whose outcome is unknown may have been made: made again, it would find no endpoint.
    const deleted = found && (await whileTooSlow(this.#limit, deletionOf(found), { isRepeatable: false }))
    const drop = () => dropOfDeleted(sql, this.#epochOf(agencyId), { agencyId, endpointId, at }, this.#limit)
    if (deleted === null) {
      // Deleted by a request that was interrupted.
      await drop()
      return null
    }
    if (deleted.hasMore) await started(drop())
    return found
  }

  async replaceSecret(params: Parameters<EndpointRows['replaceSecret']>[0], audit: ChangeLine) {
    const { agencyId, endpointId, secretSealed, previousSecretUntil: until, at } = params
    const sql = this.#sql
    const change = sql`
      update webhook_endpoint e set
        previous_secret_sealed = ${until === null ? sql`null` : sql`e.secret_sealed`},
        previous_secret_until = ${until === null ? null : new Date(until)}::timestamptz,
        secret_sealed = ${secretSealed}, updated_at = ${new Date(at)}
      where e.agency_id = ${uuidOf(agencyId)} and e.endpoint_id = ${uuidIn('whe', endpointId)} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`
    return this.#endpointWrite({ agencyId, audit, change, answerBody: keptEndpointRow(sql, at) })
  }

  async deliveries(agencyId: string, endpointId: string, page: { offset: number; limit: number }) {
    const { sql } = this.#lists
    const [agency, endpoint] = [uuidOf(agencyId), uuidIn('whe', endpointId)]
    const rows = await this.#lists.read(
      agencyId,
      sql<(StoredDelivery & { total: number })[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from webhook_delivery d
              where d.agency_id = ${agency} and d.endpoint_id = ${endpoint}) counted
        left join lateral (
          select ${deliveryColumns(sql)}
          from webhook_delivery d
          join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
          where d.agency_id = ${agency} and d.endpoint_id = ${endpoint}
          order by d.created_at desc, d.delivery_id
          offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."createdAt" desc, page."id"`,
    )
    return pageOfDeliveries(rows)
  }

  async deliveriesOfBooking(agencyId: string, bookingId: string, page: { offset: number; limit: number }) {
    const { sql } = this.#lists
    const agency = uuidOf(agencyId)
    const rows = await this.#lists.read(
      agencyId,
      sql<(StoredDelivery & { total: number })[]>`
        with entry as materialized (
          select entry_id from journal where agency_id = ${agency} and is_announced ${ofBooking(sql, agencyId, bookingId)}
        ), hit as materialized (
          -- The key of a delivery is made from the entry and the endpoint (make_deliveries).
          select ${deliveryColumns(sql)}
          from entry
          cross join webhook_endpoint e
          join webhook_delivery d
            on d.agency_id = e.agency_id and d.delivery_id = md5(entry.entry_id::text || e.endpoint_id::text)::uuid
          where e.agency_id = ${agency}
        )
        select counted.total, page.*
        from (select count(*)::float8 as total from hit) counted
        left join lateral (
          select * from hit order by "createdAt" desc, "id" offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."createdAt" desc, page."id"`,
    )
    return pageOfDeliveries(rows)
  }

  async findDelivery(agencyId: string, deliveryId: string) {
    const sql = this.#sql
    const [row] = await sql<StoredDelivery[]>`
      select ${deliveryColumns(sql)}
      from webhook_delivery d
      join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
      where d.agency_id = ${uuidOf(agencyId)} and d.delivery_id = ${uuidIn('dlv', deliveryId)}`
    return row === undefined ? null : deliveryOf(row)
  }

  async resend(delivery: WebhookDelivery, agencyId: string, at: number, audit: ChangeLine) {
    const sql = this.#sql
    const agency = uuidOf(agencyId)
    // What the present sender has claimed is on its way: claimed again, it would be sent twice.
    const sender = sql`coalesce((select n.tenure from sending n where n.shard = ${shardOf(agencyId)}),
                                (select s.tenure from webhook_sender s))`
    // Lock the endpoint, so that an endpoint that is being deleted gets no new pending delivery.
    const before = sql`
      endpoint as (
        select e.status from webhook_endpoint e
        where (select held from fence) and e.agency_id = ${agency} and e.endpoint_id = ${uuidOf(delivery.endpointId)}
          and e.status <> 'deleted' for share
      ), resent as (
        update webhook_delivery d set
          status = 'pending', tries = 0, next_attempt_at = ${new Date(at)}, finished_at = null, claimed_by = null
        from endpoint
        where d.agency_id = ${agency} and d.delivery_id = ${uuidOf(delivery.id)}
          and (d.status <> 'pending' or d.claimed_by is distinct from ${sender})
        returning true
      ),`
    const change = sql`select endpoint.status, exists (select from resent) as "isResent" from endpoint`
    const row = await this.#write<ResendRow>({
      agencyId,
      audit,
      before,
      change,
      answerBody: keptResend(sql, delivery, at),
    })
    return row === null ? null : resentDelivery(delivery, row, at)
  }

  async resendSince(part: ResendSince, audit: ChangeLine) {
    const { agencyId } = part
    const statement = resendStatement(this.#sql, part)
    const row = await this.#write<PartRow>({ agencyId, audit, ...statement, answerBody: keptPart(this.#sql) })
    return row === null ? null : partOf(row)
  }

  keptEndpoint(kept: string) {
    return keptEndpointIn(kept)
  }

  keptDelivery(kept: string): WebhookDelivery {
    return keptDeliveryIn(kept)
  }

  keptPart(kept: string): ResentPart {
    return partIn(kept)
  }

  async recordPing(ping: PingRecord, audit: ChangeLine): Promise<void> {
    const { agencyId, outcome } = ping
    const sql = this.#sql
    const [agency, delivery] = [uuidOf(agencyId), uuidOf(ping.deliveryId)]
    const at = new Date(ping.at)
    const finishedAt = new Date(ping.at + ping.durationMs)
    const before = sql`
      delivery as (
        insert into webhook_delivery (agency_id, delivery_id, month, endpoint_id, event_id, kind, status, attempts, tries,
                                      created_at, finished_at)
        values (${agency}, ${delivery}, storage_month(${at}), ${uuidOf(ping.endpointId)}, ${uuidOf(ping.eventId)}, 'ping',
                ${isAccepted(outcome) ? 'delivered' : 'dead'}, 1, 1, ${at}, ${finishedAt})
      ),`
    const change = sql`
      insert into webhook_attempt (agency_id, delivery_id, month, attempt, at, duration_ms, http_status, reason, detail)
      values (${agency}, ${delivery}, storage_month(${at}), 1, ${at}, ${ping.durationMs},
              ${outcome.kind === 'answered' ? outcome.httpStatus : null}, ${coarseReason(outcome)}, ${causeName(outcome)})
      returning true`
    await this.#write({ agencyId, audit, before, change })
  }

  #write<R extends object>(write: EndpointWrite): Promise<R | null> {
    return auditedWrite<R>(this.#sql, { ...write, epoch: this.#epochOf(write.agencyId) })
  }

  async #endpointWrite(write: EndpointWrite): Promise<StoredEndpoint | null> {
    const row = await this.#write<EndpointRow>(write)
    return row === null ? null : endpointOf(row)
  }

  async #endpoints(query: PromiseLike<unknown>): Promise<StoredEndpoint[]> {
    return ((await query) as EndpointRow[]).map(endpointOf)
  }

  async #endpoint(query: PromiseLike<unknown>): Promise<StoredEndpoint | null> {
    return (await this.#endpoints(query))[0] ?? null
  }
}

/** A page beyond the end has only the count. */
function pageOfDeliveries(rows: readonly (StoredDelivery & { total: number })[]) {
  return { total: rows[0]?.total ?? 0, rows: rows.filter((row) => row.id !== null).map(deliveryOf) }
}

/** @param isDropped whether the same statement drops the deliveries that wait: it still sees them as they were */
function endpointColumns(sql: Sql, isDropped: Fragment = sql`false`): Fragment {
  return sql`
    ${selected(sql, ENDPOINT, 'e')},
    (select count(*)::int
     from (select from journal j
           where j.agency_id = e.agency_id and j.seq > e.made_seq and j.month >= e.made_month and j.is_announced
             and event_of(j.kind) = any (e.events)
           limit ${WAITING_COUNTED_MAX}) waiting) as "waitingEvents",
    case when ${isDropped} then 0 else (
      select count(*)::int
      from (select from webhook_delivery d
            where d.agency_id = e.agency_id and d.endpoint_id = e.endpoint_id and d.status = 'pending'
            limit ${WAITING_COUNTED_MAX}) waiting) end as "waitingDeliveries"`
}
