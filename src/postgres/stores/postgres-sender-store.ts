import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { bodyOfEntry } from '../../events/webhooks/envelope.ts'
import {
  type ClaimedDelivery,
  SenderReplacedError,
  type SenderStore,
  type Settled,
} from '../../events/webhooks/sender-store.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import { connect, type Sql } from '../client/connect.ts'
import { FENCED_SQLSTATE } from '../client/database-error.ts'
import { fencesText } from './append-batch.ts'

/** Raised by `claim_deliveries` when another sender has taken over. */
const TENURE_OVER_SQLSTATE = 'NL004'

interface ClaimedRow {
  agencyId: string
  deliveryId: string
  /** `YYYY-MM-DD` */
  month: string
  endpointId: string
  eventId: string
  event: ClaimedDelivery['event']
  attempts: number
  tries: number
  nextAttemptAt: Date
  isSandbox: boolean
  url: string
  secretSealed: string
  previousSecretSealed: string | null
  previousSecretUntil: Date | null
  consecutiveFailures: number
  revision: number
  /** Of the entry; null when it is not there. */
  seq: number | null
  at: Date
  unitId: string
  otherUnitId: string | null
  bookingId: string | null
  kind: string
  payload: string
  checksum: string
  sourceRef: string | null
  traceparent: string | null
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

  /** Becomes the sender of a node, which sends for no shard yet. @returns its term */
  async join(): Promise<number> {
    const [row] = await this.#run((sql) => sql<{ tenure: number }[]>`select join_sending()::float8 as tenure`)
    if (row === undefined) throw new Error('Cannot join sending: no answer')
    return row.tenure
  }

  /**
   * Sends for these shards of its node from now on, and for no others.
   * @returns those of them that are the node's
   * @throws SenderReplacedError when a process that has all shards has taken over
   */
  async sendFor(term: number, shards: readonly ShardEpoch[]): Promise<readonly number[]> {
    const fences = fencesText(shards)
    const rows = await this.#run(
      (sql) => sql<{ shard: number }[]>`
        select unnest(send_for(${term}, ${fences.shards}::text::smallint[], ${fences.epochs}::text::bigint[])) as shard`,
    )
    return rows.map(({ shard }) => shard)
  }

  async makeDeliveries({ term, agencyIds, now, room }: Parameters<SenderStore['makeDeliveries']>[0]) {
    const agencies = agencyIds === 'all' ? null : JSON.stringify(agencyIds.map(uuidOf))
    const [row] = await this.#run(
      (sql) => sql<{ made: number; mayHaveMore: boolean }[]>`
        select made, may_have_more as "mayHaveMore"
        from make_deliveries(${term}, ${agencies}::text::jsonb, ${new Date(now)}, ${room})`,
    )
    if (row === undefined) throw new Error('Cannot make deliveries: no answer')
    return row
  }

  async agencies(term: number): Promise<readonly string[]> {
    const rows = await this.#run(
      (sql) => sql<{ id: string }[]>`
        select distinct e.agency_id as id from (select sent_shards(${term}) as shards offset 0) held, webhook_endpoint e
        where e.status = 'active' and (held.shards is null or shard_of(e.agency_id) = any (held.shards))`,
    )
    return rows.map(({ id }) => idOf('agc', id))
  }

  async claim({ term, dueUntil, room, windowFresh, windows }: Parameters<SenderStore['claim']>[0]) {
    const byUuid = Object.fromEntries(Object.entries(windows).map(([id, window]) => [uuidOf(id), window]))
    const rows = await this.#run(
      (sql) => sql<ClaimedRow[]>`
        select agency_id as "agencyId", delivery_id as "deliveryId", month::text as "month", endpoint_id as "endpointId",
               event_id as "eventId", kind as "event", attempts, tries, next_attempt_at as "nextAttemptAt",
               is_sandbox as "isSandbox", url,
               secret_sealed as "secretSealed", previous_secret_sealed as "previousSecretSealed",
               previous_secret_until as "previousSecretUntil", consecutive_failures as "consecutiveFailures", revision,
               seq::float8 as "seq", at, unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId",
               entry_kind as "kind", payload, checksum, source_ref as "sourceRef", traceparent
        from claim_deliveries(${term}, ${new Date(dueUntil)}, ${room}, ${windowFresh},
                              ${JSON.stringify(byUuid)}::text::jsonb)`,
    )
    return rows.map(claimedOf)
  }

  async release(term: number, held: readonly string[]): Promise<void> {
    await this.#run(
      (sql) => sql`
        update webhook_delivery set claimed_by = null
        where status = 'pending' and claimed_by = ${term}
          and delivery_id not in (select jsonb_array_elements_text(${JSON.stringify(held.map(uuidOf))}::text::jsonb)::uuid)`,
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

/** An entry of the journal from which a body is rendered. */
export type EventRow = Pick<
  ClaimedRow,
  | 'seq'
  | 'at'
  | 'eventId'
  | 'unitId'
  | 'otherUnitId'
  | 'bookingId'
  | 'kind'
  | 'payload'
  | 'checksum'
  | 'sourceRef'
  | 'isSandbox'
>

function claimedOf(row: ClaimedRow): ClaimedDelivery {
  const { month, event, attempts, tries, isSandbox, traceparent, url, secretSealed, previousSecretSealed } = row
  return {
    isSandbox,
    month,
    event,
    attempts,
    tries,
    traceparent,
    agencyId: idOf('agc', row.agencyId),
    deliveryId: idOf('dlv', row.deliveryId),
    eventId: idOf('evt', row.eventId),
    body: bodyOf(row),
    nextAttemptAt: row.nextAttemptAt.getTime(),
    endpoint: {
      url,
      secretSealed,
      previousSecretSealed,
      id: idOf('whe', row.endpointId),
      previousSecretUntil: row.previousSecretUntil?.getTime() ?? null,
      consecutiveFailures: row.consecutiveFailures,
      revision: row.revision,
    },
  }
}

/**
 * Null when the entry is not there, or cannot be read, for whatever reason: a claim that fails because of one entry would be
 * repeated and fail forever.
 */
export function bodyOf(row: EventRow): string | null {
  const { seq, kind, payload, checksum } = row
  if (seq === null) return null
  const entry = {
    seq,
    kind,
    payload,
    checksum,
    id: idOf('evt', row.eventId),
    at: row.at.getTime(),
    unitId: idOf('unt', row.unitId),
    otherUnitId: row.otherUnitId === null ? null : idOf('unt', row.otherUnitId),
    bookingId: row.bookingId === null ? null : idOf('bkg', row.bookingId),
  }
  try {
    return bodyOfEntry(entry, row.sourceRef, row.isSandbox)
  } catch {
    return null
  }
}

function contentOf(settled: readonly Settled[]) {
  const endpoints = new Map<string, unknown>()
  for (const { agencyId, endpoint } of settled) {
    if (endpoint === null) continue
    endpoints.set(endpoint.id, {
      agency_id: uuidOf(agencyId),
      endpoint_id: uuidOf(endpoint.id),
      revision: endpoint.revision,
      consecutive_failures: endpoint.consecutiveFailures,
      status: endpoint.status,
      disabled_reason: endpoint.disabledReason,
      at: iso(endpoint.at),
    })
  }
  return {
    deliveries: settled.map((one) => ({
      agency_id: uuidOf(one.agencyId),
      delivery_id: uuidOf(one.deliveryId),
      month: one.month,
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
            agency_id: uuidOf(agencyId),
            delivery_id: uuidOf(deliveryId),
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
