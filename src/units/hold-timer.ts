/**
 * Ends holds on time, whether or not their unit is resident: Postgres knows when the next one lapses, and one timer
 * waits for it. Never early; overdue ones after a restart at once.
 */
import type { Instant } from '../domain/booking.ts'
import type { Clock } from '../lib/clock.ts'

export interface LapsedHold {
  readonly agencyId: string
  readonly bookingId: string
}

/** Where holds are found and ended. */
export interface HoldBook {
  /** The longest overdue first. */
  lapsed(at: Instant, limit: number): Promise<readonly LapsedHold[]>
  /** Null when no hold is open. */
  nextExpiry(): Promise<Instant | null>
  expire(hold: LapsedHold): Promise<void>
}

/** The wall clock may jump, so it is looked at again at least this often. */
const LOOK_AGAIN_MS = 10_000
const AFTER_FAILURE_MS = 500
const LAPSED_PER_ROUND = 100

export class HoldTimer {
  readonly #book: HoldBook
  readonly #clock: Clock
  readonly #onFailure: (error: unknown) => void
  #callOff: (() => void) | null = null
  /** When the armed timer fires. */
  #armedFor: Instant = Number.POSITIVE_INFINITY
  #round: Promise<void> | null = null
  /** The earliest expiry told of while a round ran: its own look at the database may have been too early for it. */
  #toldOf: Instant = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(options: { book: HoldBook; clock: Clock; onFailure: (error: unknown) => void }) {
    this.#book = options.book
    this.#clock = options.clock
    this.#onFailure = options.onFailure
  }

  start(): void {
    this.#arm(this.#clock.now())
  }

  /** Tells the timer of a hold that may lapse before those it knows. */
  expectExpiry(at: Instant): void {
    if (this.#round !== null) this.#toldOf = Math.min(this.#toldOf, at)
    else if (at < this.#armedFor) this.#arm(at)
  }

  /** Waits for the round that runs, then ends nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#callOff?.()
    await this.#round
  }

  #arm(at: Instant): void {
    if (this.#stopped) return
    this.#callOff?.()
    const wait = Math.min(Math.max(0, at - this.#clock.now()), LOOK_AGAIN_MS)
    this.#armedFor = at
    this.#callOff = this.#clock.after(wait, () => {
      this.#round = this.#runRound()
    })
  }

  async #runRound(): Promise<void> {
    const next = await this.#endLapsed()
    this.#round = null
    this.#arm(Math.min(next, this.#toldOf))
    this.#toldOf = Number.POSITIVE_INFINITY
  }

  /** When to look again. */
  async #endLapsed(): Promise<Instant> {
    try {
      for (;;) {
        const lapsed = await this.#book.lapsed(this.#clock.now(), LAPSED_PER_ROUND)
        const ended = await Promise.allSettled(lapsed.map((hold) => this.#book.expire(hold)))
        const failed = ended.find((result) => result.status === 'rejected')
        if (failed !== undefined) throw failed.reason
        if (lapsed.length < LAPSED_PER_ROUND || this.#stopped) break
      }
      return (await this.#book.nextExpiry()) ?? this.#clock.now() + LOOK_AGAIN_MS
    } catch (error) {
      this.#onFailure(error)
      return this.#clock.now() + AFTER_FAILURE_MS
    }
  }
}
