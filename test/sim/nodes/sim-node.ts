import { NodeShards } from '../../../src/app/node-shards.ts'
import { ClusterKeys } from '../../../src/cluster/cluster-keys.ts'
import { ClusterNode } from '../../../src/cluster/cluster-node.ts'
import { BookingCommands } from '../../../src/core/bookings/booking-commands.ts'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { Inventory } from '../../../src/core/catalogue/inventory.ts'
import { Journal } from '../../../src/core/journal/journal.ts'
import { notOwner } from '../../../src/core/journal/journal-error.ts'
import type { ShardEpoch, WriterTerm } from '../../../src/core/journal/journal-store.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { HoldTimer } from '../../../src/core/units/hold-timer.ts'
import { UnitDirectory } from '../../../src/core/units/unit-directory.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { CHAIN_KEYS } from '../../support/samples.ts'
import { AppendWatch } from '../append-watch.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import { clockOf, type Mortal, storeSeenBy } from '../sim-process.ts'
import type { SimStore } from '../sim-store.ts'
import type { SimEtcd } from './sim-etcd.ts'

/** Where a simulated build differs from the real one. */
export interface NodeFaults {
  /** What `take_shards` does not do. */
  readonly keepsEpochs?: boolean
  /** Takes its lease for good while it cannot renew it, and does not ask Postgres instead. */
  readonly ignoresLease?: boolean
  readonly changeStore?: (store: SimStore) => void
}

/** One run of a node: the real membership, claims, hand-overs, journal, directory and commands. It can die, hang, and be cut off. */
export class SimNode implements Mortal {
  readonly name: string
  readonly shards: NodeShards
  readonly cluster: ClusterNode
  readonly commands: BookingCommands
  readonly directory: UnitDirectory
  readonly appends = new AppendWatch()
  readonly bugs: unknown[] = []
  isCutFromEtcd = false
  isCutFromDatabase = false
  #state: 'running' | 'paused' | 'dead' = 'running'
  #heldBack: (() => void)[] = []

  constructor(options: {
    name: string
    clock: FakeClock
    store: SimStore
    etcd: SimEtcd
    dice: SeededRandom
    newId: IdSource
    faults: NodeFaults
  }) {
    const { name, store, dice, newId, faults } = options
    this.name = name
    const clock = clockOf(this, skewed(options.clock, dice))
    const seen = storeSeenBy(
      this,
      behindNetwork(store, () => this.isCutFromDatabase, options.clock),
    )
    const asked = async <T>(what: () => T): Promise<T> => {
      await travel(options.clock, dice)
      if (this.isCutFromDatabase || dice.chance(store.troublePercent / 300))
        throw new Error('Cannot reach the database')
      const answer = what()
      await travel(options.clock, dice)
      if (dice.chance(store.troublePercent / 300)) throw new Error('The answer of the database was lost')
      return answer
    }
    this.shards = new NodeShards({
      clock,
      store: {
        take: (shards) => this.receive(asked(() => take(store, shards, name, faults.keepsEpochs === true))),
        giveUp: async () => {},
        lost: (owned) => this.receive(asked(() => (faults.ignoresLease === true ? [] : lost(store, owned)))),
      },
      load: (of) =>
        this.receive(
          asked(() => ({
            agencies: AGENCIES.filter(({ id }) => of.includes(shardOf(id))),
            ...{ keys: [], accessTokens: [], used: [], passed: [], sessions: [] },
          })),
        ),
      onFailure: () => {},
    })
    const catalogue = new Catalogue(
      {
        loadAgencies: async () => [],
        loadKeys: async () => [],
        loadAccessTokens: async () => [],
        loadInventory: async (agencyId) => new Inventory(unitsOf(agencyId), []),
      },
      { has: (agencyId) => this.shards.termOfAgency(agencyId) !== null, refusal: notOwner },
    )
    const journal = new Journal({
      ...{ store: seen, clock, chainKeys: CHAIN_KEYS, lanes: 2 },
      term: { shards: [], newestMonth: '' },
      limits: { waitingMax: 200, batchMax: 8, queuedMsMax: 5_000 },
      onFenced: () => this.bugs.push('a node stopped as a whole'),
      onShardsLost: (shards) => this.shards.lostTo(shards),
      newRenewalId: () => newId('evt'),
    })
    this.directory = new UnitDirectory({
      ...{ store: seen, clock },
      limits: { residentMax: 4, mailboxMax: 20, idleMs: 2_000, snapshotEvery: 4 },
      onDefect: () => {},
      onSnapshotFailure: () => {},
      termOf: this.shards.termOfAgency,
    })
    this.commands = new BookingCommands({
      ...{ catalogue, directory: this.directory, journal, rows: seen, clock, newId, queuedMsMax: 5_000 },
      onDurable: ({ after }) => {
        if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
      },
    })
    const holdTimer = new HoldTimer({
      clock,
      watch: { onFailure: () => {}, onHoldFailure: () => {}, onBug: (error) => this.bugs.push(error) },
      holds: {
        isTransient: () => true,
        nextExpiry: (at) => seen.nextExpiry(at),
        expired: async (at, after, limit) =>
          (await seen.expiredHolds(at, after, limit)).filter(
            ({ agencyId }) => this.shards.termOfAgency(agencyId) !== null,
          ),
        expire: async ({ agencyId, bookingId }) => {
          const agency = catalogue.agencyById(agencyId)
          if (agency !== null) await this.commands.expire(agency, bookingId)
        },
      },
    })
    const nothing = { forget: () => {}, load: () => {}, restore: () => {}, adopt: () => {}, flush: async () => {} }
    this.shards.serveWith({
      ...{ journal, directory: this.directory, catalogue, holdTimer, feeds: [] },
      ...{ usage: nothing, limiter: nothing, sessions: nothing, rateSlots: nothing, refusals: nothing },
    })
    const etcd = options.etcd.clientOf(this, () => this.isCutFromEtcd)
    this.cluster = new ClusterNode({
      self: { id: name, url: `http://${name}`, version: 'sim', run: null, startedAt: 0 },
      ...{ clock, host: this.shards, keys: new ClusterKeys('/sim/'), isOver: () => false },
      etcd:
        faults.ignoresLease === true ? { ...etcd, keepAlive: (lease) => etcd.keepAlive(lease).catch(() => 5) } : etcd,
      watch: {
        ...{ onJoined() {}, onLeaseLost() {}, onNodeIdTaken() {}, onEtcdFailure() {}, onEtcdBack() {} },
        ...{ onAcquired() {}, onReleased() {}, onDropped() {}, onFenced() {}, onMoveFailure() {} },
      },
    })
    holdTimer.start()
    void this.cluster.join().catch((error) => this.bugs.push(error))
  }

