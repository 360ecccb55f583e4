/**
 * A node of the cluster: it holds its lease, keeps its view of the keys, and makes the shards that it owns those that it should own.
 * - C7 Everything is read and compared every second, not only after events.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import type { ClusterKeys, Member } from './cluster-keys.ts'
import { ClusterView } from './cluster-view.ts'
import { Confirmation } from './confirmation.ts'
import { DatabaseReach, type Reach } from './database-reach.ts'
import type { Etcd } from './etcd/etcd.ts'
import { Failsafe } from './failsafe.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { NodeWatch, ShardHost } from './node-watch.ts'
import { ShardMoves } from './shard-moves.ts'
import type { NodeAddress } from './shard-owners.ts'
import { ShardOwners } from './shard-owners.ts'
import { Placements } from './steps.ts'

const COMPARE_EVERY_MS = 1_000
const WATCH_AGAIN_MS = 100
/** Comparisons in a row that found what the watch had not told: it is mute. */
const BEHIND_MAX = 2
const LEAVING_LOOK_MS = 10

interface NodeOptions {
  readonly self: Omit<Member, 'state'>
  readonly etcd: Etcd
  readonly clock: Clock
  readonly keys: ClusterKeys
  readonly host: ShardHost
  /** Whether a run of a process of this machine is over. */
  readonly isOver: (run: string) => boolean
  readonly watch: NodeWatch
}

export class ClusterNode {
  readonly owners: ShardOwners
  readonly view: ClusterView
  readonly confirmation: Confirmation
  readonly moves: ShardMoves
  /** Calls that etcd did not answer. */
  etcdFailures = 0
  readonly #options: NodeOptions
  readonly #keeper: LeaseKeeper
  readonly #failsafe: Failsafe
  readonly #reach: DatabaseReach
  readonly #closing = new AbortController()
  #watching = new AbortController()
  readonly #placements = new Placements()
  /** Of the last whole reading. */
  #revision = 0
  #behind = 0
  #isEtcdAway = false

