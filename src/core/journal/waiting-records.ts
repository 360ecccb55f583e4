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

/** The records of a lane that wait for a batch: each for a limited time, and a limited number in all lanes together. */
export class WaitingRecords {
  readonly #clock: Clock
  readonly #queuedMsMax: number
  readonly #waitingMax: number
  readonly #waitingInAll: () => number
  readonly #queue: BoundedQueue<WaitingRecord>

  /**
   * @param options.waitingMax in all lanes
   * @param options.waitingInAll how many wait in all lanes, these included
   */
  constructor(options: { clock: Clock; waitingMax: number; queuedMsMax: number; waitingInAll: () => number }) {
    this.#clock = options.clock
    this.#queuedMsMax = options.queuedMsMax
    this.#waitingMax = options.waitingMax
    this.#waitingInAll = options.waitingInAll
    this.#queue = new BoundedQueue(options.waitingMax)
  }

  get size(): number {
    return this.#queue.size
  }

  /** When the first of them came; null when none waits. */
  get oldest(): number | null {
    return this.#queue.peek()?.since ?? null
  }

  /** @returns null; or how many wait when these are too many, and the record is not taken */
  push(waiting: WaitingRecord): number | null {
    const already = this.#waitingInAll()
    return already < this.#waitingMax && this.#queue.push(waiting) ? null : already
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