  /** As the entry of requests asks: whom a request of the shard is for. */
  ownerOf(shard: number): 'self' | string | null {
    const owner = this.cluster.owners.ownerOf(shard)
    return owner === null || owner === 'self' ? owner : owner.id
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  die(): void {
    this.#state = 'dead'
    this.#heldBack = []
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    for (const task of this.#heldBack.splice(0)) task()
  }

  run(task: () => void): void {
    if (this.#state === 'running') task()
    else if (this.#state === 'paused') this.#heldBack.push(task)
  }

  receive<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => this.run(() => resolve(value)),
        (error) => this.run(() => reject(error)),
      )
    })
  }
}

/** Two machines' clocks differ: in what they show, and by up to a per cent in speed. */
function skewed(clock: FakeClock, dice: SeededRandom): Clock {
  const [speed, ahead] = [0.99 + dice.next() / 50, dice.below(4_000) - 2_000]
  return {
    now: () => Math.round(clock.now()) + ahead,
    monotonicMs: () => clock.monotonicMs() * speed,
    after: (ms, task) => clock.after(ms / speed, task),
  }
}

function travel(clock: FakeClock, dice: SeededRandom): Promise<void> {
  return new Promise((resolve) => clock.after(dice.below(20), resolve))
}

/** The store, for a node that may be cut off from it: what it asks then is not heard. */
function behindNetwork(store: SimStore, isCut: () => boolean, clock: FakeClock): SimStore {
  const cutOff = () => new Promise<void>((resolve) => clock.after(500, resolve))
  return new Proxy(store, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target)
      if (name === 'lane')
        return (index: number) => {
          const lane = target.lane(index)
          return {
            appendBatch: async (batch: Parameters<typeof lane.appendBatch>[0]) => {
              if (isCut()) {
                await cutOff()
                return { kind: 'not_sent', cause: new Error('cut off') }
              }
              const outcome = await lane.appendBatch(batch)
              return isCut() ? { kind: 'unknown', cause: new Error('cut off') } : outcome
            },
            renewEpochs: async (...of: Parameters<typeof lane.renewEpochs>) => {
              if (isCut()) {
                await cutOff()
                return { kind: 'not_sent', cause: new Error('cut off') }
              }
              return lane.renewEpochs(...of)
            },
            wasWritten: async (batch: Parameters<typeof lane.wasWritten>[0]) => {
              if (isCut()) {
                await cutOff()
                return null
              }
              return lane.wasWritten(batch)
            },
            reconnect: () => lane.reconnect(),
          }
        }
      if (typeof member !== 'function') return member
      return async (...args: unknown[]) => {
        if (isCut()) {
          await cutOff()
          throw new Error('Cannot reach the database')
        }
        return member.apply(target, args)
      }
    },
  })
}

function take(store: SimStore, shards: readonly number[], holder: string, keepsEpochs: boolean): WriterTerm {
  const taken = shards.map((shard) => {
    const row = store.shards[shard]
    if (row === undefined) throw new Error(`There is no shard ${shard}`)
    const epoch = keepsEpochs ? Math.max(1, row.epoch) : row.epoch + 1
    Object.assign(row, { epoch, holder, renewal: null })
    return { shard, epoch, ...store.headOf(shard) }
  })
  return { shards: taken, newestMonth: '2029-12-01' }
}

function lost(store: SimStore, owned: readonly ShardEpoch[]): readonly number[] {
  return owned.flatMap(({ shard, epoch }) => (store.shards[shard]?.epoch === epoch ? [] : shard))
}
