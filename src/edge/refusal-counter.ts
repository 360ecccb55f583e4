import type { AuditDraft } from '../journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import { sha256Hex } from '../lib/sha256-hex.ts'
import { FlushTimer } from './flush-timer.ts'

/** A write attempt that was answered with 429. */
export interface RefusedWrite {
  readonly agencyId: string
  readonly keyId: string
  readonly code: 'RATE_LIMITED' | 'QUOTA_EXCEEDED'
  /** Method and path template, `POST /partner/v1/bookings`. */
  readonly route: string
  readonly requestId: string
}

interface Row {
  readonly agencyId: string
  readonly minute: number
  /** Of the first refused attempt; only the count grows. */
  readonly draft: AuditDraft
  count: number
}

const MINUTE_MS = 60_000
const FLUSH_EVERY_MS = 1_000
/** Rows written at once: they share a group commit, and leave the journal room for bookings. */
const WRITE_MAX = 100

/**
 * Rows in memory: with the database away, one per refused key, code and minute. Beyond it, new ones are only counted.
 */
export const REFUSAL_ROWS_MAX = 10_000

/**
 * The audit trail's lines of refused 429s: one per key, code and minute of the wall clock, with a count, so that a
 * flood cannot fill the table (design, Audit). The trail is of write attempts, so only refused requests of write routes
 * belong here: `POST /bookings` and `POST /bookings/{id}/cancel`. A line tells route, request id and time of the first
 * attempt it stands for.
 *
 * The id of a line follows from key, code and minute, and the database keeps the highest count of an id, so that
 * writing a line twice, or late, does no harm. After a restart the rest of the minute is counted from 0 under the same
 * id: the line then holds the higher of the two processes' counts. It never shrinks and never says too much, but may
 * say less than both together; after kill -9 the last second is missing too. Unlike every other write attempt, a
 * refused 429 is answered before its line is durable.
 */
export class RefusalCounter {
  readonly #clock: Clock
  readonly #persist: (agencyId: string, audit: AuditDraft) => Promise<void>
  readonly #rowsMax: number
  readonly #timer: FlushTimer
  readonly #rows = new Map<string, Row>()
  readonly #dirty = new Set<Row>()
  #minute = 0
  #uncounted = 0

  constructor(options: {
    clock: Clock
    /** Makes a line durable: the journal. */
    persist: (agencyId: string, audit: AuditDraft) => Promise<void>
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

  /** Lines in memory, and attempts that found no place for theirs; for the metrics. */
  get vitals(): { readonly rows: number; readonly uncounted: number } {
    return { rows: this.#rows.size, uncounted: this.#uncounted }
  }

  count(refused: RefusedWrite): void {
    const at = this.#clock.now()
    this.#turnTo(Math.floor(at / MINUTE_MS))
    const name = `${refused.keyId} ${refused.code} ${this.#minute}`
    const row = this.#rows.get(name) ?? this.#newRow(name, refused, at)
    if (row === null) {
      this.#uncounted += 1
      return
    }
    row.count += 1
    this.#dirty.add(row)
    this.#timer.wake()
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; the lines stay dirty and are tried again
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean end: before the journal is closed.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
  }

  /** Null when there is no place for another line. */
  #newRow(name: string, { agencyId, keyId, code, route, requestId }: RefusedWrite, at: number): Row | null {
    if (this.#rows.size >= this.#rowsMax) return null
    const row: Row = {
      agencyId,
      minute: this.#minute,
      draft: {
        auditId: `aud_${sha256Hex(name).slice(0, 32)}`,
        at,
        actor: { kind: 'key', id: keyId },
        route,
        outcome: code,
        bookingId: null,
        requestId,
        count: 0,
      },
      count: 0,
    }
    this.#rows.set(name, row)
    return row
  }

  /** Lines of other minutes are kept only until they are written. */
  #turnTo(minute: number): void {
    if (minute === this.#minute) return
    this.#minute = minute
    this.#forgetWritten()
  }

  async #write(): Promise<void> {
    const dirty = [...this.#dirty]
    for (let from = 0; from < dirty.length; from += WRITE_MAX) {
      const settled = await Promise.allSettled(dirty.slice(from, from + WRITE_MAX).map((row) => this.#writeRow(row)))
      const failed = settled.find((result) => result.status === 'rejected')
      if (failed !== undefined) throw failed.reason
    }
    this.#forgetWritten()
  }

  async #writeRow(row: Row): Promise<void> {
    const { count } = row
    // To the end of the line: one that the database refuses time and again does not hold up the others.
    this.#dirty.delete(row)
    this.#dirty.add(row)
    await this.#persist(row.agencyId, { ...row.draft, count })
    if (row.count === count) this.#dirty.delete(row)
  }

  #forgetWritten(): void {
    for (const [name, row] of this.#rows) {
      if (row.minute !== this.#minute && !this.#dirty.has(row)) this.#rows.delete(name)
    }
  }
}
