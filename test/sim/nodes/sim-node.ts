import { ClusterKeys } from '../../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../../src/cluster/cluster-node.ts'
import type { Etcd } from '../../../src/cluster/etcd/etcd.ts'
import type { NodeFetch } from '../../../src/cluster/forward/node-call.ts'
import type { RequestEntry } from '../../../src/cluster/forward/request-entry.ts'
import { sendForOwned } from '../../../src/cluster/node-ledger.ts'
import type { NodeShards } from '../../../src/cluster/node-shards.ts'
import type { BookingCommands } from '../../../src/core/bookings/booking-commands.ts'
import type { UnitDirectory } from '../../../src/core/units/unit-directory.ts'
import { IdempotentWrites } from '../../../src/http/idempotent-writes.ts'
import type { Answering } from '../../../src/http/server/served-routes.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { MemorySenderStore } from '../../events/webhooks/support/memory-sender-store.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { AppendWatch } from '../append-watch.ts'
import { Life } from '../life.ts'
import { clockOf } from '../sim-process.ts'
import type { SimStore } from '../sim-store.ts'
import type { SimWebhooks } from '../sim-webhooks.ts'
import { NodeApp } from './node-app.ts'
import { request } from './node-database.ts'
import { openEngine } from './node-engine.ts'
import { openNodeEntry } from './node-entry.ts'
import { NodeSender } from './node-sender.ts'
import type { SimEtcd } from './sim-etcd.ts'
import type { SimNetwork } from './sim-network.ts'

/** How far the clock of a machine is before or behind the world's. */
export const AHEAD_MS_MAX = 2_000

/** What a node can be cut off from. */
export type Peer = 'etcd' | 'database' | 'nodes'

/** Where a simulated build differs from the real one. */
export interface NodeFaults {
  /** What `take_shards` does not do. */
  readonly keepsEpochs?: boolean
  /** Takes its lease for good while it cannot renew it, and does not ask Postgres instead. */
  readonly ignoresLease?: boolean
  /** Goes on with what its feeds knew of a shard before it was another node's. */
  readonly keepsFeeds?: boolean
  /** Does not see whether a shard was lost while a request was answered. */
  readonly hasOneTerm?: boolean
  /** Gives repeated answers without their line in the audit trail (I6). */
  readonly repeatsUnrecorded?: boolean
  /** Goes on with the webhooks that it has queued when another node sends for their shard. */
  readonly keepsQueue?: boolean
  /** Sends for the shards that it had first, and does not tell its sender of others. */
  readonly sendsForFirst?: boolean
  readonly uncheckedBySenders?: MemorySenderStore['unchecked']
  readonly changeStore?: (store: SimStore) => void
  /** What nodes read of each other's keys. */
  readonly wrapEtcd?: (etcd: Etcd) => Etcd
  /** Takes the database for one that answers, always. */
  readonly missesNothing?: boolean
  /** How nodes send requests to each other. */
  readonly wrapFetch?: (fetch: NodeFetch) => NodeFetch
}

/**
 * One run of a node: the real membership, claims, hand-overs, journal, directory, commands, change feed, webhook sender and entry of requests. It can
 * die, hang, and be cut off.
 */
export class SimNode extends Life {
  readonly name: string
  readonly shards: NodeShards
  readonly cluster: ClusterNode
  readonly commands: BookingCommands
  readonly directory: UnitDirectory
  readonly entry: RequestEntry
  readonly sender: NodeSender
  /** Every request, of clients and of other nodes. */
  readonly answer: Answering
  readonly appends = new AppendWatch()
  readonly bugs: unknown[] = []
  /** What it is cut off from, and by which cuts. */
  readonly #cuts: Readonly<Record<Peer, Set<object>>> = { etcd: new Set(), database: new Set(), nodes: new Set() }
  readonly #leaving = new AbortController()

