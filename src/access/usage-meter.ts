import type { ApiKey } from '../core/catalogue/agency.ts'
import type { Clock } from '../lib/clock.ts'
import { type CalendarMonth, calendarMonthAt } from './calendar-month.ts'
import { COUNTERS_FLUSH_MS, FlushTimer } from './flush-timer.ts'
import type { KeyCounters, MonthCounter } from './key-counters.ts'
import { type KeyUse, KeyUses } from './key-uses.ts'

/** What an agency has used of a month, all its keys together. */
export interface MonthUsed {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far. The highest value is kept. */
  readonly used: number
}

export interface UsageDraft extends MonthUsed {
  readonly agencyId: string
}

export interface UsageDecision {
  readonly allowed: boolean
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far, including this one if it was allowed. */
  readonly used: number
  readonly quota: number
  readonly remaining: number
  /** ISO 8601: the 1st of the next month, 00:00 UTC. */
  readonly resetsAt: string
  /** Whole seconds until `resetsAt`, rounded up; 0 while something remains. */
  readonly retryAfterS: number
}

/** Counters, and uses of keys, per write. */
const WRITE_MAX = 1_000

/**
 * What each agency has used of its monthly quota, over all its keys, in the current calendar month in UTC
 * (docs/contract.md#limits). Counting is synchronous, so concurrent requests cannot both use the last remaining one. The
 * values written are totals, of which the database keeps the highest, so writing one twice, or late, does no harm. When each key was last
 * used is written with them.
 *
 * Two months are kept in memory: the current one, and the previous one in case the wall clock is set back across
 * midnight. An agency that has been idle for a month is therefore no longer in memory.
 */
export class UsageMeter {
  readonly #clock: Clock
  readonly #persist: (usage: UsageDraft[], uses: readonly KeyUse[]) => Promise<void>
  readonly #timer: FlushTimer
  readonly #dirty = new Set<MonthCounter>()
  readonly #uses = new KeyUses()
  #month: CalendarMonth
  #counters = new Map<string, MonthCounter>()
  /** By month, including the current one. */
  readonly #months = new Map<string, Map<string, MonthCounter>>()

  constructor(options: {
    clock: Clock
    /** Makes totals, and uses of keys, durable. */
    persist: (usage: UsageDraft[], uses: readonly KeyUse[]) => Promise<void>
    onFailure: (error: unknown) => void
  }) {
    this.#clock = options.clock
    this.#persist = options.persist
    this.#timer = new FlushTimer({
      flushed: { isDirty: () => this.#dirty.size + this.#uses.size > 0, write: () => this.#write() },
      clock: options.clock,
      everyMs: COUNTERS_FLUSH_MS,
      onFailure: options.onFailure,
    })
    this.#month = calendarMonthAt(options.clock.now())
    this.#months.set(this.#month.name, this.#counters)
  }

  /** Loads the counts of earlier processes. Call it at start, before the first request. */
  load(rows: Iterable<UsageDraft>): void {
    for (const { agencyId, month, used } of rows) {
      const counters = this.#months.get(month) ?? new Map<string, MonthCounter>()
      this.#months.set(month, counters)
      const counter = counters.get(agencyId)
      if (counter === undefined) counters.set(agencyId, { agencyId, month, used, isDirty: false })
      else counter.used = Math.max(counter.used, used)
    }
  }

  /**
   * Decides on one request, and counts it if it passes. A refused request is not counted (docs/design.md#order-of-checks).
   * @param key then used last
   */
  take(agencyId: string, quota: number, kept: KeyCounters | null = null, key: ApiKey | null = null): UsageDecision {
    const now = this.#advanceTo(this.#clock.now())
    const counter = kept === null ? this.#counterOf(agencyId) : this.#keptCounter(agencyId, kept)
    const allowed = counter.used < quota
    if (allowed) {
      counter.used += 1
      if (!counter.isDirty) {
        counter.isDirty = true
        this.#dirty.add(counter)
        this.#timer.wake()
      }
      if (key !== null) this.#uses.note(key, now)
    }
    return this.#decision(allowed, counter.used, quota, now)
  }

  /**
   * Takes back a request that `take` has just counted, because it is refused with 429 after all. A total that was written in between
   * stays in the database until the agency's requests have exceeded it.
   */
  giveBack(agencyId: string): void {
    this.#advanceTo(this.#clock.now())
    const counter = this.#counters.get(agencyId)
    if (counter !== undefined && counter.used > 0) counter.used -= 1
  }

  /** The current usage of the agency, without counting a request. `allowed`: whether a request would pass now. */
  position(agencyId: string, quota: number): UsageDecision {
    const now = this.#advanceTo(this.#clock.now())
    const used = this.#counters.get(agencyId)?.used ?? 0
    return this.#decision(used < quota, used, quota, now)
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; the counters stay dirty and are retried
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean shutdown, before the journal is closed.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
  }

  #keptCounter(agencyId: string, kept: KeyCounters): MonthCounter {
    if (kept.month !== null && kept.months === this.#counters) return kept.month
    kept.month = this.#counterOf(agencyId)
    kept.months = this.#counters
    return kept.month
  }

  #counterOf(agencyId: string): MonthCounter {
    const known = this.#counters.get(agencyId)
    if (known !== undefined) return known
    const counter = { agencyId, month: this.#month.name, used: 0, isDirty: false }
    this.#counters.set(agencyId, counter)
    return counter
  }

  #decision(allowed: boolean, used: number, quota: number, now: number): UsageDecision {
    const remaining = Math.max(0, quota - used)
    return {
      allowed,
      month: this.#month.name,
      used,
      quota,
      remaining,
      resetsAt: this.#month.endsIso,
      retryAfterS: remaining > 0 ? 0 : Math.ceil((this.#month.ends - now) / 1_000),
    }
  }

  /** Makes the month of `now` the current one. */
  #advanceTo(now: number): number {
    if (now >= this.#month.begins && now < this.#month.ends) return now
    const left = this.#month.name
    this.#month = calendarMonthAt(now)
    this.#counters = this.#months.get(this.#month.name) ?? new Map()
    this.#months.set(this.#month.name, this.#counters)
    // Dirty counters of a dropped month stay in #dirty until they are written.
    for (const month of this.#months.keys()) {
      if (month < left && month < this.#month.name) this.#months.delete(month)
    }
    return now
  }

  async #write(): Promise<void> {
    const dirty = [...this.#dirty]
    const unwritten = this.#uses.unwritten()
    for (let from = 0; from < Math.max(dirty.length, unwritten.length); from += WRITE_MAX) {
      const counters = dirty.slice(from, from + WRITE_MAX)
      const uses = unwritten.slice(from, from + WRITE_MAX)
      const usage = counters.map(({ agencyId, month, used }) => ({ agencyId, month, used }))
      await this.#persist(usage, uses)
      this.#uses.written(uses)
      counters.forEach((counter, i) => {
        if (counter.used !== usage[i]?.used) return
        counter.isDirty = false
        this.#dirty.delete(counter)
      })
    }
  }
}
