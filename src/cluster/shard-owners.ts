import type { Clock } from '../lib/clock.ts'
import type { HeldClaim } from './cluster-view.ts'

/** A process of the cluster, as the others see it. */
export interface NodeAddress {
  /** NODE_ID. */
  readonly id: string
  /** NODE_URL, without a slash at its end: where the other nodes reach its PORT. */
  readonly url: string
}

/** Who owns what, as this node sees it now. */
export interface Owners {
  readonly self: NodeAddress
  /** 'self' only while the lease is confirmed (C6) and the shard is acquired. Null: the shard has no owner, or is on its way to this node. */
  ownerOf(shard: number): 'self' | NodeAddress | null
  /** Resolves when the owner changes from what `ownerOf` says now, after `ms`, or when `signal` is aborted. */
  changed(shard: number, ms: number, signal?: AbortSignal): Promise<void>
}

interface OwnersSource {
  readonly self: NodeAddress
  readonly clock: Clock
  /** Whether this node may serve what it owns (C6). */
  isConfirmed(): boolean
  /** Whether this node has acquired the shard, and is not giving it up. */
  isServed(shard: number): boolean
  claimOf(shard: number): HeldClaim | null
  addressOf(node: string): NodeAddress | null
  /** Whom a shard probably went to that this node has lost, or cannot serve, and knows nothing newer of. */
  guess(shard: number): NodeAddress | null
}

/** `Owners` from what the node knows. Whoever waits is told by `changed all`: call it after everything that may change an answer. */
export class ShardOwners implements Owners {
  readonly #source: OwnersSource
  /** By shard: who waits, and for a change from what. */
  readonly #waiting = new Map<number, Set<{ readonly from: string | null; readonly resolve: () => void }>>()

  constructor(source: OwnersSource) {
    this.#source = source
  }

  get self(): NodeAddress {
    return this.#source.self
  }

  ownerOf(shard: number): 'self' | NodeAddress | null {
    const source = this.#source
    if (source.isServed(shard)) return source.isConfirmed() ? 'self' : null
    const claim = source.claimOf(shard)
    if (claim === null) return null
    if (claim.node === source.self.id) return source.guess(shard)
    return source.addressOf(claim.node)
  }

  changed(shard: number, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiting.get(shard) ?? new Set()
      const waiter = { from: this.#idOf(shard), resolve: () => settle() }
      const cancel = this.#source.clock.after(ms, () => settle())
      const settle = () => {
        cancel()
        signal?.removeEventListener('abort', settle)
        waiters.delete(waiter)
        if (waiters.size === 0 && this.#waiting.get(shard) === waiters) this.#waiting.delete(shard)
        resolve()
      }
      this.#waiting.set(shard, waiters.add(waiter))
      signal?.addEventListener('abort', settle, { once: true })
      if (signal?.aborted === true) settle()
    })
  }

  /** Resolves the waits whose owner is another one now. */
  tell(): void {
    for (const [shard, waiters] of [...this.#waiting]) {
      const owner = this.#idOf(shard)
      for (const waiter of [...waiters]) if (waiter.from !== owner) waiter.resolve()
    }
  }

  #idOf(shard: number): string | null {
    const owner = this.ownerOf(shard)
    return owner === 'self' || owner === null ? owner : owner.id
  }
}
