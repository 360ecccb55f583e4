import type { Clock } from '../../lib/clock.ts'
import { sleep } from '../../lib/clock.ts'
import { SenderReplacedError, type SenderStore, type Settled } from './sender-store.ts'

const BATCH_MAX = 500
const BACKOFF_MS = [20, 100, 500, 1_000] as const

/**
 * Writes outcomes in the order they arrive, one statement at a time; the next batch collects meanwhile. A batch whose
 * outcome is unknown is sent again unchanged, which is safe because `record` is idempotent.
 */
export class OutcomeRecorder {
  readonly #store: SenderStore
  readonly #clock: Clock
  readonly #term: number
  readonly #onRecorded: (settled: readonly Settled[]) => void
  readonly #onFailure: (error: unknown) => void
  readonly #onReplaced: (cause: SenderReplacedError) => void
  #waiting: Settled[] = []
  #inFlight: Promise<void> | null = null
  #isOver = false

  constructor(options: {
    store: SenderStore
    clock: Clock
    term: number
    onRecorded: (settled: readonly Settled[]) => void
    /** Called for each failed attempt to write. The batch is retried. */
    onFailure: (error: unknown) => void
    onReplaced: (cause: SenderReplacedError) => void
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#term = options.term
    this.#onRecorded = options.onRecorded
    this.#onFailure = options.onFailure
    this.#onReplaced = options.onReplaced
  }

  add(settled: readonly Settled[]): void {
    this.#waiting.push(...settled)
    this.#inFlight ??= this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    // Deferred to the next tick, so that outcomes of this tick share a statement.
    await Promise.resolve()
    while (this.#waiting.length > 0 && !this.#isOver) {
      const batch = this.#waiting.slice(0, BATCH_MAX)
      await this.#write(batch)
      this.#waiting = this.#waiting.slice(batch.length)
      if (!this.#isOver) this.#onRecorded(batch)
    }
    this.#inFlight = null
  }

  async #write(batch: readonly Settled[]): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        await this.#store.record(this.#term, batch)
        return
      } catch (error) {
        if (error instanceof SenderReplacedError) {
          this.#isOver = true
          this.#onReplaced(error)
          return
        }
        this.#onFailure(error)
        await sleep(this.#clock, BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 1_000)
      }
    }
  }
}
