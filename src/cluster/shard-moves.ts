/**
 * What a node does about its shards, step by step.
 * - C2 A claim is a create-if-absent transaction on the node's lease.
 * - C3 etcd only says who should try: a claimed shard is served once `ShardHost.acquire` has raised its epoch.
 * - C5 A shard is handed over by `ShardHost.release`; then its key is removed.
 * - C10 Each step is a task of its own: one that hangs delays its own shards alone.
 * - J8 Shards that are acquired together are so in halves after a lock was waited for in vain, down to the one that is locked.
 */
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { isCancelled } from '../lib/deadline.ts'
import { type ClusterKeys, claimText } from './cluster-keys.ts'
import type { ClusterView } from './cluster-view.ts'
import type { Change, Etcd } from './etcd/etcd.ts'
import type { MoveCounts, NodeWatch, ShardHost } from './node-watch.ts'
import { stepsOf } from './steps.ts'

/** After a shard could not be acquired or given up, or etcd did not do what was asked about it. */
const AGAIN_MS = 1_000
/** A second fence within this time is somebody outside the cluster. */
const FENCED_AGAIN_MS = 10_000
/** Between two groups of shards. Their moves, and the first requests of each, take CPU from all others; nobody waits for the next group. */
const REST_MS = 150
/** A shard that was given up and that nobody serves counts as moving for this long. */
const MOVING_MS_MAX = 3_000

type Move = 'acquire' | 'release' | 'other'

/** One object per step, which knows its shards by it. */
interface Step {
  readonly move: Move
}

interface MovesOptions {
  readonly self: string
  readonly etcd: Etcd
  readonly clock: Clock
  readonly keys: ClusterKeys
  readonly view: ClusterView
  readonly host: ShardHost
  readonly watch: NodeWatch
  /** Who should own each shard; null: nobody can. */
  wanted(): readonly (string | null)[]
  /** The present lease, if it is confirmed: without one nothing is started, and nothing that was started continues. */
  lease(): string | null
  /** Call after everything that may change who owns what. */
  onChanged(): void
  onEtcdFailure(error: unknown): void
}

export class ShardMoves {
  readonly counts: MoveCounts = { acquired: 0, released: 0, dropped: 0, fenced: 0, failures: 0 }
  isLeaving = false
  /** Nothing is begun any more; what was begun is completed. */
  isStandingStill = false
  readonly #options: MovesOptions
  readonly #busy = new Map<number, Step>()
  /** Given up for another node, until when they count (monotonic). */
  readonly #moving = new Map<number, number>()
  /** Not to be touched before (monotonic). */
  readonly #notBefore = new Map<number, number>()
  readonly #fencedAt = new Map<number, number>()
  /** No group is started before (monotonic). */
  #restUntil = 0
  #isWakeSet = false

  constructor(options: MovesOptions) {
    this.#options = options
    options.host.onFenced = (shards) => this.#fenced(shards)
  }

  /** Nothing is in progress. */
  get isIdle(): boolean {
    return this.#busy.size === 0
  }

  get acquiring(): number {
    return this.#count('acquire')
  }

  get releasing(): number {
    return this.#count('release')
  }

  isBusy(shard: number): boolean {
    return this.#busy.has(shard)
  }

  /** This node decides it, and is not giving it up. */
  isServed(shard: number): boolean {
    return this.#options.host.owned.has(shard) && this.#busy.get(shard)?.move !== 'release'
  }

