import { ANSWER_MS_MAX, ASK_EVERY_MS } from '../../../src/cluster/database-reach.ts'
import type { AppendFailure, BatchToAppend, NumberedRecord } from '../../../src/core/journal/journal-store.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import type { Life } from '../life.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import { Damage } from '../sim-damage.ts'
import { SimStore } from '../sim-store.ts'
import { SimWebhooks } from '../sim-webhooks.ts'
import { DatabaseCuts } from './database-cuts.ts'
import { CALLER } from './node-app.ts'
import { NodesClients } from './nodes-clients.ts'
import { NodesReaders } from './nodes-readers.ts'
import { SimEtcd } from './sim-etcd.ts'
import { SimNetwork } from './sim-network.ts'
import { AHEAD_MS_MAX, type NodeFaults, type Peer, SimNode } from './sim-node.ts'

const NAMES = ['a', 'b', 'c'] as const
const UNIT_IDS = AGENCIES.flatMap((agency) => unitsOf(agency.id).map(({ id }) => id))
const JOINED_MS_MAX = 10_000
/** Longer than a lease, a hold and the wait of a reader together, and than it takes until nobody misses the database any more. */
const HEALED_MS = 38_000
/** Within which a reader is shown a change when nothing is wrong. */
const SHOWN_MS_MAX = 7_000
/** How long something is wrong with a node: mostly long enough to lose its shards. */
const SPELL_MS_MAX = 12_000
/** The same for a node that reaches etcd, and no database. */
const LONG_CUT_MS_MAX = 40_000
/** Of so many seeds, one ends with a long time without the database. */
const DATABASE_CUTS_EVERY = 3
/** And in so many, stored rows of a unit are damaged now and then. */
const DAMAGE_EVERY = 2
const SETTLED_LOOK_MS = 500
/** How long a process that is stopped has to hand over. */
const LEAVE_MS_MAX = 4_000

/** Notes what is written under an epoch that is not the shard's, and which entries are written with an idempotency key. */
class NodesStore extends SimStore {
  readonly written: string[] = []
  /** By agency and key. */
  readonly entriesOfKeys = new Map<string, Set<string>>()

  protected override write(batch: BatchToAppend): 'durable' | AppendFailure {
    const stale = batch.shards.filter(({ shard, epoch }) => this.shards[shard]?.epoch !== epoch)
    const outcome = super.write(batch)
    if (outcome === 'durable')
      for (const { shard, epoch } of stale) this.written.push(`J5: shard ${shard} was written to under epoch ${epoch}`)
    if (outcome === 'durable') for (const record of batch.records) this.#noteKey(record)
    return outcome
  }

  /** An answer without an entry may be written twice: it stands for nothing that was done. */
  #noteKey({ record: { idempotency }, entries: [entry] }: NumberedRecord): void {
    if (idempotency === undefined || entry === undefined) return
    const key = `${idempotency.keyId} ${idempotency.idempotencyKey}`
    this.entriesOfKeys.set(key, (this.entriesOfKeys.get(key) ?? new Set()).add(entry.id))
  }
}

/** In every third world the nodes are workers of one machine. */
const WORKERS_EVERY = 3

/** Nodes, their etcd and database, and clients that come in anywhere, on one simulated clock; everything chosen by the seed. */
export class NodesWorld {
  readonly clock = new FakeClock(Date.UTC(2027, 0, 31, 23, 45))
  readonly dice: SeededRandom
  readonly store: NodesStore
  readonly etcd: SimEtcd
  readonly network: SimNetwork
  readonly clients: NodesClients
  readonly readers: NodesReaders
  readonly webhooks: SimWebhooks
  readonly cuts: DatabaseCuts
  readonly nodes: SimNode[] = []
  /** Of the journal: so many have been there for `SHOWN_MS_MAX` at the end. */
  settledEntries = 0
  readonly #faults: NodeFaults
  /** Of their own, so that they change nothing else of a seed. */
  readonly #damageDice: SeededRandom
  #ids = 0

  private constructor(seed: number, faults: NodeFaults) {
    const { clock, nodes } = this
    const dice = new SeededRandom(seed)
    this.dice = dice
    this.#damageDice = new SeededRandom(seed + 5_000_000)
    this.store = new NodesStore(clock, dice)
    this.etcd = new SimEtcd(clock, new SeededRandom(seed + 1_000_000), { isParent: seed % WORKERS_EVERY === 0 })
    this.network = new SimNetwork(clock, new SeededRandom(seed + 2_000_000), nodes)
    const webhookDice = new SeededRandom(seed + 4_000_000)
    this.webhooks = new SimWebhooks({ clock, dice: webhookDice, journal: this.store, aheadMsMax: AHEAD_MS_MAX })
    this.webhooks.store.unchecked = faults.uncheckedBySenders ?? null
    const alive = () => this.alive
    this.clients = new NodesClients({ clock, dice, store: this.store, network: this.network, alive })
    this.readers = new NodesReaders({ clock, network: this.network, alive, dice: new SeededRandom(seed + 3_000_000) })
    this.cuts = new DatabaseCuts({ clock, dice, clients: this.clients })
    this.#faults = faults
    faults.changeStore?.(this.store)
  }

  static async run(seed: number, steps: number, faults: NodeFaults = {}): Promise<NodesWorld> {
    const world = new NodesWorld(seed, faults)
    await world.#begin()
    for (let step = 0; step < steps; step++) {
      await world.#step()
      if (seed % DAMAGE_EVERY === 0) world.#damageRows()
    }
    if (seed % DATABASE_CUTS_EVERY === 0) await world.#cutFromDatabase()
    await world.#end()
    return world
  }

