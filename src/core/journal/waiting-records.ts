import type { Clock } from '../../lib/clock.ts'
import { Histogram, type HistogramReading } from '../../lib/measures.ts'
import { BoundedQueue } from '../../lib/queues.ts'
import { heldTooLong, type JournalError, type JournalErrorKind } from './journal-error.ts'
import type { JournalRecord } from './record.ts'

const OVERDUE_CHECK_MS = 250

export interface Appended {
  /** The sequence number of the record's first entry in its shard, which the others follow; null for a record without an entry. */
  readonly seq: number | null
}

export interface WaitingRecord {
  readonly record: JournalRecord
  /** Of its agency. */
  readonly shard: number
  /** Monotonic milliseconds. */
  readonly since: number
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: JournalError) => void
}

/** How much of a batch a record takes: the number of its entries, at least 1. */
export function sizeOf({ entries }: JournalRecord): number {
  return entries === undefined || entries.length === 0 ? 1 : entries.length
}

/** The share of one agency in the records that may wait: it alone never fills the queue, however slow the database is. */
export const AGENCY_SHARE_OF_QUEUE = 0.5

/** The records that wait for a batch: a limited number, each for a limited time. */
export class WaitingRecords {
  readonly #clock: Clock
  readonly #queuedMsMax: number
  readonly #agencyMax: number
  readonly #queue: BoundedQueue<WaitingRecord>

  /** @param options.agencyWaitingMax of one agency; left out: as many as of all */
  constructor(options: { clock: Clock; waitingMax: number; agencyWaitingMax?: number; queuedMsMax: number }) {
    this.#clock = options.clock
    this.#queuedMsMax = options.queuedMsMax
    this.#agencyMax = options.agencyWaitingMax ?? options.waitingMax
    this.#queue = new BoundedQueue(options.waitingMax)
  }

  get size(): number {
    return this.#queue.size
  }

  /** When the first of them came; null when none waits. */
  get oldest(): number | null {
    return this.#queue.peek()?.since ?? null
  }

  /** False when too many wait, of all or of its agency: the record is not taken. */
  push(waiting: WaitingRecord): boolean {
    const { agencyId } = waiting.record
    // Counted only where it can matter: the queue is nearly always short.
    const isOverShare =
      this.size >= this.#agencyMax && this.count(({ record }) => record.agencyId === agencyId) >= this.#agencyMax
    return !isOverShare && this.#queue.push(waiting)
  }

  /** How many of them fit. */
  count(fits: (waiting: WaitingRecord) => boolean): number {
    return this.#queue.count(fits)
  }

  /** The first of them that fits. */
  find(fits: (waiting: WaitingRecord) => boolean): WaitingRecord | undefined {
    return this.#queue.find(fits)
  }

  /** The first records that fit into `max`, or a single one that is larger; the others keep their places. */
  take(max: number, fits: (waiting: WaitingRecord) => boolean): WaitingRecord[] {
    const batch: WaitingRecord[] = []
    const passed: WaitingRecord[] = []
    let size = 0
    while (size < max) {
      const next = this.#queue.shift()
      if (next === undefined) break
      if (!fits(next)) {
        passed.push(next)
        continue
      }
      size += sizeOf(next.record)
      // Nothing overtakes it: it will be the first of the next batch.
      if (size <= max || batch.length === 0) batch.push(next)
      else passed.push(next)
    }
    if (passed.length > 0) this.#queue.unshiftAll(passed)
    return batch
  }

  #takeAll(): WaitingRecord[] {
    return this.take(Number.POSITIVE_INFINITY, () => true)
  }

  /** Records that are not written wait again, in front of the others. Those that have waited too long are refused. */
  putBack(batch: readonly WaitingRecord[]): void {
    // Checked once per record: a record that becomes overdue between two checks would be neither refused nor sent.
    const overdue = new Set(batch.filter((waiting) => this.isOverdue(waiting)))
    for (const waiting of overdue) waiting.reject(heldTooLong(this.#queuedMsMax))
    this.#queue.unshiftAll(batch.filter((waiting) => !overdue.has(waiting)))
  }

  isOverdue({ since }: WaitingRecord): boolean {
    return this.#clock.monotonicMs() - since >= this.#queuedMsMax
  }

  /** Refuses overdue records at regular intervals. @returns a function that stops it */
  watch(): () => void {
    const check = (): void => {
      this.putBack(this.#takeAll())
      stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    }
    let stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    return () => stop()
  }

  refuseAll(error: () => JournalError): void {
    this.refuse(() => true, error)
  }

  refuse(fits: (waiting: WaitingRecord) => boolean, error: () => JournalError): void {
    for (const waiting of this.take(Number.POSITIVE_INFINITY, fits)) waiting.reject(error())
  }
}

/** What the metrics and the readiness probe read. */
export interface JournalStats extends JournalCounts {
  readonly state: 'idle' | 'flushing' | 'closed' | 'fenced'
  readonly waiting: number
  readonly resends: number
  /** Milliseconds since the batch in flight was first sent, the one that has taken longest; 0 when there is none. */
  readonly inFlightMs: number
  /** Milliseconds since the oldest record that is not settled came, in flight or not; 0 when there is none. */
  readonly oldestMs: number
  /** The current limit of records in one batch: below the configured one after batches were too slow for the database. */
  readonly batchMax: number
}

/** What has become of the records since this process took over. */
interface JournalCounts {
  /** Entries that became durable, of all shards. */
  readonly entries: number
  readonly batches: number
  readonly records: number
  /** Records of each durable batch. */
  readonly batchSizes: HistogramReading
  /** From a batch's first send until it was known to be durable, milliseconds. */
  readonly appendMs: HistogramReading
  /** Records that did not become durable, by reason. */
  readonly refused: Readonly<Record<JournalErrorKind, number>>
}

const BATCH_SIZE_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const
const APPEND_BOUNDS_MS = [0.5, 1, 2, 3, 5, 7.5, 10, 15, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const

export class JournalCounters {
  #entries = 0
  #batches = 0
  #records = 0
  readonly #batchSizes = new Histogram(BATCH_SIZE_BOUNDS)
  readonly #appendMs = new Histogram(APPEND_BOUNDS_MS)
  readonly #refused = { full: 0, held_too_long: 0, fenced: 0, not_owner: 0, closed: 0, poisoned: 0, outcome_unknown: 0 }

  countBatch(size: number, ms: number): void {
    this.#batches += 1
    this.#batchSizes.count(size)
    this.#appendMs.count(ms)
  }

  countRecords({ records, entries }: { records: number; entries: number }): void {
    this.#records += records
    this.#entries += entries
  }

  /** @returns the error for the refused caller */
  countRefusal(error: JournalError): JournalError {
    this.#refused[error.kind] += 1
    return error
  }

  read(): JournalCounts {
    return {
      entries: this.#entries,
      batches: this.#batches,
      records: this.#records,
      batchSizes: this.#batchSizes.read(),
      appendMs: this.#appendMs.read(),
      refused: { ...this.#refused },
    }
  }
}
