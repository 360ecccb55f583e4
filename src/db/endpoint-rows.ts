import { withDeadline } from '../lib/deadline.ts'
import { causeName, coarseReason, isAccepted } from '../webhooks/attempt-outcome.ts'
import type { EndpointRows, PendingChoice, PingRecord, StoredEndpoint } from '../webhooks/endpoint-rows.ts'
import { QUERY_DEADLINE_MS } from './booking-rows.ts'
import type { Sql } from './connect.ts'
import { deliveryColumns, deliveryOf, type StoredDelivery } from './delivery-columns.ts'
import type { ListReads } from './list-reads.ts'

interface EndpointRow {
  agencyId: string
  id: string
  url: string
  description: string | null
  status: 'active' | 'disabled'
  disabledReason: string | null
  consecutiveFailures: number
  secretSealed: string
  previousSecretSealed: string | null
  previousSecretUntil: Date | null
  createdAt: Date
  updatedAt: Date
}

/** Pending deliveries that one statement ends or hurries; a flood of them must not meet the statement timeout. */
const CHUNK = 5_000

/** The agency's endpoints and their deliveries. The sender's statements are in sender-rows.ts. */
export class PostgresEndpointRows implements EndpointRows {
  readonly #sql: Sql
  readonly #lists: ListReads

  constructor(sql: Sql, lists: ListReads) {
    this.#sql = sql
    this.#lists = lists
  }

