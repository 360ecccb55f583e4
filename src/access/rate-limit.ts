import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { RollingMinute, WINDOW_MS } from './rolling-minute.ts'

export interface RateDecision {
  readonly allowed: boolean
  /** Requests per rolling minute. */
  readonly limit: number
  /** How many more would pass at this moment. */
  readonly remaining: number
  /** Wall clock, Unix seconds rounded up: when the oldest counted request leaves the rolling minute. */
  readonly resetAtS: number
  /**
   * Whole seconds after which the next request passes if nobody else uses the key meanwhile; 0 when it would pass now.
   * Later than `resetAtS` only after the plan's limit was lowered: then more than the oldest must leave.
   */
  readonly retryAfterS: number
}

/** Requests of one key that an earlier process admitted. */
export interface PassedRequests {
  readonly keyId: string
  readonly requests: number
  /** Since the last of them, milliseconds; never too high. */
  readonly ageMs: number
}

/**
 * The budget of requests per key and rolling minute (contract, Limits), shared by REST and MCP. In any 60 s of the
 * monotonic clock at most `limit` requests pass; refused ones do not count. Synchronous, so requests that arrive
 * together cannot pass on the same place.
 *
 * Keys are held in two generations. A key is looked for in the younger one and moved there from the older; when the
 * younger is a window old it becomes the older, and the older is dropped whole: nothing in it can count any more. So an
 * idle key is gone within two minutes of use of any key, without a sweep over those that are not idle.
 */
export class RateLimiter {
  readonly #clock: Clock
  readonly #onPassed: (keyId: string, atMs: number) => void
  #young = new Map<string, RollingMinute>()
  #old = new Map<string, RollingMinute>()
  /** When the young generation began, monotonic milliseconds. */
  #youngSince: number

  /** @param onPassed called with every admitted request and its monotonic time; must be cheap */
  constructor(clock: Clock, onPassed: (keyId: string, atMs: number) => void = () => {}) {
    this.#clock = clock
    this.#onPassed = onPassed
    this.#youngSince = Math.floor(clock.monotonicMs())
  }

  /** Keys in memory, for the metrics. */
  get keysHeld(): number {
    return this.#young.size + this.#old.size
  }

  /** Restores what earlier processes admitted. Call it at start, before the first request. */
  restore(passed: readonly PassedRequests[]): void {
    const precise = this.#clock.monotonicMs()
    for (const { keyId, requests, ageMs } of passed.toSorted((a, b) => b.ageMs - a.ageMs)) {
      if (ageMs < WINDOW_MS) this.#minuteOf(keyId).count(Math.ceil(precise - ageMs), requests)
    }
  }

  /**
   * Decides on one request, and counts it if it passes.
   * @param limit requests per minute, a whole number from 1; may differ from call to call (the plan was changed)
   */
  take(keyId: string, limit: number): RateDecision {
    assert(Number.isInteger(limit) && limit >= 1, 'Cannot limit requests: the limit is not a whole number from 1')
    const precise = this.#clock.monotonicMs()
    const nowMs = Math.floor(precise)
    this.#ageTo(nowMs)

    const minute = this.#minuteOf(keyId)
    minute.forget(nowMs)
    const allowed = minute.counted < limit
    // Counted from the end of its millisecond and looked at from the beginning of ours: exact to the millisecond, and
    // never in the caller's favour.
    if (allowed) {
      minute.count(Math.ceil(precise))
      this.#onPassed(keyId, precise)
    }

    const remaining = Math.max(0, limit - minute.counted)
    const waitMs = remaining > 0 ? 0 : minute.leavesAt(minute.counted - limit + 1) - nowMs
    return {
      allowed,
      limit,
      remaining,
      resetAtS: Math.ceil((this.#clock.now() + minute.leavesAt(1) - nowMs) / 1_000),
      retryAfterS: Math.ceil(waitMs / 1_000),
    }
  }

  #minuteOf(keyId: string): RollingMinute {
    const young = this.#young.get(keyId)
    if (young !== undefined) return young
    const minute = this.#old.get(keyId) ?? new RollingMinute()
    this.#old.delete(keyId)
    this.#young.set(keyId, minute)
    return minute
  }

  #ageTo(nowMs: number): void {
    // What the older generation holds was counted before the younger one began, in an earlier millisecond.
    if (nowMs - this.#youngSince < WINDOW_MS) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngSince = nowMs
  }
}