  /** Begins what is to be done. Synchronous; every task that ends calls `onChanged`, which calls it again. */
  act(): void {
    const { self, clock, view, host, wanted } = this.#options
    const lease = this.#options.lease()
    if (lease === null || this.isStandingStill) return
    const now = clock.monotonicMs()
    for (const [shard, until] of this.#moving) {
      const claim = view.claims[shard]
      if (until <= now || (claim?.isServing === true && claim.lease !== lease)) this.#moving.delete(shard)
    }
    for (const [shard, at] of this.#notBefore) if (at <= now) this.#notBefore.delete(shard)
    const steps = stepsOf({
      self,
      lease,
      claims: view.claims,
      wanted: wanted(),
      owned: host.owned,
      busy: new Set([...this.#busy.keys(), ...this.#notBefore.keys()]),
      moving: this.#moving.size + this.releasing,
      isResting: this.#rests(now),
      isLeaving: this.isLeaving,
    })
    this.#drop(steps.drop)
    this.#begin('acquire', steps.claim, async (shards, free) =>
      this.#acquire(await this.#claim(shards, lease), lease, free),
    )
    this.#begin('acquire', steps.acquire, (shards, free) => this.#acquire(shards, lease, free))
    this.#begin('release', steps.release, (shards) => this.#release(shards, lease))
    this.#begin('other', steps.announce, (shards) => this.#announce(shards, lease))
    this.#begin('other', steps.unclaim, (shards) => this.#unclaim(shards, lease))
  }

  /**
   * Makes the keys of what this node owns again, on a new lease, where nobody else has made one. They say that it is served once it is known
   * that it is this node's still.
   */
  async claimOwned(lease: string): Promise<void> {
    const { self, keys, host } = this.#options
    const value = claimText({ node: self, isServing: false })
    const owned = [...host.owned]
    if (owned.length === 0) return
    await this.commit(owned.map((shard) => ({ key: keys.shard(shard), value, lease, condition: 'absent' })))
  }

  /** Whether the last group has just arrived. A process that is being stopped has no time for that. */
  #rests(now: number): boolean {
    if (this.isLeaving) return false
    if (this.#moving.size + this.releasing > 0) this.#restUntil = now + REST_MS
    const rest = this.#restUntil - now
    if (rest <= 0 || this.#isWakeSet) return rest > 0
    this.#isWakeSet = true
    this.#options.clock.after(rest, () => {
      this.#isWakeSet = false
      this.act()
    })
    return true
  }

  /** Stops serving what has no key on this lease: others have claimed it. */
  dropUnclaimed(lease: string): void {
    const { view, host } = this.#options
    this.#drop([...host.owned].filter((shard) => view.claims[shard]?.lease !== lease))
  }

  /** Gives up everything at once, because nothing of it can be written here. */
  giveUp(): void {
    const { host, view } = this.#options
    // Those too that are just being acquired.
    host.drop(view.claims.map((_, shard) => shard))
  }

  /** Makes the changes whose condition holds. @returns which; the view has them */
  async commit(changes: readonly Change[]): Promise<readonly boolean[]> {
    const { etcd, view } = this.#options
    const { revision, done } = await etcd.commit(changes)
    view.apply(changes.filter((_, index) => done[index] === true).map((change) => ({ ...change, revision })))
    return done
  }

  #drop(shards: readonly number[]): void {
    if (shards.length === 0) return
    this.#options.host.drop(shards)
    this.counts.dropped += shards.length
    this.#options.watch.onDropped({ shards: shards.length })
  }

