/**
 * Ends holds on time, whether or not their unit is resident: Postgres knows when the next one lapses, and one timer
 * waits for it. Never early; overdue ones after a restart at once.
 *
 * A hold that cannot be released (its unit's journal is damaged, or the database rejects its record) rests and is retried, and does
 * not delay the others. A failure of the whole journal is not the fault of a hold, so the timer retries soon.
 */

import { AssertionError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Instant } from '../domain/booking.ts'
import { JournalError } from '../journal/journal-error.ts'
import { FailingHolds } from './failing-holds.ts'
import type { LapsedHold } from './lapsed-hold.ts'
import { MailboxFullError } from './unit-actor.ts'

/** Where holds are found and ended. */
export interface HoldBook {
  /** The longest overdue first, ties by id. Only those that come after `after` in this order; all when it is null. */
  lapsed(at: Instant, after: LapsedHold | null, limit: number): Promise<readonly LapsedHold[]>
  /** When the first hold that has not lapsed at `at` does; null when there is none. */
  nextExpiry(at: Instant): Promise<Instant | null>
  expire(hold: LapsedHold): Promise<void>
  /** Whether the error of `expire` comes from the database's present state, not from anything that is stored. */
  mayPass(error: unknown): boolean
}

/** Called when something goes wrong. */
export interface HoldTimerWatch {
  /** The holds could not be read, or the journal accepted none of their releases. Retried soon. */
  onFailure(error: unknown): void
  /** A hold could not be released. Called for the first one of each unit. */
  onHoldFailure(hold: LapsedHold, error: unknown): void
  /** A broken invariant: the process must end. The timer has stopped. */
  onBug(error: AssertionError): void
}

/** The wall clock may jump, so it is looked at again at least this often. */
const LOOK_AGAIN_MS = 10_000
const AFTER_FAILURE_MS = 500
const LAPSED_PER_PAGE = 100

export class HoldTimer {
  readonly #book: HoldBook
  readonly #clock: Clock
  readonly #watch: HoldTimerWatch
  readonly #failing = new FailingHolds()
  #callOff: (() => void) | null = null
  /** When the armed timer fires. */
  #armedFor: Instant = Number.POSITIVE_INFINITY
  #round: Promise<void> | null = null
  /** The round looks for holds that have expired at this time. */
  #roundAt: Instant = 0
  /** The earliest expiry told of while a round ran: its own look at the database may have been too early for it. */
  #toldOf: Instant = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(options: { book: HoldBook; clock: Clock; watch: HoldTimerWatch }) {
    this.#book = options.book
    this.#clock = options.clock
    this.#watch = options.watch
  }

  /** Expired holds that could not be released at the last attempt. */
  get failing(): number {
    return this.#failing.size
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
    const next = await this.#nextAfterRound()
    this.#round = null
    this.#arm(Math.min(next, this.#toldOf))
    this.#toldOf = Number.POSITIVE_INFINITY
  }

  /** Releases what has expired and returns when to look again. */
  async #nextAfterRound(): Promise<Instant> {
    try {
      const journalFailure = await this.#endLapsed()
      const next = await this.#nextLook()
      if (journalFailure === null) return next
      this.#watch.onFailure(journalFailure)
      return Math.min(next, this.#clock.now() + AFTER_FAILURE_MS)
    } catch (error) {
      if (error instanceof AssertionError) {
        this.#stopped = true
        this.#watch.onBug(error)
      } else {
        this.#watch.onFailure(error)
      }
    }
    return this.#clock.now() + AFTER_FAILURE_MS
  }

  /** The failure of the journal; null when it accepted everything. */
  async #endLapsed(): Promise<unknown> {
    this.#roundAt = this.#clock.now()
    let journalFailure: unknown = null
    let last: LapsedHold | null = null
    for (;;) {
      const page: readonly LapsedHold[] = await this.#book.lapsed(this.#roundAt, last, LAPSED_PER_PAGE)
      journalFailure = (await this.#endPage(page)) ?? journalFailure
      last = page.at(-1) ?? null
      if (this.#stopped) return journalFailure
      if (page.length < LAPSED_PER_PAGE) break
    }
    this.#failing.endRound()
    return journalFailure
  }

  async #endPage(page: readonly LapsedHold[]): Promise<unknown> {
    const nowMs = this.#clock.monotonicMs()
    const due = page.filter((hold) => !this.#failing.isResting(hold, nowMs))
    const results = await Promise.allSettled(due.map((hold) => this.#book.expire(hold)))
    const bug = results.find((result) => result.status === 'rejected' && result.reason instanceof AssertionError)
    if (bug?.status === 'rejected') throw bug.reason
    let journalFailure: unknown = null
    for (const [i, result] of results.entries()) {
      const hold = due[i] as LapsedHold
      if (result.status === 'fulfilled') this.#failing.ended(hold.bookingId)
      else if (this.#isOfTheMoment(result.reason) && !this.#failing.has(hold)) journalFailure = result.reason
      else if (this.#failing.putAside(hold, this.#clock.monotonicMs())) this.#watch.onHoldFailure(hold, result.reason)
    }
    return journalFailure
  }

  /** Whether neither the hold nor what is stored of its unit is the cause: it passes when the database is back. */
  #isOfTheMoment(error: unknown): boolean {
    if (error instanceof JournalError) return error.kind !== 'poisoned'
    return error instanceof MailboxFullError || this.#book.mayPass(error)
  }

  /** Everything that had expired in this round is released or rests: wait for the next expiry or the next retry. */
  async #nextLook(): Promise<Instant> {
    const expiry = (await this.#book.nextExpiry(this.#roundAt)) ?? this.#clock.now() + LOOK_AGAIN_MS
    const retryMs = this.#failing.nextRetryMs
    if (retryMs === null) return expiry
    return Math.min(expiry, this.#clock.now() + retryMs - this.#clock.monotonicMs())
  }
}