  constructor(options: NodeOptions) {
    const { self, etcd, clock, keys, host, watch, isOver } = options
    this.#options = options
    this.view = new ClusterView(keys, (key) => watch.onUnreadableKey?.(key))
    this.confirmation = new Confirmation(clock)
    this.#keeper = new LeaseKeeper(
      { ...self, state: 'up', reachesDatabase: true },
      {
        etcd,
        clock,
        keys,
        confirmation: this.confirmation,
        isOver,
        watch: {
          onGranted: async (member) => {
            this.view.apply([member])
            // First the keys: from then on nobody can take a shard unnoticed, nor give it up again before it is looked at.
            await this.moves.claimOwned(member.lease)
            await this.#read()
            this.moves.dropUnclaimed(member.lease)
            await this.#failsafe.dropUnconfirmed()
          },
          onLost: () => {
            watch.onLeaseLost({ shards: host.owned.size })
            void this.#failsafe.ask()
          },
          onRenewed: () => this.#renewed(),
          onFailure: (error) => this.#etcdFailed(error),
          onTaken: (member) => watch.onNodeIdTaken(member),
        },
      },
    )
    this.moves = new ShardMoves({
      self: self.id,
      etcd,
      clock,
      keys,
      view: this.view,
      host,
      watch,
      wanted: () => this.wanted,
      lease: () => (this.confirmation.hasLease && !this.#closing.signal.aborted ? this.#keeper.lease : null),
      onChanged: () => this.#changed(),
      onEtcdFailure: (error) => this.#etcdFailed(error),
    })
    this.#failsafe = new Failsafe({
      clock,
      host,
      confirmation: this.confirmation,
      hasLease: () => this.#keeper.lease !== null,
      onConfirmed: () => this.owners.tell(),
    })
    this.#reach = new DatabaseReach({
      clock,
      ping: () => host.ping(),
      othersReach: () => this.#othersReach,
      tell: (reach) => this.#tell(reach),
    })
    this.owners = new ShardOwners({
      self: { id: self.id, url: self.url },
      clock,
      isConfirmed: () => this.confirmation.isConfirmed,
      isServed: (shard) => this.moves.isServed(shard),
      claimOf: (shard) => this.view.claims[shard] ?? null,
      addressOf: (node) => this.#addressOf(node),
      guess: (shard) => this.#guess(shard),
    })
  }

  get self(): Member {
    return this.#keeper.member
  }

  /** Shards that this node decides. */
  get owned(): ReadonlySet<number> {
    return this.#options.host.owned
  }

  get isEtcdAway(): boolean {
    return this.#isEtcdAway
  }

  /** Why the process should get no new requests; empty: none. */
  get faults(): readonly string[] {
    return [
      ...(this.self.state === 'leaving' ? ['cluster: this node is leaving'] : []),
      ...(this.owned.size > 0 && !this.confirmation.isConfirmed
        ? ['cluster: neither etcd nor the database confirms this node']
        : []),
    ]
  }

  /** Who should own each shard; null everywhere when no node can. */
  get wanted(): readonly (string | null)[] {
    return this.#placements.of(this.view.candidates)
  }

  /**
   * Registers the node and begins to claim. Waits for etcd, and for a former process of this node.
   * @throws ClusterError when another process has this NODE_ID
   */
  async join(): Promise<void> {
    await this.#keeper.register({ isFirst: true })
    if (this.#closing.signal.aborted) return
    this.#options.watch.onJoined()
    this.#changed()
    void this.#keeper.run()
    void this.#keepComparing()
    void this.#keepWatching()
    void this.#failsafe.run()
    void this.#reach.run()
  }

  /** Whether there is another node that shards can be handed over to. Of a node that is leaving. */
  get hasSuccessor(): boolean {
    return this.view.candidates.length > 0
  }

  /**
   * Hands over everything, a few shards at a time, while the process still takes requests and sends them on. The last node hands over nothing:
   * its process ends as a single one does, which answers what it has got before it gives up its shards.
   * @returns whether all that could be handed over was handed over in time
   */
  async leave(withinMs: number): Promise<boolean> {
    const { clock, host } = this.#options
    const until = clock.monotonicMs() + withinMs
    this.moves.isLeaving = true
    try {
      const member = await this.#keeper.change({ state: 'leaving' })
      if (member !== null) this.view.apply([member])
    } catch (error) {
      this.#etcdFailed(error)
    }
    // Without etcd nobody can claim: the process then ends as a single one does.
    const canHandOver = () => this.confirmation.hasLease && !this.#isEtcdAway && this.hasSuccessor
    while (canHandOver() && (host.owned.size > 0 || !this.moves.isIdle)) {
      if (clock.monotonicMs() >= until) return false
      this.moves.act()
      await sleep(clock, LEAVING_LOOK_MS)
    }
    return host.owned.size === 0 || !this.hasSuccessor
  }

  /** From now on begins no move of a shard: all processes are being stopped, and there is nobody to hand anything over to. */
  standStill(): void {
    this.moves.isStandingStill = true
  }

  /** Ends the lease, and with it every claim. To be called when nothing is written any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#watching.abort()
    this.#keeper.stop()
    this.#failsafe.stop()
    this.#reach.stop()
    const { lease } = this.#keeper
    if (lease !== null) await this.#options.etcd.revoke(lease).catch((error) => this.#etcdFailed(error))
  }

  /**
   * Makes a node own nothing, or ends that. The mark hangs on the lease of that node.
   * @returns false when there is no such node
   * @throws EtcdError when etcd does not answer
   */
  async drain(id: string, { isOn }: { isOn: boolean }): Promise<boolean> {
    await this.#compare()
    const member = this.view.members.get(id)
    if (member === undefined) return false
    if (this.view.drained.has(id) === isOn) return true
    const { lease } = member
    const change = { key: this.#options.keys.drain(id), value: isOn ? '{}' : null, lease }
    await this.moves.commit([{ ...change, condition: isOn ? 'absent' : { lease } }])
    this.#changed()
    return true
  }

  #changed(): void {
    this.moves.act()
    this.owners.tell()
  }

  #renewed(): void {
    this.#failsafe.renewed()
    this.#etcdAnswered()
    this.owners.tell()
  }

  /**
   * Reads everything, and does what follows from it.
   * @throws EtcdError when etcd does not answer
   */
  async #compare(): Promise<void> {
    await this.#read()
    if (this.#behind >= BEHIND_MAX) {
      this.#behind = 0
      this.#watching.abort()
    }
    this.#changed()
  }

  async #read(): Promise<void> {
    const { etcd, keys, watch } = this.#options
    const { revision: known, forgotten } = this.view
    const reading = await etcd.read(keys.prefix).catch((error) => {
      this.#etcdFailed(error)
      throw error
    })
    // What was known when it was asked for has been forgotten since: it may be of the etcd before.
    if (forgotten !== this.view.forgotten) return this.#read()
    // A reading is not older than what was known before it, unless etcd has lost that: it started over, or from a backup.
    if (reading.revision < known) {
      watch.onEtcdReplaced?.()
      this.view.forget()
      this.#revision = 0
      this.#watching.abort()
    }
    this.#revision = Math.max(this.#revision, reading.revision)
    this.#behind = this.view.replace(reading) ? this.#behind + 1 : 0
    this.#etcdAnswered()
  }

  async #keepComparing(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await sleep(this.#options.clock, COMPARE_EVERY_MS)
      if (!this.#closing.signal.aborted) await this.#compare().catch(() => {})
    }
  }

  async #keepWatching(): Promise<void> {
    const { etcd, clock, keys } = this.#options
    while (!this.#closing.signal.aborted) {
      this.#watching = new AbortController()
      const params = { prefix: keys.prefix, fromRevision: this.#revision + 1, signal: this.#watching.signal }
      await etcd.watch(params, (events) => {
        if (this.view.apply(events)) this.#changed()
      })
      await sleep(clock, WATCH_AGAIN_MS)
      // What happened meanwhile, or was compacted away.
      if (!this.#closing.signal.aborted) await this.#compare().catch(() => {})
    }
  }

  get #othersReach(): boolean {
    const others = this.view.candidates.filter((id) => id !== this.self.id)
    return others.some((id) => this.view.members.get(id)?.reachesDatabase === true)
  }

  /** @returns false when etcd does not answer */
  async #tell(reach: Reach): Promise<boolean> {
    const { host, watch } = this.#options
    if (this.moves.isLeaving) return true
    const before = this.self.state
    const state = reach === 'given_up' ? 'no_database' : 'up'
    const member = await this.#keeper.change({ state, reachesDatabase: reach === 'reached' }).catch((error) => {
      this.#etcdFailed(error)
      return null
    })
    if (member === null) return false
    this.view.apply([member])
    if (state === 'up' && before === 'no_database') watch.onDatabaseBack()
    if (state === 'no_database') {
      watch.onDatabaseMissed({ shards: host.owned.size })
      this.moves.giveUp()
    }
    this.#changed()
    return true
  }

  #addressOf(id: string): NodeAddress | null {
    const member = this.view.members.get(id)
    return member === undefined ? null : { id, url: member.url }
  }

  /** For a node that etcd does not answer, and that has lost a shard: whom the others choose without it. */
  #guess(shard: number): NodeAddress | null {
    if (!this.#isEtcdAway || this.moves.isBusy(shard)) return null
    const others = this.view.candidates.filter((id) => id !== this.self.id)
    const id = this.#placements.of(others)[shard]
    return id == null ? null : this.#addressOf(id)
  }

  #etcdFailed(error: unknown): void {
    this.etcdFailures += 1
    if (!this.#isEtcdAway) this.#options.watch.onEtcdFailure(error)
    this.#isEtcdAway = true
  }

  #etcdAnswered(): void {
    if (this.#isEtcdAway) this.#options.watch.onEtcdBack()
    this.#isEtcdAway = false
  }
}
