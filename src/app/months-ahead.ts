import type { Instant } from '../core/domain/booking.ts'
import { type Month, monthOf } from '../core/journal/shard.ts'
import type { Clock } from '../lib/clock.ts'

const EVERY_MS = 86_400_000

/** How many months after that of `now` have partitions, up to `newest`; null when that is not known. */
export function monthsAhead(newest: Month, now: Instant): number | null {
  if (newest === '') return null
  const months = (month: Month) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7))
  return months(newest) - months(monthOf(now))
}

/**
 * Creates the partitions of the next months, once a day. If that fails, writes still succeed: rows of a month without a partition go
 * into the newest one (storageMonth).
 */
export class MonthsAhead {
  readonly #ensure: () => Promise<Month>
  readonly #clock: Clock
  readonly #onNewest: (month: Month) => void
  readonly #onFailure: (error: unknown) => void
  #cancel: (() => void) | null = null
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: {
    /** Returns the newest month that has partitions. */
    ensure: () => Promise<Month>
    clock: Clock
    onNewest: (month: Month) => void
    onFailure: (error: unknown) => void
  }) {
    this.#ensure = options.ensure
    this.#clock = options.clock
    this.#onNewest = options.onNewest
    this.#onFailure = options.onFailure
  }

  /** The first round is a day from now. */
  start(): void {
    this.#cancel = this.#clock.after(EVERY_MS, () => {
      this.#round = this.#runRound()
    })
  }

  /** Waits for the running statement. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#round
  }

  async #runRound(): Promise<void> {
    try {
      this.#onNewest(await this.#ensure())
    } catch (error) {
      this.#onFailure(error)
    }
    if (!this.#stopped) this.start()
  }
}
