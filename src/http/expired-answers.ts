import { type Clock, sleep, steadyNow } from '../lib/clock.ts'
import { ANSWER_KEPT_MS } from './idempotent-writes.ts'

const EVERY_MS = 600_000
/** Rows in one statement: it holds its locks, and a connection of the pool, for some milliseconds. */
const DELETED_AT_ONCE = 1_000
const PAUSE_MS = 50

/**
 * Deletes answers that are no longer replayed (docs/design.md#additive-headers: 24 hours), every 10 minutes and at start.
 * Housekeeping only: an expired answer is not found even while it is stored. Deletes none that might be found (I5).
 */
export class ExpiredAnswers {
  readonly #deleteExpired: (params: { notAfter: number; limit: number }) => Promise<number>
  readonly #clock: Clock
  readonly #now: () => number
  readonly #onFailure: (error: unknown) => void
  #cancel: (() => void) | null = null
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: {
    /** Deletes the oldest first, and returns how many. */
    deleteExpired: (params: { notAfter: number; limit: number }) => Promise<number>
    clock: Clock
    onFailure: (error: unknown) => void
  }) {
    this.#deleteExpired = options.deleteExpired
    this.#clock = options.clock
    this.#now = steadyNow(options.clock)
    this.#onFailure = options.onFailure
  }

  start(): void {
    this.#round = this.#runRound()
  }

  /** Waits for the statement that runs, then deletes nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#round
  }

  async #runRound(): Promise<void> {
    try {
      const notAfter = this.#now() - ANSWER_KEPT_MS
      while (!this.#stopped) {
        const deleted = await this.#deleteExpired({ notAfter, limit: DELETED_AT_ONCE })
        if (deleted < DELETED_AT_ONCE) break
        await sleep(this.#clock, PAUSE_MS)
      }
    } catch (error) {
      this.#onFailure(error)
    }
    if (!this.#stopped) this.#cancel = this.#clock.after(EVERY_MS, () => this.start())
  }
}
