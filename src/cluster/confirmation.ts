/**
 * - C6 A node serves a shard, reads too, only while its lease is confirmed, or while Postgres confirmed its epochs at most
 *   `FAILSAFE_MS` ago.
 */
import type { Clock } from '../lib/clock.ts'

/** How old a confirmation by Postgres may be, from when it was asked. */
export const FAILSAFE_MS = 1_200
/** How much earlier than its end by this clock a lease counts as over: the clocks of two machines differ in speed. */
const LEASE_MARGIN_MS = 1_000

/** Until when this node may serve, by its monotonic clock. A process that was stopped finds that it may not. */
export class Confirmation {
  readonly #clock: Clock
  #leaseUntil = 0
  #postgresUntil = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isConfirmed(): boolean {
    const now = this.#clock.monotonicMs()
    return now < this.#leaseUntil || now < this.#postgresUntil
  }

  /** Only Postgres confirms at present. */
  get isFailsafe(): boolean {
    const now = this.#clock.monotonicMs()
    return now >= this.#leaseUntil && now < this.#postgresUntil
  }

  /** Whether the lease alone confirms. */
  get hasLease(): boolean {
    return this.#clock.monotonicMs() < this.#leaseUntil
  }

  /** Milliseconds that the lease is still confirmed for. */
  get leaseMs(): number {
    return Math.max(0, this.#leaseUntil - this.#clock.monotonicMs())
  }

  /** @param requestedAt when the keepalive was sent (monotonic): etcd counts from when it got it */
  byLease(requestedAt: number, ttlS: number): void {
    this.#leaseUntil = Math.max(this.#leaseUntil, requestedAt + ttlS * 1_000 - LEASE_MARGIN_MS)
  }

  /** @param requestedAt when Postgres was asked (monotonic) */
  byPostgres(requestedAt: number): void {
    this.#postgresUntil = Math.max(this.#postgresUntil, requestedAt + FAILSAFE_MS)
  }

  /** The lease is gone: others may claim. What Postgres has confirmed holds for its time. */
  endLease(): void {
    this.#leaseUntil = 0
  }
}
