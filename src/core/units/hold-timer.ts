/**
 * Releases holds when they expire, whether or not their unit is resident: Postgres knows when the next hold expires,
 * and one timer waits for it. A hold is never released early; after a restart, overdue holds are released at once.
 *
 * A hold that cannot be released (its unit's journal is damaged, or the database rejects its record) is retried after a
 * delay and does not delay the others. A failure of the whole journal is not the fault of any hold, so the timer
 * retries soon.
 */

import { AssertionError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { Instant } from '../domain/booking.ts'
import { JournalError } from '../journal/journal-error.ts'
import { MailboxFullError } from './unit-actor.ts'

/** A hold that has expired. */
export interface ExpiredHold {
  readonly agencyId: string
  readonly unitId: string
  readonly bookingId: string
  /**
   * When it expired, with the full precision of the store. Together with the id it is the position in the store's
   * order.
   */
  readonly expiry: string
}

/** Delay before the next attempt after the first, second, … failure of a hold; the last delay repeats. */
export const HOLD_RETRY_DELAYS_MS = [
  500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000,
] as const

/** Failing holds remembered. Any others have no delay: they are retried in every round. */
export const FAILING_HOLDS_MAX = 10_000

interface Failing {
  readonly unitId: string
  failures: number
  retryAtMs: number
  /** The last round in which the hold still existed. */
  round: number
}

/**
 * Holds that could not be released because of the hold itself or its unit. Each is retried on its own schedule. All times are monotonic
 * milliseconds.
 */
export class FailingHolds {
  readonly #holds = new Map<string, Failing>()
  /** Number of failing holds per unit. */
  readonly #perUnit = new Counts<string>()
  #round = 0

  get size(): number {
    return this.#holds.size
  }

  /** When the next retry is due; null when there is none. */
  get nextRetryMs(): number | null {
    let next: number | null = null
    for (const { retryAtMs } of this.#holds.values()) next = Math.min(next ?? retryAtMs, retryAtMs)
    return next
  }

  has({ bookingId }: ExpiredHold): boolean {
    return this.#holds.has(bookingId)
  }

  /** Whether to skip the hold for now. If so, notes that it still exists. */
  isBackingOff({ bookingId }: ExpiredHold, nowMs: number): boolean {
    const failing = this.#holds.get(bookingId)
    if (failing === undefined) return false
    failing.round = this.#round
    return nowMs < failing.retryAtMs
  }

  /**
   * Schedules a retry of the hold, after a longer delay each time. True for the first failing hold of its unit: only
   * that one is reported.
   */
  backOff({ bookingId, unitId }: ExpiredHold, nowMs: number): boolean {
    const known = this.#holds.get(bookingId)
    if (known === undefined && this.#holds.size >= FAILING_HOLDS_MAX) return false
    const failing = known ?? { unitId, failures: 0, retryAtMs: 0, round: this.#round }
    failing.retryAtMs = nowMs + delayAfter(failing.failures)
    failing.failures += 1
    if (known !== undefined) return false
    this.#holds.set(bookingId, failing)
    return this.#perUnit.add(unitId) === 1
  }

  remove(bookingId: string): void {
    const failing = this.#holds.get(bookingId)
    if (failing === undefined) return
    this.#holds.delete(bookingId)
    this.#perUnit.add(failing.unitId, -1)
  }

  /**
   * Call it when every expired hold was seen. Forgets the holds that were not among them: something else has released
   * them.
   */
  endRound(): void {
    for (const [bookingId, { round }] of this.#holds) if (round !== this.#round) this.remove(bookingId)
    this.#round += 1
  }
}

function delayAfter(failures: number): number {
  return HOLD_RETRY_DELAYS_MS[Math.min(failures, HOLD_RETRY_DELAYS_MS.length - 1)] as number
}

/** The port behind the timer: finds and releases expired holds. */
interface Holds {
  /**
   * Holds that have expired at `at`, the longest overdue first, ties by id. Only those after `after` in this order; all
   * when it is null.
   */
  expired(at: Instant, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]>
  /** The earliest expiry after `at`; null when there is none. */
  nextExpiry(at: Instant): Promise<Instant | null>
  expire(hold: ExpiredHold): Promise<void>
  /** Whether an error of `expire` is caused by the current state of the database, and not by anything stored. */
  isTransient(error: unknown): boolean
}

/** Failures the timer reports. */
interface HoldTimerWatch {
  /** The holds could not be read, or the journal accepted none of the releases. Retried soon. */
  onFailure(error: unknown): void
  /** A hold could not be released. Called for the first one of each unit. */
  onHoldFailure(hold: ExpiredHold, error: unknown): void
  /** An invariant is broken: the process must end. The timer has stopped. */
  onBug(error: AssertionError): void
}

/**
 * Whether the failure to release a hold is caused neither by the hold nor by the stored data of its unit, so that it passes when the
 * database is back.
 * @param isTransient the same of an error of the database
 */
export function isTransientFailure(error: unknown, isTransient: (error: unknown) => boolean): boolean {
  if (error instanceof JournalError) return error.kind !== 'poisoned'
  return error instanceof MailboxFullError || isTransient(error)
}

/** The wall clock may jump, so it is checked at least this often. */
const LOOK_AGAIN_MS = 10_000
const AFTER_FAILURE_MS = 500
const EXPIRED_PER_PAGE = 100

export class HoldTimer {
  readonly #holds: Holds
  readonly #clock: Clock
  readonly #watch: HoldTimerWatch
  readonly #failing = new FailingHolds()
  #cancel: (() => void) | null = null
  /** When the armed timer fires. */
  #armedFor: Instant = Number.POSITIVE_INFINITY
  #round: Promise<void> | null = null
  /** The current round looks for holds that have expired by this time. */
  #roundAt: Instant = 0
  /** The earliest expiry announced during a round, whose own query may have been too early to see it. */
  #announcedExpiry: Instant = Number.POSITIVE_INFINITY
  #stopped = false

  constructor(options: { holds: Holds; clock: Clock; watch: HoldTimerWatch }) {
    this.#holds = options.holds
    this.#clock = options.clock
    this.#watch = options.watch
  }

  /** Expired holds whose last release failed. */
  get failing(): number {
    return this.#failing.size
  }

  start(): void {
    this.#arm(this.#clock.now())
  }

  /** Announces a hold that may expire before those the timer knows of. */
  expectExpiry(at: Instant): void {
    if (this.#round !== null) this.#announcedExpiry = Math.min(this.#announcedExpiry, at)
    else if (at < this.#armedFor) this.#arm(at)
  }

  /** Waits for the current round, then releases nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#round
  }

  #arm(at: Instant): void {
    if (this.#stopped) return
    this.#cancel?.()
    const wait = Math.min(Math.max(0, at - this.#clock.now()), LOOK_AGAIN_MS)
    this.#armedFor = at
    this.#cancel = this.#clock.after(wait, () => {
      this.#round = this.#runRound()
    })
  }

  async #runRound(): Promise<void> {
    const next = await this.#nextAfterRound()
    this.#round = null
    this.#arm(Math.min(next, this.#announcedExpiry))
    this.#announcedExpiry = Number.POSITIVE_INFINITY
  }

  /** Releases expired holds and returns when to look again. */
  async #nextAfterRound(): Promise<Instant> {
    try {
      const journalFailure = await this.#releaseExpired()
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

  /** Returns the failure of the journal; null when it accepted everything. */
  async #releaseExpired(): Promise<unknown> {
    this.#roundAt = this.#clock.now()
    let journalFailure: unknown = null
    let last: ExpiredHold | null = null
    for (;;) {
      const page: readonly ExpiredHold[] = await this.#holds.expired(this.#roundAt, last, EXPIRED_PER_PAGE)
      journalFailure = (await this.#releasePage(page)) ?? journalFailure
      last = page.at(-1) ?? null
      if (this.#stopped) return journalFailure
      if (page.length < EXPIRED_PER_PAGE) break
    }
    this.#failing.endRound()
    return journalFailure
  }

  async #releasePage(page: readonly ExpiredHold[]): Promise<unknown> {
    const nowMs = this.#clock.monotonicMs()
    const due = page.filter((hold) => !this.#failing.isBackingOff(hold, nowMs))
    const results = await Promise.allSettled(due.map((hold) => this.#holds.expire(hold)))
    const bug = results.find((result) => result.status === 'rejected' && result.reason instanceof AssertionError)
    if (bug?.status === 'rejected') throw bug.reason
    let journalFailure: unknown = null
    for (const [i, result] of results.entries()) {
      const hold = due[i] as ExpiredHold
      if (result.status === 'fulfilled') this.#failing.remove(hold.bookingId)
      else if (isTransientFailure(result.reason, this.#holds.isTransient) && !this.#failing.has(hold))
        journalFailure = result.reason
      else if (this.#failing.backOff(hold, this.#clock.monotonicMs())) this.#watch.onHoldFailure(hold, result.reason)
    }
    return journalFailure
  }

  /**
   * Every hold that had expired in this round is released or waits for its retry: returns the earlier of the next
   * expiry and the next retry.
   */
  async #nextLook(): Promise<Instant> {
    const expiry = (await this.#holds.nextExpiry(this.#roundAt)) ?? this.#clock.now() + LOOK_AGAIN_MS
    const retryMs = this.#failing.nextRetryMs
    if (retryMs === null) return expiry
    return Math.min(expiry, this.#clock.now() + retryMs - this.#clock.monotonicMs())
  }
}
