import { type Clock, sleep } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import type { Owners } from '../shard-owners.ts'

/**
 * How long a request waits for an owner, all its waits together: longer than the lease of a node that was cut off takes to end, and its
 * shards take to move.
 */
export const HOLD_MS_MAX = 10_000
/** Requests that wait at the same time. Each has a body of 64 KB at most. */
export const HELD_MAX = 2_000
/** Of these, those of one shard: its agencies leave room for those of the others, and for look-ups. */
export const HELD_OF_SHARD_MAX = 1_000

/** Requests that wait for an owner of their shard (C5): bounded in number and time. */
export class Holding {
  readonly #owners: Pick<Owners, 'changed'>
  readonly #clock: Clock
  /** By shard. */
  readonly #held = new Counts<number | null>()
  #heldEver = 0

  constructor(owners: Pick<Owners, 'changed'>, clock: Clock) {
    this.#owners = owners
    this.#clock = clock
  }

  get held(): number {
    return this.#held.total
  }

  /** Since the start. */
  get heldEver(): number {
    return this.#heldEver
  }

  /** The time of one request. */
  patience(): Patience {
    return { leftMs: HOLD_MS_MAX, isHeld: false }
  }

  /**
   * Waits until the shard has another owner, or for `ms`.
   * @param waiting.shard null for something else than an owner
   * @param waiting.client aborted when the client has gone: nobody waits for the answer any more
   * @returns `waited`, or why the request must not wait any longer
   */
  async wait(
    { shard, client }: { readonly shard: number | null; readonly client: AbortSignal },
    patience: Patience,
    ms: number,
  ): Promise<'waited' | 'no_owner' | 'full'> {
    if (patience.leftMs <= 0 || client.aborted) return 'no_owner'
    if (this.#held.total >= HELD_MAX || (shard !== null && this.#held.of(shard) >= HELD_OF_SHARD_MAX)) return 'full'
    if (!patience.isHeld) this.#heldEver += 1
    patience.isHeld = true
    this.#held.add(shard)
    const sinceMs = this.#clock.monotonicMs()
    try {
      const waitMs = Math.min(ms, patience.leftMs)
      if (waitMs > 0)
        await (shard === null ? sleep(this.#clock, waitMs, client) : this.#owners.changed(shard, waitMs, client))
    } finally {
      this.#held.add(shard, -1)
      // At least 1: nobody waits for ever on a source that tells of changes without end.
      patience.leftMs -= Math.max(1, this.#clock.monotonicMs() - sinceMs)
    }
    return client.aborted ? 'no_owner' : 'waited'
  }
}

/** What is left of the time that a request may wait. */
interface Patience {
  leftMs: number
  isHeld: boolean
}