  constructor(options: {
    name: string
    clock: FakeClock
    store: SimStore
    etcd: SimEtcd
    network: SimNetwork
    webhooks: SimWebhooks
    dice: SeededRandom
    newId: IdSource
    faults: NodeFaults
  }) {
    super()
    const { name, store, dice, newId, faults, network, clock: worldClock } = options
    this.name = name
    const machineClock = skewed(worldClock, dice)
    const clock = clockOf(this, machineClock)
    const isCut = () => this.isCutFrom('database')
    const onBug = (error: unknown) => this.bugs.push(error)
    this.sender = new NodeSender({
      node: this,
      webhooks: options.webhooks,
      worldClock,
      clock: machineClock,
      isCutFromDatabase: isCut,
      keepsQueue: faults.keepsQueue === true,
      isEndOfMachine: () => dice.chance(0.5),
      onReplaced: onBug,
    })
    const { shards, journal, commands, directory, feed, holdTimer } = openEngine({
      name,
      node: this,
      clock,
      worldClock,
      store,
      dice,
      newId,
      faults,
      isCutFromDatabase: isCut,
      onBug,
      onBookingChange: (agencyId) => this.sender.wake(agencyId),
    })
    sendForOwned({
      shards,
      journal,
      clock,
      sender: faults.sendsForFirst === true ? firstOnly(this.sender) : this.sender,
    })
    this.shards = shards
    this.commands = commands
    this.directory = directory
    const client = options.etcd.clientOf(this, () => this.isCutFrom('etcd'))
    const etcd = faults.wrapEtcd?.(client) ?? client
    this.cluster = new ClusterNode({
      self: { id: name, url: `http://${name}`, version: 'sim', run: null, startedAt: 0 },
      clock,
      host: shards,
      keys: new ClusterKeys('/sim/'),
      isOver: () => false,
      etcd:
        faults.ignoresLease === true ? { ...etcd, keepAlive: (lease) => etcd.keepAlive(lease).catch(() => 5) } : etcd,
      watch: {
        onJoined() {},
        onLeaseLost() {},
        onNodeIdTaken() {},
        onEtcdFailure() {},
        onEtcdBack() {},
        onAcquired() {},
        onReleased() {},
        onDropped() {},
        onFenced() {},
        onMoveFailure() {},
        onDatabaseMissed() {},
        onDatabaseBack() {},
      },
    })
    const app = new NodeApp({
      clock,
      commands,
      feed,
      onBug,
      repeatsUnrecorded: faults.repeatsUnrecorded === true,
      worldMs: () => worldClock.monotonicMs(),
      has: (agencyId) => shards.termOfAgency(agencyId) !== null,
      idempotency: new IdempotentWrites({
        clock,
        termOf: (agencyId) => shards.termOfAgency(agencyId),
        find: (scope) =>
          this.receive(
            request(
              { store, clock: worldClock, dice, isCut },
              () =>
                store.idempotency.find(
                  ({ keyId, idempotencyKey }) => keyId === scope.keyId && idempotencyKey === scope.idempotencyKey,
                ) ?? null,
            ),
          ),
      }),
    })
    const fetch = network.fetchOf(this)
    const { entry, answer } = openNodeEntry({
      owners: this.cluster.owners,
      clock,
      newId,
      app: app.answer,
      leaving: this.#leaving.signal,
      onBug,
      shards: faults.hasOneTerm === true ? { termOf: () => 1 } : shards,
      fetch: faults.wrapFetch?.(fetch) ?? fetch,
    })
    this.entry = entry
    this.answer = answer
    holdTimer.start()
    void this.cluster.join().catch(onBug)
  }

  /** As the entry of requests asks: whom a request of the shard is for. */
  ownerOf(shard: number): 'self' | string | null {
    const owner = this.cluster.owners.ownerOf(shard)
    return owner === null || owner === 'self' ? owner : owner.id
  }

  isCutFrom(peer: Peer): boolean {
    return this.#cuts[peer].size > 0
  }

  /** @returns what ends this cut; others may continue */
  cutOff(from: readonly Peer[]): () => void {
    const cut = {}
    for (const peer of from) this.#cuts[peer].add(cut)
    return () => {
      for (const peer of from) this.#cuts[peer].delete(cut)
    }
  }

  /** Ends whatever is wrong with it. */
  heal(): void {
    for (const cuts of Object.values(this.#cuts)) cuts.clear()
    this.resume()
    this.sender.process.resume()
  }

  /** As after SIGTERM. @returns when it ends */
  async leave(withinMs: number): Promise<void> {
    this.#leaving.abort()
    await this.cluster.leave(withinMs).catch(() => false)
    if (this.isDead) return
    void this.cluster.close()
    this.die()
  }
}

/** Is told of the first shards that there are, and of nothing after them. */
function firstOnly(sender: NodeSender): Pick<NodeSender, 'sendFor'> {
  let isTold = false
  return {
    sendFor: (shards) => {
      if (!isTold) sender.sendFor(shards)
      isTold ||= shards.length > 0
    },
  }
}

/** Two machines' clocks differ: in what they show, by twice this at most, and by up to a per cent in speed. */
function skewed(clock: FakeClock, dice: SeededRandom): Clock {
  const [speed, ahead] = [0.99 + dice.next() / 50, dice.below(2 * AHEAD_MS_MAX) - AHEAD_MS_MAX]
  return {
    now: () => Math.round(clock.now()) + ahead,
    monotonicMs: () => clock.monotonicMs() * speed,
    after: (ms, task) => clock.after(ms / speed, task),
  }
}
