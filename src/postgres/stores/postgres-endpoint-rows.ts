import { decoderOf, type Stored } from '../../core/journal/fields.ts'
import type { AuditDraft } from '../../core/journal/record.ts'
import { causeName, coarseReason, isAccepted } from '../../webhooks/attempt-outcome.ts'
import type { WebhookDelivery } from '../../webhooks/delivery.ts'
import type { EndpointRows, PingRecord, StoredEndpoint } from '../../webhooks/endpoint-rows.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { auditedWrite } from './audited-write.ts'
import { deliveryColumns, deliveryOf, type StoredDelivery } from './delivery-columns.ts'
import type { ListReads } from './list-reads.ts'
import { begun, dropOfDeleted, settleBacklog, settlement } from './pending-deliveries.ts'
import { selected } from './table.ts'
import { ENDPOINT } from './tables.ts'

type EndpointRow = Stored<typeof ENDPOINT.fields>

/** Deliveries that a deletion drops while it keeps all batches waiting; the rest is dropped while batches continue. */
const DROPPED_ALONE_MAX = 100

/** The agency's endpoints and their deliveries. The sender's statements are in sender-rows.ts. */
export class PostgresEndpointRows implements EndpointRows {
  readonly #sql: Sql
  readonly #lists: ListReads
  readonly #epoch: () => number

  /** @param epoch returns the current epoch of this writer, which may rise (Journal.epoch) */
  constructor(sql: Sql, lists: ListReads, epoch: () => number) {
    this.#sql = sql
    this.#lists = lists
    this.#epoch = epoch
  }

  /** Agencies that have an endpoint, of whatever status but deleted. */
  async agencies(): Promise<readonly string[]> {
    const rows = await this.#sql<{ agencyId: string }[]>`
      select distinct agency_id as "agencyId" from webhook_endpoint where status <> 'deleted'`
    return rows.map(({ agencyId }) => agencyId)
  }

  async list(agencyId: string): Promise<readonly StoredEndpoint[]> {
    const sql = this.#sql
    return await this.#endpoints(sql`
      select ${endpointColumns(sql)} from webhook_endpoint e
      where e.agency_id = ${agencyId} and e.status <> 'deleted'
      order by e.created_at desc, e.endpoint_id`)
  }

  async find(agencyId: string, endpointId: string): Promise<StoredEndpoint | null> {
    const sql = this.#sql
    return await this.#endpoint(sql`
      select ${endpointColumns(sql)} from webhook_endpoint e
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'`)
  }

