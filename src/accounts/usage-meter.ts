import type { ApiKey } from '../core/catalogue/agency.ts'
import { type Clock, MINUTE_MS } from '../lib/clock.ts'
import { type CalendarDay, type CalendarMonth, calendarDayAt, calendarMonthAt } from './calendar-periods.ts'
import { COUNTERS_FLUSH_MS, FlushTimer } from './flush-timer.ts'
import type { KeyCounters, MonthCounter } from './rate-limit.ts'

/** What an agency has used of a month, all its keys together. */
export interface MonthUsed {
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far. The highest value is kept. */
  readonly used: number
}

export interface UsageDraft extends MonthUsed {
  readonly agencyId: string
  /** `YYYY-MM-DD`, UTC: the day of the last of these requests. Left out: the days of the month are not known. */
  readonly day?: string
}

/** What an agency has used on a day, all its keys together. */
export interface DayUsed {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly used: number
  /** Requests of the month when the day ended. */
  readonly total: number
}

interface UsageDecision {
  readonly allowed: boolean
  /** `YYYY-MM`, UTC. */
  readonly month: string
  /** Requests of the month so far, including this one if it was allowed. */
  readonly used: number
  readonly quota: number
  readonly remaining: number
  /** ISO 8601: the 1st of the next month, 00:00 UTC. */
  readonly resetsAt: string
  /** Whole seconds until `resetsAt`, rounded up; 0 if the request was allowed and some of the quota remains. */
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
 * A total is written with its day, which is how requests are counted by day: no counter of its own, the difference of two totals. At
 * midnight UTC what is not yet written becomes a total of the day that has ended, before the first request of the new day is counted. So
 * no request is counted on another day than that of the wall clock when it passed.
 *
 * Two months are kept in memory: the current one, and the previous one in case the wall clock is set back across
 * midnight. An agency that has been idle for a month is therefore no longer in memory.
 */
export class UsageMeter {
  readonly #clock: Clock
  readonly #persist: (usage: UsageDraft[], uses: readonly KeyUse[]) => Promise<void>
  readonly #timer: FlushTimer
  /** All of the current day. */
  readonly #dirty = new Set<MonthCounter>()
  /** Totals at the end of earlier days, still to be written. */
  readonly #ended = new Set<UsageDraft>()
  readonly #uses = new KeyUses()
  #day: CalendarDay
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
      flushed: { isDirty: () => this.#dirty.size + this.#ended.size + this.#uses.size > 0, write: () => this.#write() },
      clock: options.clock,
      everyMs: COUNTERS_FLUSH_MS,
      onFailure: options.onFailure,
    })
    const now = options.clock.now()
    this.#day = calendarDayAt(now)
    this.#month = calendarMonthAt(now)
    this.#months.set(this.#month.name, this.#counters)
  }

  /** Loads the counts of earlier processes. Call it at start, before the first request. */
  load(rows: Iterable<UsageDraft>): void {
    for (const { agencyId, month, used } of rows) {
      const counters = this.#months.get(month) ?? new Map<string, MonthCounter>()
      this.#months.set(month, counters)
      const counter = counters.get(agencyId)
      if (counter === undefined) counters.set(agencyId, { agencyId, month, used, isDirty: false, day: '' })
      else counter.used = Math.max(counter.used, used)
    }
  }

  /** Another process counts for these agencies now. What is not yet written of them is lost, as it is in a crash. */
  forget(isIncluded: (agencyId: string) => boolean): void {
    for (const counters of this.#months.values())
      for (const agencyId of counters.keys()) if (isIncluded(agencyId)) counters.delete(agencyId)
    // A request that was admitted before may still have its counter, which is then never written: it stays marked as dirty.
    for (const counter of this.#dirty) if (isIncluded(counter.agencyId)) this.#dirty.delete(counter)
    for (const draft of this.#ended) if (isIncluded(draft.agencyId)) this.#ended.delete(draft)
    this.#uses.forget(isIncluded)
  }

  /**
   * Decides on one request, and counts it if it passes. A refused request is not counted (docs/design.md#order-of-checks).
   * @param key then used last
   * @param requests how many it counts as: all of them pass, or none
   */
  take(
    agencyId: string,
    quota: number,
    kept: KeyCounters | null = null,
    key: ApiKey | null = null,
    requests = 1,
  ): UsageDecision {
    const now = this.#advanceTo(this.#clock.now())
    const counter = kept === null ? this.#counterOf(agencyId) : this.#keptCounter(agencyId, kept)
    const allowed = counter.used + requests <= quota
    if (allowed) {
      this.#count(counter, requests)
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

  /** What an agency has used of the month counts for another one, which has taken its place. */
  carryOver(fromId: string, toId: string): void {
    this.#advanceTo(this.#clock.now())
    const used = this.#counters.get(fromId)?.used ?? 0
    if (used > 0) this.#count(this.#counterOf(toId), used)
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

  #count(counter: MonthCounter, requests: number): void {
    counter.used += requests
    if (counter.isDirty) return
    counter.isDirty = true
    counter.day = this.#day.name
    this.#dirty.add(counter)
    this.#timer.wake()
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
    const counter = { agencyId, month: this.#month.name, used: 0, isDirty: false, day: '' }
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
      retryAfterS: allowed && remaining > 0 ? 0 : Math.ceil((this.#month.ends - now) / 1_000),
    }
  }

  /** Makes the day and the month of `now` the current ones. */
  #advanceTo(now: number): number {
    if (now >= this.#day.begins && now < this.#day.ends) return now
    this.#endDay()
    this.#day = calendarDayAt(now)
    if (now >= this.#month.begins && now < this.#month.ends) return now
    const left = this.#month.name
    this.#month = calendarMonthAt(now)
    this.#counters = this.#months.get(this.#month.name) ?? new Map()
    this.#months.set(this.#month.name, this.#counters)
    for (const month of this.#months.keys()) {
      if (month < left && month < this.#month.name) this.#months.delete(month)
    }
    return now
  }

  #endDay(): void {
    for (const counter of this.#dirty) {
      this.#ended.add(draftOf(counter))
      counter.isDirty = false
    }
    this.#dirty.clear()
  }

  /** Days that have ended come first, as the database expects. So the totals are read now: a day may end between two parts. */
  async #write(): Promise<void> {
    const counterOf = new Map([...this.#dirty].map((counter) => [draftOf(counter), counter]))
    const drafts = [...this.#ended, ...counterOf.keys()]
    const unwritten = this.#uses.unwritten()
    for (let from = 0; from < Math.max(drafts.length, unwritten.length); from += WRITE_MAX) {
      const usage = drafts.slice(from, from + WRITE_MAX)
      const uses = unwritten.slice(from, from + WRITE_MAX)
      await this.#persist(usage, uses)
      this.#uses.written(uses)
      for (const draft of usage) this.#written(draft, counterOf.get(draft))
    }
  }

  /** @param counter undefined: the draft is of a day that has ended */
  #written(draft: UsageDraft, counter: MonthCounter | undefined): void {
    this.#ended.delete(draft)
    // It may have been counted since, or its day may have ended.
    if (counter === undefined || counter.used !== draft.used || counter.day !== draft.day) return
    counter.isDirty = false
    this.#dirty.delete(counter)
  }
}

function draftOf({ agencyId, month, used, day }: MonthCounter): UsageDraft {
  return { agencyId, month, used, day }
}

export interface KeyUse {
  readonly agencyId: string
  readonly keyId: string
  /** The start of a minute, wall clock, ms. */
  readonly usedAt: number
}

/**
 * When keys were last used, to the minute: noting a request is a comparison or two, but for the first of a minute. Of each key the latest use
 * is in memory, with the key (`ApiKey.lastUsedAt`); here are those that are still to be written.
 */
class KeyUses {
  readonly #unwritten = new Map<string, KeyUse>()

  /** @param now wall clock, ms */
  note(key: ApiKey, now: number): void {
    const { lastUsedAt } = key
    // No remainder of a division: that would cost as much as counting the request.
    if (lastUsedAt !== null && now >= lastUsedAt && now < lastUsedAt + MINUTE_MS) return
    const usedAt = now - (now % MINUTE_MS)
    key.lastUsedAt = usedAt
    this.#unwritten.set(key.id, { agencyId: key.agencyId, keyId: key.id, usedAt })
  }

  get size(): number {
    return this.#unwritten.size
  }

  unwritten(): readonly KeyUse[] {
    return [...this.#unwritten.values()]
  }

  forget(isIncluded: (agencyId: string) => boolean): void {
    for (const { agencyId, keyId } of this.#unwritten.values()) if (isIncluded(agencyId)) this.#unwritten.delete(keyId)
  }

  written(uses: readonly KeyUse[]): void {
    for (const use of uses) if (this.#unwritten.get(use.keyId) === use) this.#unwritten.delete(use.keyId)
  }
}
