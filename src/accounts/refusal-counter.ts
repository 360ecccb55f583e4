import type { Actor, AuditDraft } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import { MINUTE_MS } from '../lib/clock.ts'
import { sha256Hex } from '../lib/ids.ts'
import { FlushTimer } from './flush-timer.ts'

/**
 * How a counted write attempt ended.
 * - `UNAUTHORIZED`: 401, with a key or an access token of the agency that is not valid or no longer valid.
 * - `RATE_LIMITED`, `QUOTA_EXCEEDED`: 429.
 * - `FEATURE_DISABLED`: 403, beyond the budget of requests per minute. Within the budget, each attempt has its own
 *   line.
 * - `INTERNAL`: 500, and nothing was written.
 * - `OUTCOME_UNKNOWN`: 500 while the outcome was unknown. If the write was made, it also has its own line: `OK`.
 */
export type CountedOutcome =
  | 'UNAUTHORIZED'
  | 'RATE_LIMITED'
  | 'QUOTA_EXCEEDED'
  | 'FEATURE_DISABLED'
  | 'INTERNAL'
  | 'OUTCOME_UNKNOWN'

/** Any other refusal is counted beyond the lines that an access token may leave in a minute (TokenRateLimit). */
type OtherRefusal = string & {}

/** A write attempt with a known key or access token whose audit line is not written before the response. */
export interface RefusedWrite {
  readonly agencyId: string
  /** A key or an access token: it has an id. */
  readonly actor: Actor
  readonly code: CountedOutcome | OtherRefusal
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly requestId: string
  readonly traceparent: string | null
}

/** A line of an agency's audit trail. */
export interface RefusalLine extends AuditDraft {
  readonly agencyId: string
}

interface Row {
  readonly agencyId: string
  readonly minute: number
  /** The audit line of the first refused attempt; only the count grows. */
  readonly draft: AuditDraft
  count: number
}

const FLUSH_EVERY_MS = 1_000
/** Lines per statement. */
const WRITE_MAX = 500

/**
 * Lines in memory: while the database is unavailable, one per refused key or token, outcome and minute. Beyond this limit, an
 * existing line keeps counting for its key and outcome in later minutes, and attempts of a key without a line appear
 * only in the metrics.
 */
const REFUSAL_ROWS_MAX = 10_000

/**
 * The audit lines of write attempts that ended in 401, 429 or 500, and of refusals beyond a token's own lines: one per key or token, outcome and minute of the wall
 * clock, with a count, so that a burst of refusals cannot fill the table (docs/design.md#audit). The audit trail covers write
 * attempts, so count only requests of write routes: `POST /bookings` and `POST /bookings/{id}/cancel`. A line contains
 * the route, request id, trace and time of its first attempt.
 *
 * An attempt gets a 500 when the journal, or a queue before it, has no room for the attempt's own line or cannot write
 * it. So these lines bypass the journal. They wait in memory until the database accepts them.
 *
 * The id of a line is derived from key, outcome and minute, and the database keeps the highest count of an id, so
 * writing a line twice, or late, does no harm. After a restart the rest of the minute is counted from 0 under the same
 * id, so the line keeps the higher count of the two processes. A line never shrinks and never overstates, but may
 * understate their sum; after kill -9 the last second is missing as well. Unlike all other write attempts, these are
 * answered before their line is durable.
 */
export class RefusalCounter {
  readonly #clock: Clock
  readonly #persist: (lines: readonly RefusalLine[]) => Promise<void>
  readonly #rowsMax: number
  readonly #timer: FlushTimer
  readonly #rows = new Map<string, Row>()
  readonly #dirty = new Set<Row>()
  /** The newest line of each key and outcome. */
  readonly #latest = new Map<string, Row>()
  #minute = 0
  #uncounted = 0

  constructor(options: {
    clock: Clock
    /** Makes lines durable. When it rejects, all lines are sent again, including any that were written. */
    persist: (lines: readonly RefusalLine[]) => Promise<void>
    onFailure: (error: unknown) => void
    rowsMax?: number
  }) {
    this.#clock = options.clock
    this.#persist = options.persist
    this.#rowsMax = options.rowsMax ?? REFUSAL_ROWS_MAX
    this.#timer = new FlushTimer({
      flushed: { isDirty: () => this.#dirty.size > 0, write: () => this.#write() },
      clock: options.clock,
      everyMs: FLUSH_EVERY_MS,
      onFailure: options.onFailure,
    })
  }

  /** Lines in memory, and attempts for which there was no room; for the metrics. */
  get stats(): { readonly rows: number; readonly uncounted: number } {
    return { rows: this.#rows.size, uncounted: this.#uncounted }
  }

  count(refused: RefusedWrite): void {
    const at = this.#clock.now()
    this.#advanceTo(Math.floor(at / MINUTE_MS))
    const who = `${refused.actor.id} ${refused.code}`
    const name = `${who} ${this.#minute}`
    const row = this.#rows.get(name) ?? this.#newRow(name, refused, at) ?? this.#latest.get(who)
    if (row === undefined) {
      this.#uncounted += 1
      return
    }
    this.#latest.set(who, row)
    row.count += 1
    this.#dirty.add(row)
    this.#timer.wake()
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; the lines stay dirty and are retried
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean shutdown, before the journal is closed.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
  }

  /** Null when there is no room for another line. */
  #newRow(
    name: string,
    { agencyId, actor, code, route, requestId, traceparent }: RefusedWrite,
    at: number,
  ): Row | null {
    if (this.#rows.size >= this.#rowsMax) return null
    const row: Row = {
      agencyId,
      minute: this.#minute,
      draft: {
        auditId: `aud_${sha256Hex(name).slice(0, 32)}`,
        at,
        actor,
        route,
        outcome: code,
        bookingId: null,
        requestId,
        traceparent,
        count: 0,
      },
      count: 0,
    }
    this.#rows.set(name, row)
    return row
  }

  /** Keeps lines of earlier minutes only until they are written. */
  #advanceTo(minute: number): void {
    if (minute === this.#minute) return
    this.#minute = minute
    this.#forgetWritten()
  }

  async #write(): Promise<void> {
    const dirty = [...this.#dirty]
    for (let from = 0; from < dirty.length; from += WRITE_MAX)
      await this.#writeRows(dirty.slice(from, from + WRITE_MAX))
    this.#forgetWritten()
  }

  async #writeRows(rows: readonly Row[]): Promise<void> {
    // Move them to the end of the queue, so that lines the database keeps rejecting do not delay the others.
    for (const row of rows) {
      this.#dirty.delete(row)
      this.#dirty.add(row)
    }
    const lines = rows.map(({ agencyId, draft, count }) => ({ ...draft, agencyId, count }))
    await this.#persist(lines)
    rows.forEach((row, i) => {
      if (row.count === lines[i]?.count) this.#dirty.delete(row)
    })
  }

  #forgetWritten(): void {
    for (const [name, row] of this.#rows) {
      if (row.minute === this.#minute || this.#dirty.has(row)) continue
      this.#rows.delete(name)
      const who = `${row.draft.actor.id} ${row.draft.outcome}`
      if (this.#latest.get(who) === row) this.#latest.delete(who)
    }
  }
}
