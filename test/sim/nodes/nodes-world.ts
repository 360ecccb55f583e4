import type { FoundOutcome } from '../../../src/core/bookings/booking-request.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { BookingStatus } from '../../../src/core/domain/booking.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../../src/core/journal/entry-codec.ts'
import type { AppendFailure, BatchToAppend } from '../../../src/core/journal/journal-store.ts'
import type { Caller } from '../../../src/core/journal/record.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { night, sampleId } from '../../support/samples.ts'
import { brokenLedger } from '../oracle.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import { SimStore } from '../sim-store.ts'
import type { Acknowledgement } from '../sim-world.ts'
import { SimEtcd } from './sim-etcd.ts'
import { type NodeFaults, SimNode } from './sim-node.ts'

const CALLER: Caller = { actor: { kind: 'key', id: sampleId('key', 'a') }, route: 'sim', requestId: null }
const FIRST = night('2027-03-01')
const NAMES = ['a', 'b', 'c'] as const
/** C6, and a per cent for the speed of a node's clock. */
const STALE_MS_MAX = 1_200 * 1.02
/** How long an entry node holds a request without an owner. */
const HOLD_MS = 10_000

/** Notes what is written under an epoch that is not the shard's. */
class NodesStore extends SimStore {
  readonly written: string[] = []

  protected override write(batch: BatchToAppend): 'durable' | AppendFailure {
    const stale = batch.shards.filter(({ shard, epoch }) => this.shards[shard]?.epoch !== epoch)
    const outcome = super.write(batch)
    if (outcome === 'durable')
      for (const { shard, epoch } of stale) this.written.push(`J5: shard ${shard} was written to under epoch ${epoch}`)
    return outcome
  }
}

/** Nodes, their etcd and database, and clients that come in anywhere, on one simulated clock; everything chosen by the seed. */
export class NodesWorld {
  readonly clock = new FakeClock(Date.UTC(2027, 0, 31, 23, 45))
  readonly dice: SeededRandom
  readonly store: NodesStore
  readonly etcd: SimEtcd
  readonly acknowledged: Acknowledgement[] = []
  readonly denied: string[] = []
  /** What a read showed that it must not have. */
  readonly stale: string[] = []
  readonly nodes: SimNode[] = []
  reads = 0
  readonly #faults: NodeFaults
  /** By unit: the last number that was acknowledged at a time, in order. */
  readonly #known = new Map<string, { readonly at: number; readonly seq: number }[]>()
  #ids = 0
  #refs = 0

  private constructor(seed: number, faults: NodeFaults) {
    this.dice = new SeededRandom(seed)
    this.store = new NodesStore(this.clock, this.dice)
    this.etcd = new SimEtcd(this.clock, new SeededRandom(seed + 1_000_000))
    this.#faults = faults
    faults.changeStore?.(this.store)
  }

  static async run(seed: number, steps: number, faults: NodeFaults = {}): Promise<NodesWorld> {
    const world = new NodesWorld(seed, faults)
    await world.#begin()
    for (let step = 0; step < steps; step++) await world.#step()
    await world.#end()
    return world
  }