  /** Two at once may both pass the count; the limit guards the outbox, not a right. */
  async insert(endpoint: StoredEndpoint, max: number, audit: AuditDraft): Promise<boolean> {
    const sql = this.#sql
    const { agencyId } = endpoint
    const change = sql`
      insert into webhook_endpoint (agency_id, endpoint_id, url, description, status, secret_sealed, created_at, updated_at)
      select ${agencyId}, ${endpoint.id}, ${endpoint.url}, ${endpoint.description}::text, ${endpoint.status},
             ${endpoint.secretSealed}, ${new Date(endpoint.createdAt)}::timestamptz, ${new Date(endpoint.updatedAt)}::timestamptz
      where (select count(*) from webhook_endpoint e where e.agency_id = ${agencyId} and e.status <> 'deleted') < ${max}::int
      returning true`
    return (await this.#write({ agencyId, audit, change })) !== null
  }

  async change(change: Parameters<EndpointRows['change']>[0], audit: AuditDraft): Promise<StoredEndpoint | null> {
    const sql = this.#sql
    const { agencyId, endpointId, url, description, pending } = change
    const at = new Date(change.at)
    // Settle pending deliveries before the endpoint is enabled: a dropped delivery must not be sent in the meantime.
    const settling = pending === undefined ? null : { agencyId, endpointId, choice: pending, at: change.at }
    const isBegun = settling !== null && (await settleBacklog(sql, this.#epoch(), { ...settling, status: 'disabled' }))
    const before =
      settling === null
        ? sql``
        : sql`
          off as (
            select e.endpoint_id from webhook_endpoint e
            where (select held from fence) and e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId}
              and e.status = 'disabled' for update
          ), settled as (${settlement(sql, settling, sql`exists (select from off)`)} returning true),`
    const isEnabled = pending === undefined ? sql`false` : sql`(e.status = 'disabled')`
    const isNewUrl = url === undefined ? sql`false` : sql`true`
    const isDescribed = description === undefined ? sql`false` : sql`true`
    const update = sql`
      update webhook_endpoint e set
        url = coalesce(${url ?? null}::text, e.url),
        description = case when ${isDescribed} then ${description ?? null}::text else e.description end,
        status = case when ${isEnabled} then 'active' else e.status end,
        disabled_reason = case when ${isEnabled} then null else e.disabled_reason end,
        consecutive_failures = case when ${isEnabled} or (${isNewUrl} and e.status = 'active') then 0
                                    else e.consecutive_failures end,
        revision = e.revision + case when ${isEnabled} or ${isNewUrl} then 1 else 0 end,
        updated_at = case when ${isEnabled} or ${isNewUrl} or ${isDescribed} then ${at}::timestamptz else e.updated_at end
      where ${settling === null ? sql`` : sql`(select count(*) from settled) >= 0 and`}
        e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`
    const write = this.#endpointWrite({ agencyId, audit, change: update, before })
    return isBegun ? begun(write) : write
  }

  async delete({ agencyId, endpointId, at }: Parameters<EndpointRows['delete']>[0], audit: AuditDraft) {
    const sql = this.#sql
    const found = await this.find(agencyId, endpointId)
    const change = sql`
      select dropped from delete_webhook_endpoint(${this.#epoch()}, ${agencyId}, ${endpointId}, ${new Date(at)},
                                                  ${DROPPED_ALONE_MAX}) as dropped
      where dropped is not null`
    const deleted =
      found === null ? null : await this.#write<{ dropped: number }>({ agencyId, audit, change, alone: true })
    const drop = () => dropOfDeleted(sql, this.#epoch(), { agencyId, endpointId, at })
    if (deleted === null) {
      // Deleted by a request that was interrupted.
      await drop()
      return null
    }
    if (deleted.dropped === DROPPED_ALONE_MAX) await begun(drop())
    return found
  }

  async replaceSecret(asked: Parameters<EndpointRows['replaceSecret']>[0], audit: AuditDraft) {
    const { agencyId, endpointId, secretSealed, previousSecretUntil: until, at } = asked
    const sql = this.#sql
    const change = sql`
      update webhook_endpoint e set
        previous_secret_sealed = ${until === null ? sql`null` : sql`e.secret_sealed`},
        previous_secret_until = ${until === null ? null : new Date(until)}::timestamptz,
        secret_sealed = ${secretSealed}, updated_at = ${new Date(at)}
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`
    return this.#endpointWrite({ agencyId, audit, change })
  }

  async deliveries(agencyId: string, endpointId: string, page: { offset: number; limit: number }) {
    const { sql } = this.#lists
    const rows = await this.#lists.read(
      agencyId,
      sql<(StoredDelivery & { total: number })[]>`
        select counted.total, page.*
        from (select count(*)::float8 as total from webhook_delivery d
              where d.agency_id = ${agencyId} and d.endpoint_id = ${endpointId}) counted
        left join lateral (
          select ${deliveryColumns(sql)}
          from webhook_delivery d
          join webhook_event v on v.agency_id = d.agency_id and v.event_id = d.event_id
          join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
          where d.agency_id = ${agencyId} and d.endpoint_id = ${endpointId}
          order by d.created_at desc, d.delivery_id
          offset ${page.offset}::text::bigint limit ${page.limit}
        ) page on true
        order by page."createdAt" desc, page."id"`,
    )
    return { total: rows[0]?.total ?? 0, rows: rows.filter((row) => row.id !== null).map(deliveryOf) }
  }

  async findDelivery(agencyId: string, deliveryId: string) {
    const sql = this.#sql
    const [row] = await sql<StoredDelivery[]>`
      select ${deliveryColumns(sql)}
      from webhook_delivery d
      join webhook_event v on v.agency_id = d.agency_id and v.event_id = d.event_id
      join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
      where d.agency_id = ${agencyId} and d.delivery_id = ${deliveryId}`
    return row === undefined ? null : deliveryOf(row)
  }

  async resend(delivery: WebhookDelivery, agencyId: string, at: number, audit: AuditDraft) {
    const sql = this.#sql
    // Lock the endpoint, so that an endpoint that is being deleted gets no new pending delivery.
    const before = sql`
      endpoint as (
        select e.status from webhook_endpoint e
        where (select held from fence) and e.agency_id = ${agencyId} and e.endpoint_id = ${delivery.endpointId}
          and e.status <> 'deleted' for share
      ), resent as (
        update webhook_delivery d set
          status = 'pending', tries = 0, next_attempt_at = ${new Date(at)}, finished_at = null, claimed_by = null
        from endpoint
        where d.agency_id = ${agencyId} and d.delivery_id = ${delivery.id}
          and (d.status <> 'pending' or d.claimed_by is distinct from (select s.tenure from webhook_sender s))
        returning true
      ),`
    const change = sql`select endpoint.status, exists (select from resent) as "isResent" from endpoint`
    const row = await this.#write<{ status: StoredEndpoint['status']; isResent: boolean }>({
      ...{ agencyId, audit, before, change },
    })
    if (row === null || !row.isResent) return row === null ? null : delivery
    const isActive = row.status === 'active'
    const status = isActive ? ('pending' as const) : ('held' as const)
    return { ...delivery, status, nextAttemptAt: isActive ? at : null, finishedAt: null }
  }

  async recordPing(ping: PingRecord, audit: AuditDraft): Promise<void> {
    const { agencyId, endpointId, eventId, deliveryId, body, outcome } = ping
    const sql = this.#sql
    const at = new Date(ping.at)
    const finishedAt = new Date(ping.at + ping.durationMs)
    const before = sql`
      event as (
        insert into webhook_event (agency_id, event_id, kind, body, occurred_at)
        values (${agencyId}, ${eventId}, 'ping', ${body}, ${at})
      ), delivery as (
        insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, attempts, tries,
                                      created_at, finished_at)
        values (${agencyId}, ${deliveryId}, ${endpointId}, ${eventId}, ${isAccepted(outcome) ? 'delivered' : 'dead'},
                1, 1, ${at}, ${finishedAt})
      ),`
    const change = sql`
      insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
      values (${agencyId}, ${deliveryId}, 1, ${at}, ${ping.durationMs},
              ${outcome.kind === 'answered' ? outcome.httpStatus : null}, ${coarseReason(outcome)}, ${causeName(outcome)})
      returning true`
    await this.#write({ agencyId, audit, before, change })
  }

  #write<R extends object>(write: {
    agencyId: string
    audit: AuditDraft
    change: Fragment
    before?: Fragment
    alone?: boolean
  }): Promise<R | null> {
    return auditedWrite<R>(this.#sql, { ...write, epoch: this.#epoch() })
  }

  async #endpointWrite(write: {
    agencyId: string
    audit: AuditDraft
    change: Fragment
    before?: Fragment
  }): Promise<StoredEndpoint | null> {
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

function endpointColumns(sql: Sql): Fragment {
  return selected(sql, ENDPOINT, 'e')
}

const endpointOf: (row: EndpointRow) => StoredEndpoint = decoderOf(ENDPOINT.fields)
