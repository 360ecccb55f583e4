import { assert } from '../lib/assert.ts'
import { type Clock, MINUTE_MS } from '../lib/clock.ts'

export interface RateDecision {
  readonly allowed: boolean
  /** Requests per rolling minute. */
  readonly limit: number
  /** How many more requests would pass now. */
  readonly remaining: number
  /** When the oldest counted request leaves the rolling minute: wall clock, Unix seconds, rounded up. */
  readonly resetAtS: number
  /**
   * Whole seconds until the next request would pass (or as many requests as were refused), if the key is not used meanwhile; 0: now.
   * Later than `resetAtS` only after the plan's limit was lowered, because more than one request must then leave the
   * window.
   */
  readonly retryAfterS: number
}

/** Requests of one key that an earlier process admitted. */
export interface AdmittedRequests {
  readonly keyId: string
  readonly requests: number
  /** Milliseconds since the last of them; never too high. */
  readonly ageMs: number
}

/** Who keeps what was admitted, so that a restart does not forget it (RateSlots). */
interface AdmittedCounter {
  /** Called for every admitted request, so it must be cheap. `atMs`: monotonic. */
  count(keyId: string, atMs: number, kept: KeyCounters | null): void
}

const NOBODY: AdmittedCounter = { count: () => {} }

/**
 * The budget of requests per key and rolling minute (docs/contract.md#limits), shared by REST and MCP. In any 60 s of the
 * monotonic clock at most `limit` requests pass; refused ones do not count. Synchronous, so concurrent requests cannot
 * both use the last remaining one.
 *
 * Keys are kept in two generations. A key is looked up in the younger one, and moved there from the older one. When the
 * younger generation is one window old it becomes the older one, and the previous older one is dropped as a whole,
 * because nothing in it can count any more. An idle key is therefore gone within two minutes of the use of any key,
 * without a sweep over the active ones.
 */
export class RateLimiter {
  readonly #clock: Clock
  #counter = NOBODY
  #young = new Map<string, RollingMinute>()
  #old = new Map<string, RollingMinute>()
  /** When the young generation started, monotonic milliseconds. */
  #youngSince: number
  /** Of the young one; from 1. */
  #generation = 1

  constructor(clock: Clock) {
    this.#clock = clock
    this.#youngSince = Math.floor(clock.monotonicMs())
  }

  /** From now on, `counter` keeps what is admitted. */
  keepIn(counter: AdmittedCounter): void {
    this.#counter = counter
  }

  /** Keys in memory. */
  get keyCount(): number {
    return this.#young.size + this.#old.size
  }

  /** What was counted of these keys is counted elsewhere now, or is restored. */
  forget(keyIds: Iterable<string>): void {
    for (const keyId of keyIds) {
      this.#young.delete(keyId)
      this.#old.delete(keyId)
    }
  }

  /** Restores the counts of earlier processes. Call it before the first request of these keys. */
  restore(passed: readonly AdmittedRequests[]): void {
    const precise = this.#clock.monotonicMs()
    for (const { keyId, requests, ageMs } of passed.toSorted((a, b) => b.ageMs - a.ageMs)) {
      if (ageMs < WINDOW_MS) this.#minuteOf(keyId).count(Math.ceil(precise - ageMs), requests)
    }
  }

