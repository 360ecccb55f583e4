import {
  type ClaimedDelivery,
  SenderReplacedError,
  type SenderStore,
  type Settled,
} from '../../webhooks/sender-store.ts'
import { connect, type Sql } from '../client/connect.ts'
import { FENCED_SQLSTATE } from '../client/database-error.ts'

/** Raised by `claim_deliveries` when another sender has taken over. */
const TENURE_OVER_SQLSTATE = 'NL004'

interface ClaimedRow {
  agency_id: string
  delivery_id: string
  endpoint_id: string
  event_id: string
  kind: ClaimedDelivery['event']
  body: string
  attempts: number
  tries: number
  next_attempt_at: Date
  url: string
  secret_sealed: string
  previous_secret_sealed: string | null
  previous_secret_until: Date | null
  consecutive_failures: number
  revision: number
}

/** The sender's statements, on connections of its own. */
export class PostgresSenderStore implements SenderStore {
  readonly #sql: Sql

  constructor(url: string) {
    // One for claims, one for outcomes, so that neither waits for the other.
    this.#sql = connect(url, { purpose: 'queries', max: 2 })
  }

  async takeOver(epoch: number): Promise<number> {
    const [row] = await this.#run(
      (sql) => sql<{ tenure: number }[]>`select take_over_sending(${epoch})::float8 as tenure`,
    )
    if (row === undefined) throw new Error('Cannot take over sending: no answer')
    return row.tenure
  }

  async claim({ term, dueUntil, room, windowFresh, windows }: Parameters<SenderStore['claim']>[0]) {
    const rows = await this.#run(
      (sql) => sql<ClaimedRow[]>`
        select * from claim_deliveries(${term}, ${new Date(dueUntil)}, ${room}, ${windowFresh},
                                       ${JSON.stringify(windows)}::text::jsonb)`,
    )
    return rows.map(claimedOf)
  }

  async release(term: number, held: readonly string[]): Promise<void> {
    await this.#run(
      (sql) => sql`
        update webhook_delivery set claimed_by = null
        where status = 'pending' and claimed_by = ${term}
          and delivery_id not in (select jsonb_array_elements_text(${JSON.stringify(held)}::text::jsonb))`,
    )
  }

  async nextDue(dueAfter: number): Promise<number | null> {
    const [row] = await this.#run(
      (sql) => sql<{ at: Date | null }[]>`select next_delivery_due(${new Date(dueAfter)}) as at`,
    )
    return row?.at?.getTime() ?? null
  }

  async record(term: number, settled: readonly Settled[]): Promise<void> {
    const content = JSON.stringify(contentOf(settled))
    await this.#run((sql) => sql`select record_attempts(${term}, ${content}::text::jsonb)`)
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 1 })
  }

  async #run<T>(query: (sql: Sql) => PromiseLike<T>): Promise<T> {
    try {
      return await query(this.#sql)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null
      if (code === TENURE_OVER_SQLSTATE || code === FENCED_SQLSTATE) {
        throw new SenderReplacedError('Cannot send webhooks: another sender has taken over', { cause: error })
      }
      throw error
    }
  }
}

function claimedOf(row: ClaimedRow): ClaimedDelivery {
  return {
    agencyId: row.agency_id,
    deliveryId: row.delivery_id,
    eventId: row.event_id,
    event: row.kind,
    body: row.body,
    attempts: row.attempts,
    tries: row.tries,
    nextAttemptAt: row.next_attempt_at.getTime(),
    endpoint: {
      id: row.endpoint_id,
      url: row.url,
      secretSealed: row.secret_sealed,
      previousSecretSealed: row.previous_secret_sealed,
      previousSecretUntil: row.previous_secret_until?.getTime() ?? null,
      consecutiveFailures: row.consecutive_failures,
      revision: row.revision,
    },
  }
}

function contentOf(settled: readonly Settled[]) {
  const endpoints = new Map<string, unknown>()
  for (const { agencyId, endpoint } of settled) {
    if (endpoint === null) continue
    endpoints.set(endpoint.id, {
      agency_id: agencyId,
      endpoint_id: endpoint.id,
      revision: endpoint.revision,
      consecutive_failures: endpoint.consecutiveFailures,
      status: endpoint.status,
      disabled_reason: endpoint.disabledReason,
      at: iso(endpoint.at),
    })
  }
  return {
    deliveries: settled.map((one) => ({
      agency_id: one.agencyId,
      delivery_id: one.deliveryId,
      attempts_before: one.attemptsBefore,
      attempts: one.attempts,
      tries: one.tries,
      status: one.status,
      next_attempt_at: iso(one.nextAttemptAt),
      finished_at: iso(one.finishedAt),
    })),
    attempts: settled.flatMap(({ agencyId, deliveryId, attempt }) =>
      attempt === null
        ? []
        : {
            agency_id: agencyId,
            delivery_id: deliveryId,
            attempt: attempt.attempt,
            at: iso(attempt.at),
            duration_ms: attempt.durationMs,
            http_status: attempt.httpStatus,
            reason: attempt.reason,
            detail: attempt.detail,
          },
    ),
    endpoints: [...endpoints.values()],
  }
}

function iso(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
