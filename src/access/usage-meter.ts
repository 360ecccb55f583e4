import type { Clock } from '../lib/clock.ts'
import { type CalendarMonth, calendarMonthAt } from './calendar-month.ts'
import { COUNTERS_FLUSH_MS, FlushTimer } from './flush-timer.ts'

/** What an agency has used of a month, all its keys together. */
export interface MonthUsed {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far; the highest is kept. */
  readonly used: number
}

export interface UsageDraft extends MonthUsed {
  readonly agencyId: string
}

export interface UsageDecision {
  readonly allowed: boolean
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far, this one included if it was allowed. */
  readonly used: number
  readonly quota: number
  readonly remaining: number
  /** ISO 8601: the 1st of the next month, 00:00 UTC. */
  readonly resetsAt: string
  /** Whole seconds until `resetsAt`, rounded up; 0 while something remains. */
  readonly retryAfterS: number
}

interface Counter {
  readonly agencyId: string
  readonly month: string
  used: number
}

/** Counters in one write. */
const WRITE_MAX = 1_000

/**
 * What each agency has used of its monthly quota, all keys together, in the calendar month in UTC (contract, Limits).
 * Counting is synchronous, so requests that arrive together cannot pass on the same last place. What is written are
 * totals, of which the database keeps the highest: writing one twice, or late, does no harm.
 *
 * Two months are held: the current one, and the one before it in case the wall clock is set back over midnight. So an
 * agency that is idle for a month is gone from memory.
 */
export class UsageMeter {
  readonly #clock: Clock
  readonly #persist: (usage: UsageDraft[]) => Promise<void>
  readonly #timer: FlushTimer
  readonly #dirty = new Set<Counter>()
  #month: CalendarMonth
  #counters = new Map<string, Counter>()
  /** By month; the current one too. */
  readonly #months = new Map<string, Map<string, Counter>>()

  constructor(options: {
    clock: Clock
    /** Makes totals durable: the journal. */
    persist: (usage: UsageDraft[]) => Promise<void>
    onFailure: (error: unknown) => void
  }) {
    this.#clock = options.clock
    this.#persist = options.persist
    this.#timer = new FlushTimer({
      flushed: { isDirty: () => this.#dirty.size > 0, write: () => this.#write() },
      clock: options.clock,
      everyMs: COUNTERS_FLUSH_MS,
      onFailure: options.onFailure,
    })
    this.#month = calendarMonthAt(options.clock.now())
    this.#months.set(this.#month.name, this.#counters)
  }

  /** Takes over what earlier processes have counted; at start, before the first request. */
  load(rows: Iterable<UsageDraft>): void {
    for (const { agencyId, month, used } of rows) {
      const counters = this.#months.get(month) ?? new Map<string, Counter>()
      this.#months.set(month, counters)
      const counter = counters.get(agencyId)
      if (counter === undefined) counters.set(agencyId, { agencyId, month, used })
      else counter.used = Math.max(counter.used, used)
    }
  }

  /** Decides on one request, and counts it if it passes: a refused one costs nothing (design, Order of checks). */
  take(agencyId: string, quota: number): UsageDecision {
    const now = this.#turnTo(this.#clock.now())
    let counter = this.#counters.get(agencyId)
    if (counter === undefined) {
      counter = { agencyId, month: this.#month.name, used: 0 }
      this.#counters.set(agencyId, counter)
    }
    const allowed = counter.used < quota
    if (allowed) {
      counter.used += 1
      this.#dirty.add(counter)
      this.#timer.wake()
    }
    return this.#decision(allowed, counter.used, quota, now)
  }

  /** Where the agency stands, without counting. `allowed`: whether a request would pass now. */
  position(agencyId: string, quota: number): UsageDecision {
    const now = this.#turnTo(this.#clock.now())
    const used = this.#counters.get(agencyId)?.used ?? 0
    return this.#decision(used < quota, used, quota, now)
  }

  /**
   * Makes everything counted so far durable.
   * @throws what `persist` threw; the counters stay dirty and are tried again
   */
  flush(): Promise<void> {
    return this.#timer.flush()
  }

  /**
   * The last flush, for a clean end: before the journal is closed.
   * @throws what `persist` threw
   */
  stop(): Promise<void> {
    return this.#timer.stop()
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
  #turnTo(now: number): number {
    if (now >= this.#month.begins && now < this.#month.ends) return now
    const left = this.#month.name
    this.#month = calendarMonthAt(now)
    this.#counters = this.#months.get(this.#month.name) ?? new Map()
    this.#months.set(this.#month.name, this.#counters)
    // What is dirty of a dropped month is held by #dirty until it is written.
    for (const month of this.#months.keys()) {
      if (month < left && month < this.#month.name) this.#months.delete(month)
    }
    return now
  }

  async #write(): Promise<void> {
    const dirty = [...this.#dirty]
    for (let from = 0; from < dirty.length; from += WRITE_MAX) {
      const counters = dirty.slice(from, from + WRITE_MAX)
      const usage = counters.map(({ agencyId, month, used }) => ({ agencyId, month, used }))
      await this.#persist(usage)
      counters.forEach((counter, i) => {
        if (counter.used === usage[i]?.used) this.#dirty.delete(counter)
      })
    }
  }
}