  /**
   * Decides on one request, and counts it if it passes.
   * @param limit requests per minute, an integer from 1; may differ from call to call (the plan was changed)
   * @param kept the key's own, or null
   * @param requests how many it counts as, at most `limit`: all of them pass, or none
   */
  take(keyId: string, limit: number, kept: KeyCounters | null = null, requests = 1): RateDecision {
    assert(Number.isInteger(limit) && limit >= 1, 'Cannot limit requests: the limit is not a whole number from 1')
    const precise = this.#clock.monotonicMs()
    const nowMs = Math.floor(precise)
    this.#rotate(nowMs)

    const minute = kept === null ? this.#minuteOf(keyId) : this.#keptMinute(keyId, kept)
    minute.forget(nowMs)
    const allowed = minute.counted + requests <= limit
    // A request is stamped with the end of its millisecond and compared with the start of the current one: exact to the
    // millisecond, and never in the caller's favor.
    if (allowed) {
      minute.count(Math.ceil(precise), requests)
      for (let i = 0; i < requests; i++) this.#counter.count(keyId, precise, kept)
    }

    const remaining = Math.max(0, limit - minute.counted)
    const over = minute.counted - limit + (allowed ? 1 : requests)
    const waitMs = over <= 0 ? 0 : minute.leavesAt(over) - nowMs
    return {
      allowed,
      limit,
      remaining,
      resetAtS: Math.ceil((this.#clock.now() + minute.leavesAt(1) - nowMs) / 1_000),
      retryAfterS: Math.ceil(waitMs / 1_000),
    }
  }

  /** Whole seconds after which a request of the key would pass; 0: it would pass now. Counts nothing. */
  waitS(keyId: string, limit: number): number {
    const minute = this.#young.get(keyId) ?? this.#old.get(keyId)
    if (minute === undefined) return 0
    const nowMs = Math.floor(this.#clock.monotonicMs())
    minute.forget(nowMs)
    if (minute.counted < limit) return 0
    return Math.ceil((minute.leavesAt(minute.counted - limit + 1) - nowMs) / 1_000)
  }

  /** Counts more against a key than the one request that passed, even beyond its limit: what comes next waits for it. */
  charge(keyId: string, requests: number): void {
    const precise = this.#clock.monotonicMs()
    const nowMs = Math.floor(precise)
    this.#rotate(nowMs)
    const minute = this.#minuteOf(keyId)
    minute.forget(nowMs)
    minute.count(Math.ceil(precise), requests)
  }

  #keptMinute(keyId: string, kept: KeyCounters): RollingMinute {
    if (kept.minute !== null && kept.generation === this.#generation) return kept.minute
    kept.minute = this.#minuteOf(keyId)
    kept.generation = this.#generation
    return kept.minute
  }

  #minuteOf(keyId: string): RollingMinute {
    const young = this.#young.get(keyId)
    if (young !== undefined) return young
    const minute = this.#old.get(keyId) ?? new RollingMinute()
    this.#old.delete(keyId)
    this.#young.set(keyId, minute)
    return minute
  }

  #rotate(nowMs: number): void {
    // Everything in the older generation was counted before the younger one started, in an earlier millisecond.
    if (nowMs - this.#youngSince < WINDOW_MS) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngSince = nowMs
    this.#generation += 1
  }
}

/** The rolling minute of the contract (Limits), in milliseconds. */
export const WINDOW_MS = MINUTE_MS

const CAPACITY_MIN = 16

/**
 * The requests that one key made in the last 60 s: a ring buffer of (millisecond, number of requests), oldest first.
 * Exact to the millisecond for any limit. Its size is bounded: it never has more entries than requests counted, nor
 * than a window has milliseconds (1 MB for a key that uses every one of them). Times are integers of a clock that never
 * jumps.
 */
export class RollingMinute {
  /** Of each entry its millisecond, and beside it its number: in a large service, each additional array is another cache miss. */
  #ring = new Float64Array(2 * CAPACITY_MIN)
  /** Of the oldest entry. */
  #head = 0
  #size = 0
  #counted = 0

  /** Requests in the window, as of the last call of `forget`. */
  get counted(): number {
    return this.#counted
  }

  /** Entries the ring has room for: its memory is 16 bytes times this. */
  get capacity(): number {
    return this.#ring.length / 2
  }

  /** Removes the requests that are a whole window old at `nowMs`. */
  forget(nowMs: number): void {
    const leftBy = nowMs - WINDOW_MS
    if (this.#size > 0 && this.#stampAt(this.#size - 1) <= leftBy) {
      this.#size = 0
      this.#counted = 0
      return
    }
    while (this.#size > 0 && this.#stampAt(0) <= leftBy) {
      this.#counted -= this.#countAt(0)
      this.#head = this.#placeOf(1)
      this.#size -= 1
    }
  }

  /** Counts requests made at `atMs`, which must not be earlier than any counted before. */
  count(atMs: number, requests = 1): void {
    this.#counted += requests
    if (this.#size > 0 && this.#stampAt(this.#size - 1) >= atMs) {
      this.#ring[this.#placeOf(this.#size - 1) + 1] = this.#countAt(this.#size - 1) + requests
      return
    }
    if (this.#size === this.capacity) this.#grow()
    const place = this.#placeOf(this.#size)
    this.#ring[place] = atMs
    this.#ring[place + 1] = requests
    this.#size += 1
  }

  /** When the `n` oldest counted requests have all left the window. `n`: 1 to `counted`. */
  leavesAt(n: number): number {
    assert(n >= 1 && n <= this.#counted, 'Cannot say when requests leave the window: fewer are counted')
    // A single step, unless the limit was lowered within the last minute.
    let left = n
    let i = 0
    for (;;) {
      left -= this.#countAt(i)
      if (left <= 0) return this.#stampAt(i) + WINDOW_MS
      i += 1
    }
  }

  /** @param i 0 for the oldest entry */
  #placeOf(i: number): number {
    return (this.#head + 2 * i) & (this.#ring.length - 1)
  }

  #stampAt(i: number): number {
    return this.#ring[this.#placeOf(i)] ?? 0
  }

  #countAt(i: number): number {
    return this.#ring[this.#placeOf(i) + 1] ?? 0
  }

  /** Capacities are powers of two, so that a place is computed with a mask. */
  #grow(): void {
    this.#ring = unrolled(this.#ring, this.#head)
    this.#head = 0
  }
}

/** Copies a full ring into one twice as large, oldest element first. */
function unrolled(ring: Float64Array, head: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(ring.length * 2)
  larger.set(ring.subarray(head))
  larger.set(ring.subarray(0, head), ring.length - head)
  return larger
}

/** The requests of one key in one slot of `RateSlots`. */
export interface SlotCount {
  readonly slot: number
  /** Null: not known. */
  readonly agencyId: string | null
  requests: number
}

/** The requests of one agency in one month. */
export interface MonthCounter {
  readonly agencyId: string
  /** `YYYY-MM`, UTC. */
  readonly month: string
  used: number
  /** Still to be written. */
  isDirty: boolean
  /** `YYYY-MM-DD`, UTC: since when it is dirty. Empty until then. It does not stay dirty beyond that day (`UsageMeter`). */
  day: string
}

/**
 * What counts the requests of a key, found once and then kept with the key: its rolling minute, its count in the current slot of the
 * rate slots, and its agency's count of the month. Looking each of them up by id, in maps of all keys and agencies, was a tenth of an
 * availability request in a large service, because none of those maps is in the processor's caches (docs/decisions.md#speed).
 *
 * Only a shortcut: every counter is in its owner's map too, and the owner checks that what is kept here is still current. It may be lost
 * at any time, as it is when the key or the agency changes.
 */
export class KeyCounters {
  /** Of the limiter's generation `generation`. */
  minute: RollingMinute | null = null
  generation = 0
  slotCount: SlotCount | null = null
  month: MonthCounter | null = null
  /** The meter's counters that `month` is one of. */
  months: ReadonlyMap<string, MonthCounter> | null = null

  /** @param agencyId of the key */
  constructor(readonly agencyId: string) {}
}
