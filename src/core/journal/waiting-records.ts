import { BoundedQueue } from '../../lib/bounded-queue.ts'
import type { Clock } from '../../lib/clock.ts'
import { heldTooLong, type JournalError } from './journal-error.ts'
import type { JournalRecord } from './record.ts'

const OVERDUE_CHECK_MS = 250

export interface WaitingRecord {
  readonly record: JournalRecord
  /** Monotonic milliseconds. */
  readonly since: number
  /** `seq`: of the record's entry; null for a record without an entry. */
  readonly resolve: (appended: { readonly seq: number | null }) => void
  readonly reject: (error: JournalError) => void
}

/** The records that wait for a batch: a limited number, each for a limited time. */
export class WaitingRecords {
  readonly #clock: Clock
  readonly #queuedMsMax: number
  readonly #queue: BoundedQueue<WaitingRecord>

  constructor(options: { clock: Clock; waitingMax: number; queuedMsMax: number }) {
    this.#clock = options.clock
    this.#queuedMsMax = options.queuedMsMax
    this.#queue = new BoundedQueue(options.waitingMax)
  }

  get size(): number {
    return this.#queue.size
  }

  /** When the first of them came; null when none waits. */
  get oldest(): number | null {
    return this.#queue.peek()?.since ?? null
  }

  /** False when too many wait: the record is not taken. */
  push(waiting: WaitingRecord): boolean {
    return this.#queue.push(waiting)
  }

  /** The first of them, at most `max`. */
  take(max: number): WaitingRecord[] {
    const taken: WaitingRecord[] = []
    while (taken.length < max) {
      const next = this.#queue.shift()
      if (next === undefined) break
      taken.push(next)
    }
    return taken
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
      this.putBack(this.take(this.size))
      stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    }
    let stop = this.#clock.after(OVERDUE_CHECK_MS, check)
    return () => stop()
  }

  refuseAll(error: () => JournalError): void {
    for (const waiting of this.take(this.size)) waiting.reject(error())
  }
}
