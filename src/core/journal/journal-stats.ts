import { Histogram, type HistogramReading } from '../../lib/histogram.ts'
import type { JournalError, JournalErrorKind } from './journal-error.ts'

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
export interface JournalCounts {
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

  /** @returns the error, for whoever is refused */
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
