/**
 * - C6 While the lease is not renewed, Postgres is asked instead, several times a second; what it says is lost, the engine drops. When it
 *   does not answer, the time of its last confirmation runs out.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { Confirmation } from './confirmation.ts'
import type { ShardHost } from './node-watch.ts'

/** Below `FAILSAFE_MS` by more than an answer of Postgres takes. */
const ASK_EVERY_MS = 300
/** A renewal is this late when Postgres is asked: one has failed by then, and the lease is still good. */
const LATE_RENEWAL_MS = 1_500
/** An answer that comes later confirms nothing. */
const ANSWER_MS_MAX = 1_000

interface FailsafeOptions {
  readonly clock: Clock
  readonly host: ShardHost
  readonly confirmation: Confirmation
  /** There is a lease, although it may not have been renewed in time. */
  hasLease(): boolean
  /** Postgres has confirmed what the node owns. */
  onConfirmed(): void
}

export class Failsafe {
  readonly #options: FailsafeOptions
  /** Monotonic. */
  #renewedAt = 0
  #isStopped = false

  constructor(options: FailsafeOptions) {
    this.#options = options
  }

  /** The lease was renewed. */
  renewed(): void {
    this.#renewedAt = this.#options.clock.monotonicMs()
  }

  /** Asks whenever a renewal is late, until `stop`. */
  async run(): Promise<void> {
    const { clock, hasLease } = this.#options
    while (!this.#isStopped) {
      await sleep(clock, ASK_EVERY_MS)
      const isLate = clock.monotonicMs() - this.#renewedAt >= LATE_RENEWAL_MS
      if (isLate || !hasLease()) await this.ask()
    }
  }

  stop(): void {
    this.#isStopped = true
  }

  async ask(): Promise<void> {
    const { clock, host, confirmation, onConfirmed } = this.#options
    if (host.owned.size === 0) return
    const requestedAt = clock.monotonicMs()
    const lost = await withDeadline(host.confirm(), ANSWER_MS_MAX, clock).catch(() => null)
    if (lost === null) return
    confirmation.byPostgres(requestedAt)
    onConfirmed()
  }

  /**
   * A shard that nobody has claimed now may have been another node's while this one had no lease: only Postgres can tell. What it does not
   * confirm is acquired again.
   */
  async dropUnconfirmed(): Promise<void> {
    const { clock, host } = this.#options
    if (host.owned.size === 0) return
    const isConfirmed = await withDeadline(host.confirm(), ANSWER_MS_MAX, clock).then(
      () => true,
      () => false,
    )
    if (!isConfirmed) host.drop([...host.owned])
  }
}
