/** Holds that could not be released because of the hold itself or its unit. Each is retried on its own schedule. */
import type { ExpiredHold } from './expired-hold.ts'

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

/** All times are monotonic milliseconds. */
export class FailingHolds {
  readonly #holds = new Map<string, Failing>()
  /** Number of failing holds per unit. */
  readonly #perUnit = new Map<string, number>()
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
    const ofUnit = (this.#perUnit.get(unitId) ?? 0) + 1
    this.#perUnit.set(unitId, ofUnit)
    return ofUnit === 1
  }

  remove(bookingId: string): void {
    const failing = this.#holds.get(bookingId)
    if (failing === undefined) return
    this.#holds.delete(bookingId)
    const left = (this.#perUnit.get(failing.unitId) ?? 0) - 1
    if (left > 0) this.#perUnit.set(failing.unitId, left)
    else this.#perUnit.delete(failing.unitId)
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