  get alive(): SimNode[] {
    return this.nodes.filter((node) => !node.isDead)
  }

  async #begin(): Promise<void> {
    this.store.troublePercent = 0
    for (const name of NAMES) this.#start(name)
    while (!this.isSettled) {
      if (this.clock.monotonicMs() > JOINED_MS_MAX) throw new Error('The nodes have not shared the shards')
      await this.clock.advance(100)
    }
    const set = AGENCIES.flatMap((agency) => {
      const owner = this.nodes.find((node) => node.ownerOf(shardOf(agency.id)) === 'self')
      return unitsOf(agency.id).map((unit) => owner?.commands.setUnit(agency, unit.id, () => unit, CALLER))
    })
    await this.clock.advance(500)
    await Promise.all(set)
    this.store.troublePercent = this.dice.below(20)
    this.network.lossPermille = this.dice.below(40)
    this.readers.start()
  }

  /** Every shard has the owner that it should have, and every node knows all nodes, which want to stay and reach the database. */
  get isSettled(): boolean {
    const { alive } = this
    const isWhole = alive.every(
      ({ cluster: { view } }) =>
        view.members.size === NAMES.length &&
        [...view.members.values()].every(({ state, reachesDatabase }) => state === 'up' && reachesDatabase === true),
    )
    const isOwned = (shard: number) =>
      alive.some((node) => node.cluster.wanted[shard] === node.name && node.ownerOf(shard) === 'self')
    return isWhole && Array.from({ length: SHARDS }, (_, shard) => shard).every(isOwned)
  }

  /** Long enough for a node that alone does not reach the database to give its shards up; first, everything else settles. */
  async #cutFromDatabase(): Promise<void> {
    this.#heal()
    // A question may be under way that was lost; the next one is answered.
    await this.clock.advance(2 * (ASK_EVERY_MS + ANSWER_MS_MAX))
    for (let ms = 0; ms < HEALED_MS && !this.isSettled; ms += SETTLED_LOOK_MS) await this.clock.advance(SETTLED_LOOK_MS)
    if (this.isSettled) await this.cuts.run(this.alive)
  }

  /** Everything heals; soon every shard has the owner that it should have. */
  async #end(): Promise<void> {
    this.#heal()
    this.clients.stop()
    await this.clock.advance(HEALED_MS)
    this.settledEntries = this.store.journal.length
    await this.clock.advance(SHOWN_MS_MAX)
  }

  #damageRows(): void {
    const [dice, { store }] = [this.#damageDice, this]
    if (store.damage !== null) store.damage = dice.chance(0.05) ? null : store.damage
    else if (dice.chance(0.05)) store.damage = Damage.to(dice.pick(UNIT_IDS), store, dice)
  }

  #heal(): void {
    this.store.damage = null
    this.store.troublePercent = 0
    this.network.lossPermille = 0
    this.webhooks.lossPercent = 0
    this.etcd.isAway = false
    for (const node of this.alive) node.heal()
    for (const name of NAMES) if (!this.alive.some((node) => node.name === name)) this.#start(name)
  }

  #start(name: string): void {
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const { clock, store, etcd, network, webhooks, dice } = this
    this.nodes.push(new SimNode({ name, clock, store, etcd, network, webhooks, newId, dice, faults: this.#faults }))
  }

  async #step(): Promise<void> {
    const { dice } = this
    const roll = dice.below(100)
    const node = dice.pick(this.alive)
    if (roll < 30) for (let n = dice.below(6); n >= 0; n--) this.clients.command()
    else if (roll < 55) for (let n = dice.below(3); n >= 0; n--) this.clients.read()
    else if (roll < 86) await this.clock.advance(dice.below(300))
    else if (roll < 88) await this.clock.advance(dice.below(4_000))
    else if (roll < 90) this.#cut(node, ['etcd'])
    else if (roll < 92) this.#cut(node, ['database'], dice.chance(0.25) ? LONG_CUT_MS_MAX : SPELL_MS_MAX)
    else if (roll < 93) this.#cut(node, dice.chance(0.5) ? ['etcd', 'database', 'nodes'] : ['etcd', 'database'])
    else if (roll < 94) this.#cut(node, ['nodes'])
    else if (roll < 96) this.#pause(dice.chance(0.5) ? [node] : [node, node.sender.process])
    else if (roll < 97) {
      this.etcd.isAway = true
      this.clock.after(dice.below(15_000), () => {
        this.etcd.isAway = false
      })
    } else if (roll < 98) {
      node.die()
      this.#start(node.name)
    } else if (roll < 99) await this.#leave(node)
    else if (dice.chance(0.5)) node.sender.kill()
    else this.#pause([node.sender.process])
  }

  #pause(processes: readonly Life[]): void {
    for (const each of processes) each.pause()
    this.clock.after(this.dice.below(SPELL_MS_MAX), () => {
      for (const each of processes) each.resume()
    })
  }

  #cut(node: SimNode, from: readonly Peer[], msMax = SPELL_MS_MAX): void {
    this.clock.after(this.dice.below(msMax), node.cutOff(from))
  }

  /** Planned: it hands over, and starts again. */
  async #leave(node: SimNode): Promise<void> {
    if (!node.isRunning) return
    void node.leave(LEAVE_MS_MAX).then(() => {
      if (!this.alive.some(({ name }) => name === node.name)) this.#start(node.name)
    })
    await this.clock.advance(this.dice.below(2_000))
  }
}