  async #begin(): Promise<void> {
    this.store.troublePercent = 0
    for (const name of NAMES) this.#start(name)
    await this.clock.advance(8_000)
    const set = AGENCIES.flatMap((agency) =>
      unitsOf(agency.id).map((unit) =>
        this.#routed(agency, (node) => node.commands.setUnit(agency, unit.id, () => unit, CALLER)),
      ),
    )
    await this.clock.advance(12_000)
    if ((await Promise.all(set)).some((unit) => unit === null)) throw new Error('The world has no units')
    this.store.troublePercent = this.dice.below(20)
  }

  /** Everything heals; three minutes later every shard has one owner. */
  async #end(): Promise<void> {
    this.store.troublePercent = 0
    this.etcd.isAway = false
    for (const node of this.nodes) {
      node.isCutFromEtcd = false
      node.isCutFromDatabase = false
      node.resume()
    }
    for (const name of NAMES) if (!this.nodes.some((node) => node.name === name && !node.isDead)) this.#start(name)
    await this.clock.advance(60_000)
  }

  #start(name: string): void {
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const { clock, store, etcd, dice } = this
    this.nodes.push(new SimNode({ ...{ name, clock, store, etcd, newId }, dice, faults: this.#faults }))
  }

  get alive(): SimNode[] {
    return this.nodes.filter((node) => !node.isDead)
  }

  async #step(): Promise<void> {
    const { dice } = this
    const roll = dice.below(100)
    const node = dice.pick(this.alive)
    if (roll < 30) for (let n = dice.below(6); n >= 0; n--) this.#command()
    else if (roll < 55) for (let n = dice.below(6); n >= 0; n--) this.#read()
    else if (roll < 86) await this.clock.advance(dice.below(300))
    else if (roll < 88) await this.clock.advance(dice.below(4_000))
    else if (roll < 90) this.#spell(node, () => (node.isCutFromEtcd = true))
    else if (roll < 92) this.#spell(node, () => (node.isCutFromDatabase = true))
    else if (roll < 93)
      this.#spell(node, () => {
        node.isCutFromEtcd = true
        node.isCutFromDatabase = true
      })
    else if (roll < 96) this.#spell(node, () => node.pause())
    else if (roll < 97) {
      this.etcd.isAway = true
      this.clock.after(dice.below(15_000), () => {
        this.etcd.isAway = false
      })
    } else if (roll < 98) {
      node.die()
      this.#start(node.name)
    } else if (roll < 99) await this.#leave(node)
  }

  /** Something is wrong with a node for a while: mostly for long enough to lose its shards. */
  #spell(node: SimNode, begin: () => void): void {
    begin()
    this.clock.after(this.dice.below(12_000), () => {
      node.isCutFromEtcd = false
      node.isCutFromDatabase = false
      node.resume()
    })
  }

  /** Planned: it hands over, and starts again. */
  async #leave(node: SimNode): Promise<void> {
    if (!node.isRunning) return
    const left = node.cluster.leave(4_000).catch(() => false)
    void left.then(() => {
      if (node.isDead) return
      void node.cluster.close()
      node.die()
      this.#start(node.name)
    })
    await this.clock.advance(this.dice.below(2_000))
  }

  /** Comes in at any node, which decides, sends on once, or holds. @throws what the deciding node throws */
  async #routed<T>(agency: Agency, run: (node: SimNode) => Promise<T> | T): Promise<T | null> {
    const shard = shardOf(agency.id)
    const until = this.clock.monotonicMs() + HOLD_MS
    while (this.clock.monotonicMs() < until) {
      const running = this.alive.filter(({ isRunning }) => isRunning)
      const entry = running.length === 0 ? null : this.dice.pick(running)
      const owner = entry?.ownerOf(shard) ?? null
      const decider = owner === 'self' ? entry : (running.find(({ name }) => name === owner) ?? null)
      if (decider !== null && (decider === entry || !this.dice.chance(0.02))) {
        if (decider !== entry) await this.#travel()
        if (decider.isRunning && decider.ownerOf(shard) === 'self') {
          try {
            return await run(decider)
          } catch (error) {
            if ((error as { kind?: string }).kind !== 'not_owner') throw error
          }
        }
      }
      await new Promise<void>((resolve) => this.clock.after(20 + this.dice.below(50), resolve))
    }
    return null
  }

  #travel(): Promise<void> {
    return new Promise((resolve) => this.clock.after(this.dice.below(10), resolve))
  }

  #command(): void {
    const agency = this.dice.pick(AGENCIES)
    const ref = `ref ${++this.#refs}`
    const ask = this.#askOf(agency, ref)
    this.#routed(agency, (node) => node.receive(ask(node))).then(
      (outcome) => {
        if (outcome === null) {
          this.denied.push(ref)
          return
        }
        if (outcome.kind !== 'done') return
        const { id, version, status, unitId } = outcome.booking
        this.acknowledged.push({ agencyId: agency.id, seq: outcome.seq, bookingId: id, version, status })
        if (outcome.seq !== null) this.#noteKnown(unitId, outcome.seq)
      },
      (error: { kind?: string; code?: string }) => {
        if (error.kind !== undefined && error.kind !== 'outcome_unknown') this.denied.push(ref)
      },
    )
  }

  #noteKnown(unitId: string, seq: number): void {
    const known = this.#known.get(unitId) ?? []
    known.push({ at: this.clock.monotonicMs(), seq })
    this.#known.set(unitId, known)
  }

  #askOf(agency: Agency, ref: string): (node: SimNode) => Promise<FoundOutcome> {
    const { dice } = this
    const units = unitsOf(agency.id)
    const known = [...this.store.bookings.values()].filter(({ agencyId }) => agencyId === agency.id)
    const arrival = addNights(FIRST, dice.below(20))
    const departure = addNights(arrival, 1 + dice.below(5))
    const unit = dice.pick(units)
    const status = dice.pick<BookingStatus>(['confirmed', 'confirmed', 'option'])
    if (dice.below(10) < 6 || known.length === 0)
      return (node) =>
        node.commands.book(
          agency,
          {
            ...{ unit, stay: { arrival, departure }, type: 'guest', source: 'partner', sourceRef: ref, status },
            ...{ holdHours: null, notes: null, adults: 2, children: 0, extraBed: false, guest: null },
            enforcement: 'partner',
          },
          CALLER,
        )
    const bookingId = dice.pick(known).booking.id
    if (dice.chance(0.6)) return (node) => node.commands.cancel(agency, { bookingId, reason: ref }, CALLER)
    return (node) => node.commands.change(agency, { bookingId, change: { unitId: unit.id } }, CALLER)
  }

  /** Whoever serves a unit must show what was acknowledged more than 1.2 s before. */
  #read(): void {
    const agency = this.dice.pick(AGENCIES)
    const unit = this.dice.pick(unitsOf(agency.id))
    const shard = shardOf(agency.id)
    for (const node of this.alive) {
      if (!node.isRunning || node.ownerOf(shard) !== 'self') continue
      const term = node.shards.termOf(shard)
      node.receive(Promise.resolve(node.commands.calendar(agency, unit))).then(
        (state) => {
          // As the entry of requests does: what was asked of another ownership is asked again.
          if (node.shards.termOf(shard) === term && node.ownerOf(shard) === 'self')
            this.#checkRead(node, unit.id, state.seq)
        },
        () => {},
      )
    }
  }

  #checkRead(node: SimNode, unitId: string, shown: number): void {
    this.reads += 1
    const now = this.clock.monotonicMs()
    const due = this.#known.get(unitId)?.findLast(({ at, seq }) => at < now - STALE_MS_MAX && seq > shown)
    if (due !== undefined)
      this.stale.push(
        `C6: ${node.name} showed ${unitId} at ${shown}; ${due.seq} was acknowledged ${now - due.at} ms before`,
      )
  }

  /** Every broken promise; empty if all hold. */
  async broken(): Promise<string[]> {
    return [
      ...brokenLedger(this),
      ...this.stale,
      ...this.store.written,
      ...this.nodes.flatMap(({ name, bugs, appends }) => [
        ...bugs.map((bug) => `A bug ended ${name}: ${bug}`),
        ...appends.broken.map((what) => `${what}, by ${name}`),
      ]),
      ...this.#unowned(),
      ...(await this.#unlikeReplay()),
    ]
  }

  #unowned(): string[] {
    const owners = Array.from({ length: SHARDS }, (_, shard) =>
      this.alive.filter((node) => node.ownerOf(shard) === 'self').map(({ name }) => name),
    )
    const wrong = owners.flatMap((names, shard) =>
      names.length === 1 ? [] : `${shard}: ${names.join(' ') || 'nobody'}`,
    )
    return wrong.length === 0
      ? []
      : [`C7: a minute after everything healed, shards are owned by ${wrong.slice(0, 5).join(', ')}`]
  }

  async #unlikeReplay(): Promise<string[]> {
    const entries = this.store.journal.map((row) => ({ row, event: decodeEntry(row) }))
    const problems: string[] = []
    for (const agency of AGENCIES) {
      const node = this.alive.find((each) => each.ownerOf(shardOf(agency.id)) === 'self')
      if (node === undefined) continue
      for (const unit of unitsOf(agency.id)) {
        const replayed = UnitState.empty(unit.id)
        for (const { row, event } of entries)
          if (row.unitId === unit.id || row.otherUnitId === unit.id) replayed.apply(event, row.seq)
        const reading = Promise.allSettled([node.directory.read({ agencyId: agency.id, unitId: unit.id })])
        await this.clock.advance(200)
        const [read] = await reading
        if (read.status === 'rejected') problems.push(`S1: ${unit.id} cannot be recovered: ${read.reason}`)
        else if (stateHash(read.value) !== stateHash(replayed))
          problems.push(`S1: ${unit.id} is not what its journal says`)
      }
    }
    return problems
  }
}