  /** Agencies that have an endpoint, of whatever status but deleted. */
  async agencies(): Promise<readonly string[]> {
    const rows = await withDeadline(
      this.#sql<{ agencyId: string }[]>`
        select distinct agency_id as "agencyId" from webhook_endpoint where status <> 'deleted'`,
      QUERY_DEADLINE_MS,
    )
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
  async insert(endpoint: StoredEndpoint, max: number): Promise<boolean> {
    const { agencyId } = endpoint
    const inserted = await withDeadline(
      this.#sql`
        insert into webhook_endpoint (agency_id, endpoint_id, url, description, status, secret_sealed, created_at, updated_at)
        select ${agencyId}, ${endpoint.id}, ${endpoint.url}, ${endpoint.description}::text, ${endpoint.status},
               ${endpoint.secretSealed}, ${new Date(endpoint.createdAt)}::timestamptz, ${new Date(endpoint.updatedAt)}::timestamptz
        where (select count(*) from webhook_endpoint e where e.agency_id = ${agencyId} and e.status <> 'deleted') < ${max}::int`,
      QUERY_DEADLINE_MS,
    )
    return inserted.count === 1
  }

  async changeUrl({ agencyId, endpointId, url, at }: Parameters<EndpointRows['changeUrl']>[0]) {
    const sql = this.#sql
    return await this.#endpoint(sql`
      update webhook_endpoint e set
        url = ${url}, revision = e.revision + 1, updated_at = ${new Date(at)},
        consecutive_failures = case when e.status = 'active' then 0 else e.consecutive_failures end
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`)
  }

  async describe({ agencyId, endpointId, description, at }: Parameters<EndpointRows['describe']>[0]) {
    const sql = this.#sql
    return await this.#endpoint(sql`
      update webhook_endpoint e set description = ${description}, updated_at = ${new Date(at)}
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`)
  }

  async enable({ agencyId, endpointId, pending, at }: Parameters<EndpointRows['enable']>[0]) {
    const sql = this.#sql
    const before = await this.find(agencyId, endpointId)
    if (before === null || before.status === 'active') return before
    await this.#settlePending(agencyId, endpointId, pending, at)
    return await this.#endpoint(sql`
      update webhook_endpoint e set
        status = 'active', disabled_reason = null, consecutive_failures = 0, revision = e.revision + 1,
        updated_at = ${new Date(at)}
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`)
  }

  async delete({ agencyId, endpointId, at }: Parameters<EndpointRows['delete']>[0]) {
    const sql = this.#sql
    const before = await this.find(agencyId, endpointId)
    if (before === null) return null
    await withDeadline(
      sql`
        update webhook_endpoint e set
          status = 'deleted', secret_sealed = '', previous_secret_sealed = null, previous_secret_until = null,
          revision = e.revision + 1, updated_at = ${new Date(at)}
        where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId}`,
      QUERY_DEADLINE_MS,
    )
    await this.#settlePending(agencyId, endpointId, 'drop', at)
    return before
  }

  async replaceSecret(change: Parameters<EndpointRows['replaceSecret']>[0]) {
    const { agencyId, endpointId, secretSealed, previousSecretUntil: until, at } = change
    const sql = this.#sql
    return await this.#endpoint(sql`
      update webhook_endpoint e set
        previous_secret_sealed = ${until === null ? sql`null` : sql`e.secret_sealed`},
        previous_secret_until = ${until === null ? null : new Date(until)}::timestamptz,
        secret_sealed = ${secretSealed}, updated_at = ${new Date(at)}
      where e.agency_id = ${agencyId} and e.endpoint_id = ${endpointId} and e.status <> 'deleted'
      returning ${endpointColumns(sql)}`)
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
    const [row] = await withDeadline(
      sql<StoredDelivery[]>`
        select ${deliveryColumns(sql)}
        from webhook_delivery d
        join webhook_event v on v.agency_id = d.agency_id and v.event_id = d.event_id
        join webhook_endpoint e on e.agency_id = d.agency_id and e.endpoint_id = d.endpoint_id
        where d.agency_id = ${agencyId} and d.delivery_id = ${deliveryId}`,
      QUERY_DEADLINE_MS,
    )
    return row === undefined ? null : deliveryOf(row)
  }

  async resend(agencyId: string, deliveryId: string, at: number): Promise<void> {
    await withDeadline(
      this.#sql`
        update webhook_delivery d set
          status = 'pending', tries = 0, next_attempt_at = ${new Date(at)}, finished_at = null, claimed_by = null
        where d.agency_id = ${agencyId} and d.delivery_id = ${deliveryId}
          and (d.status <> 'pending' or d.claimed_by is distinct from (select s.tenure from webhook_sender s))`,
      QUERY_DEADLINE_MS,
    )
  }

  async recordPing(ping: PingRecord): Promise<void> {
    const { agencyId, endpointId, eventId, deliveryId, body, outcome } = ping
    const at = new Date(ping.at)
    const finishedAt = new Date(ping.at + ping.durationMs)
    await withDeadline(
      this.#sql`
        with event as (
          insert into webhook_event (agency_id, event_id, kind, body, occurred_at)
          values (${agencyId}, ${eventId}, 'ping', ${body}, ${at})
        ), delivery as (
          insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, attempts, tries,
                                        created_at, finished_at)
          values (${agencyId}, ${deliveryId}, ${endpointId}, ${eventId}, ${isAccepted(outcome) ? 'delivered' : 'dead'},
                  1, 1, ${at}, ${finishedAt})
        )
        insert into webhook_attempt (agency_id, delivery_id, attempt, at, duration_ms, http_status, reason, detail)
        values (${agencyId}, ${deliveryId}, 1, ${at}, ${ping.durationMs},
                ${outcome.kind === 'answered' ? outcome.httpStatus : null}, ${coarseReason(outcome)}, ${causeName(outcome)})`,
      QUERY_DEADLINE_MS,
    )
  }

  /** In chunks, for an endpoint that gets nothing meanwhile. Begun anew after a crash, it ends what is left. */
  async #settlePending(agencyId: string, endpointId: string, choice: PendingChoice, at: number): Promise<void> {
    const sql = this.#sql
    const change =
      choice === 'drop'
        ? sql`status = 'dropped', next_attempt_at = null, finished_at = ${new Date(at)}, claimed_by = null`
        : sql`tries = 0, next_attempt_at = ${new Date(at)}`
    const left = choice === 'drop' ? sql`` : sql`and (d.tries <> 0 or d.next_attempt_at <> ${new Date(at)})`
    for (;;) {
      const settled = await withDeadline(
        sql`
          update webhook_delivery set ${change}
          where agency_id = ${agencyId} and status = 'pending' and delivery_id in (
            select d.delivery_id from webhook_delivery d
            where d.agency_id = ${agencyId} and d.endpoint_id = ${endpointId} and d.status = 'pending' ${left}
            limit ${CHUNK})`,
        QUERY_DEADLINE_MS,
      )
      if (settled.count < CHUNK) return
    }
  }

  async #endpoints(query: PromiseLike<unknown>): Promise<StoredEndpoint[]> {
    return ((await withDeadline(query, QUERY_DEADLINE_MS)) as EndpointRow[]).map(endpointOf)
  }

  async #endpoint(query: PromiseLike<unknown>): Promise<StoredEndpoint | null> {
    return (await this.#endpoints(query))[0] ?? null
  }
}

function endpointColumns(sql: Sql) {
  return sql`
    e.agency_id as "agencyId", e.endpoint_id as "id", e.url, e.description, e.status,
    e.disabled_reason as "disabledReason", e.consecutive_failures as "consecutiveFailures",
    e.secret_sealed as "secretSealed", e.previous_secret_sealed as "previousSecretSealed",
    e.previous_secret_until as "previousSecretUntil", e.created_at as "createdAt", e.updated_at as "updatedAt"`
}

function endpointOf(row: EndpointRow): StoredEndpoint {
  return {
    ...row,
    previousSecretUntil: row.previousSecretUntil?.getTime() ?? null,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  }
}
