/**
 * A node of the cluster: it holds its lease, keeps its view of the keys, and makes the shards that it owns those that it should own.
 * - C6 While the lease is not renewed, Postgres is asked instead; what it says is lost is dropped.
 * - C7 Everything is read and compared every second, not only after events.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { ClusterKeys, Member } from './cluster-keys.ts'
import { ClusterView } from './cluster-view.ts'
import { Confirmation } from './confirmation.ts'
import type { Etcd } from './etcd/etcd.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { NodeWatch } from './node-watch.ts'
import type { NodeAddress } from './owners.ts'
import { placementOf } from './placement.ts'
import type { ShardHost } from './shard-host.ts'
import { ShardMoves } from './shard-moves.ts'
import { ShardOwners } from './shard-owners.ts'

const COMPARE_EVERY_MS = 1_000
/** Below `FAILSAFE_MS` by more than an answer of Postgres takes. */
const ASK_POSTGRES_EVERY_MS = 300
/** A renewal is this late when Postgres is asked: one has failed by then, and the lease is still good. */
const LATE_RENEWAL_MS = 1_500
/** An answer that comes later confirms nothing. */
const ANSWER_MS_MAX = 1_000
const WATCH_AGAIN_MS = 100
/** Comparisons in a row that found what the watch had not told: it is mute. */
const BEHIND_MAX = 2
const LEAVING_LOOK_MS = 10

export interface NodeOptions {
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
  readonly #closing = new AbortController()
  #watching = new AbortController()
  readonly #placements = new Map<string, readonly (string | null)[]>()
  /** Of the last whole reading. */
  #revision = 0
  #behind = 0
  #renewedAt = 0
  #isEtcdAway = false

  constructor(options: NodeOptions) {
    const { self, etcd, clock, keys, host, watch, isOver } = options
    this.#options = options
    this.view = new ClusterView(keys)
    this.confirmation = new Confirmation(clock)
    this.#keeper = new LeaseKeeper(
      { ...self, state: 'up' },
      {
        ...{ etcd, clock, keys, confirmation: this.confirmation, isOver },
        watch: {
          onGranted: async (member) => {
            this.view.apply([member])
            await this.#read()
            this.moves.dropClaimed()
            await this.#dropUnconfirmed()
          },
          onLost: () => {
            watch.onLeaseLost({ shards: host.owned.size })
            void this.#askPostgres()
          },
          onRenewed: () => this.#renewed(),
          onFailure: (error) => this.#etcdFailed(error),
          onTaken: (member) => watch.onNodeIdTaken(member),
        },
      },
    )
    this.moves = new ShardMoves({
      ...{ self: self.id, etcd, clock, keys, view: this.view, host, watch },
      wanted: () => this.wanted,
      lease: () => (this.confirmation.hasLease && !this.#closing.signal.aborted ? this.#keeper.lease : null),
      onChanged: () => this.#changed(),
      onEtcdFailure: (error) => this.#etcdFailed(error),
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
    return this.#placement(this.view.candidates)
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
    void this.#keepAskingPostgres()
  }

  /**
   * Hands over everything, a few shards at a time, while the process still takes requests and sends them on.
   * @returns whether everything was handed over in time
   */
  async leave(withinMs: number): Promise<boolean> {
    const { clock, host } = this.#options
    const until = clock.monotonicMs() + withinMs
    this.moves.isLeaving = true
    try {
      const member = await this.#keeper.change('leaving')
      if (member !== null) this.view.apply([member])
    } catch (error) {
      this.#etcdFailed(error)
    }
    // Without etcd nobody can claim: the process then ends as a single one does.
    while (this.confirmation.hasLease && !this.#isEtcdAway && (host.owned.size > 0 || !this.moves.isIdle)) {
      if (clock.monotonicMs() >= until) return false
      this.moves.act()
      await sleep(clock, LEAVING_LOOK_MS)
    }
    return host.owned.size === 0
  }

  /** Ends the lease, and with it every claim. To be called when nothing is written any more. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#watching.abort()
    this.#keeper.stop()
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
    this.#renewedAt = this.#options.clock.monotonicMs()
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
    const { etcd, keys } = this.#options
    try {
      const reading = await etcd.read(keys.prefix)
      this.#revision = Math.max(this.#revision, reading.revision)
      this.#behind = this.view.replace(reading) ? this.#behind + 1 : 0
    } catch (error) {
      this.#etcdFailed(error)
      throw error
    }
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
      const asked = { prefix: keys.prefix, fromRevision: this.#revision + 1, signal: this.#watching.signal }
      await etcd.watch(asked, (events) => {
        if (this.view.apply(events)) this.#changed()
      })
      await sleep(clock, WATCH_AGAIN_MS)
      // What happened meanwhile, or was compacted away.
      if (!this.#closing.signal.aborted) await this.#compare().catch(() => {})
    }
  }

  async #keepAskingPostgres(): Promise<void> {
    const { clock } = this.#options
    while (!this.#closing.signal.aborted) {
      await sleep(clock, ASK_POSTGRES_EVERY_MS)
      const isLate = clock.monotonicMs() - this.#renewedAt >= LATE_RENEWAL_MS
      if (isLate || this.#keeper.lease === null) await this.#askPostgres()
    }
  }

  /** What Postgres says is lost, the engine drops. When it does not answer, the time of its last confirmation runs out. */
  async #askPostgres(): Promise<void> {
    const { clock, host } = this.#options
    if (host.owned.size === 0) return
    const askedAt = clock.monotonicMs()
    const lost = await withDeadline(host.confirm(), ANSWER_MS_MAX).catch(() => null)
    if (lost === null) return
    this.confirmation.byPostgres(askedAt)
    this.owners.tell()
  }

  /**
   * A shard that nobody has claimed now may have been another node's while this one had no lease: only Postgres can tell. What it does not
   * confirm is acquired anew.
   */
  async #dropUnconfirmed(): Promise<void> {
    const { host } = this.#options
    if (host.owned.size === 0) return
    const isConfirmed = await withDeadline(host.confirm(), ANSWER_MS_MAX).then(
      () => true,
      () => false,
    )
    if (!isConfirmed) host.drop([...host.owned])
  }

  #addressOf(id: string): NodeAddress | null {
    const member = this.view.members.get(id)
    return member === undefined ? null : { id, url: member.url }
  }

  /** For a node that etcd does not answer, and that has lost a shard: whom the others choose without it. */
  #guess(shard: number): NodeAddress | null {
    if (!this.#isEtcdAway || this.moves.isBusy(shard)) return null
    const others = this.view.candidates.filter((id) => id !== this.self.id)
    const id = this.#placement(others)[shard]
    return id == null ? null : this.#addressOf(id)
  }

  #placement(nodes: readonly string[]): readonly (string | null)[] {
    const name = nodes.join(' ')
    const known = this.#placements.get(name)
    if (known !== undefined) return known
    // A few sets of nodes: the present one, the one before, and those without this node.
    if (this.#placements.size >= 8) this.#placements.clear()
    const placement = placementOf(nodes)
    this.#placements.set(name, placement)
    return placement
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