  /** @param task can `free` shards that it is done with before it ends */
  #begin(
    move: Move,
    shards: readonly number[],
    task: (shards: readonly number[], free: (shards: readonly number[]) => void) => Promise<void>,
  ): void {
    if (shards.length === 0) return
    const step: Step = { move }
    for (const shard of shards) {
      assert(!this.#busy.has(shard), 'Cannot begin a step: the shard is busy')
      this.#busy.set(shard, step)
    }
    const free = (done: readonly number[]) => {
      for (const shard of done) if (this.#busy.get(shard) === step) this.#busy.delete(shard)
      this.#options.onChanged()
    }
    // In a microtask, so that `act` has started everything before a task can call it again.
    void Promise.resolve()
      .then(() => task(shards, free))
      .catch((error) => {
        // It may have refused at once.
        this.#leaveAlone(shards, AGAIN_MS)
        this.#options.onEtcdFailure(error)
      })
      .finally(() => free(shards))
  }

  /** @returns those that it got */
  async #claim(shards: readonly number[], lease: string): Promise<readonly number[]> {
    const { self, keys } = this.#options
    const value = claimText({ node: self, isServing: false })
    const done = await this.commit(
      shards.map((shard) => ({ key: keys.shard(shard), value, lease, condition: 'absent' })),
    )
    return shards.filter((_, index) => done[index] === true)
  }

  /** In halves after a failure that is one shard's, and the halves of all before any quarter: what is not locked waits for few attempts. */
  async #acquire(shards: readonly number[], lease: string, free: (shards: readonly number[]) => void): Promise<void> {
    const groups = [shards]
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      if (group.length === 0 || this.#options.lease() !== lease) return
      const failure = await this.#acquireAll(group, lease)
      if (group.length > 1 && isCancelled(failure)) {
        const middle = group.length >> 1
        groups.push(group.slice(0, middle), group.slice(middle))
      } else if (failure !== null) this.#leaveAlone(group, AGAIN_MS)
      else free(group)
    }
  }

  /** @returns why it has none of them, or null */
  async #acquireAll(shards: readonly number[], lease: string): Promise<unknown> {
    const { clock, host, watch } = this.#options
    const since = clock.monotonicMs()
    try {
      await host.acquire(shards)
    } catch (err) {
      this.counts.failures += 1
      watch.onMoveFailure({ shards: shards.length, step: 'acquire', err })
      return err
    }
    // The lease was lost meanwhile: somebody else may try, and may have been faster.
    if (this.#options.lease() !== lease) {
      host.drop(shards)
      return null
    }
    this.counts.acquired += shards.length
    watch.onAcquired({ shards: shards.length, ms: clock.monotonicMs() - since })
    this.#options.onChanged()
    await this.#announce(shards, lease)
    return null
  }

  /** Says in the keys that the shards are served. A key that is gone although nobody else has claimed it is made again. */
  async #announce(shards: readonly number[], lease: string): Promise<void> {
    const { self, keys, view } = this.#options
    const value = claimText({ node: self, isServing: true })
    await this.commit(
      shards.map((shard) => ({
        key: keys.shard(shard),
        value,
        lease,
        condition: view.claims[shard] === null ? 'absent' : { lease },
      })),
    )
  }

  async #release(shards: readonly number[], lease: string): Promise<void> {
    const { clock, host, watch } = this.#options
    const since = clock.monotonicMs()
    try {
      await host.release(shards)
    } catch (err) {
      this.#leaveAlone(shards, AGAIN_MS)
      watch.onMoveFailure({ shards: shards.length, step: 'release', err })
      return
    }
    const until = clock.monotonicMs() + MOVING_MS_MAX
    for (const shard of shards) this.#moving.set(shard, until)
    await this.#unclaim(shards, lease)
    this.counts.released += shards.length
    watch.onReleased({ shards: shards.length, ms: clock.monotonicMs() - since })
  }

  async #unclaim(shards: readonly number[], lease: string): Promise<void> {
    const { keys } = this.#options
    await this.commit(shards.map((shard) => ({ key: keys.shard(shard), value: null, lease, condition: { lease } })))
  }

  /** The first fence may be a late claim of another node: acquire again. A second one soon after is somebody outside the cluster. */
  #fenced(shards: readonly number[]): void {
    const now = this.#options.clock.monotonicMs()
    for (const shard of shards) {
      const isAgain = now - (this.#fencedAt.get(shard) ?? Number.NEGATIVE_INFINITY) < FENCED_AGAIN_MS
      if (isAgain) this.#leaveAlone([shard], FENCED_AGAIN_MS)
      this.#fencedAt.set(shard, now)
    }
    this.counts.fenced += shards.length
    this.#options.watch.onFenced({ shards })
    this.#options.onChanged()
  }

  #leaveAlone(shards: readonly number[], ms: number): void {
    const until = this.#options.clock.monotonicMs() + ms
    for (const shard of shards) this.#notBefore.set(shard, until)
  }

  #count(wanted: Move): number {
    let count = 0
    for (const { move } of this.#busy.values()) if (move === wanted) count += 1
    return count
  }
}
