import { UnitState } from '../../src/core/domain/unit-state.ts'
import { decodeEntry } from '../../src/core/journal/entry-codec.ts'
import { CorruptLedgerError, JournalError } from '../../src/core/journal/journal-error.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { stateHash } from '../../src/core/journal/snapshot-codec.ts'
import { MINUTE_MS } from '../../src/lib/clock.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { settle } from '../support/fake-clock.ts'
import { AGENCIES, BEGIN, SIM_SHARDS, unitsOf } from './sim-agencies.ts'
import { Damage } from './sim-damage.ts'
import type { Moment } from './sim-history.ts'
import type { SimProcess } from './sim-process.ts'
import type { SimWorld } from './sim-world.ts'

const UNITS = AGENCIES.flatMap(({ id: agencyId }) => unitsOf(agencyId).map(({ id: unitId }) => ({ agencyId, unitId })))

/** What of the database a seed loses, beside what network, processes and clocks do. */
interface Losses {
  /** The end of its log, at fail-overs to a standby that was behind. */
  readonly end: boolean
  /** Rows of a unit, for a while. */
  readonly rows: boolean
}

/** One seed in four keeps everything. */
const LOSSES: readonly Losses[] = [
  { end: true, rows: false },
  { end: false, rows: true },
  { end: false, rows: false },
  { end: true, rows: true },
]

/** What befalls the database for good, and what people do about it. By dice of its own: what else happens to a seed stays the same. */
export class SimFates {
  /** Reads that were neither right nor refused, and refusals without damage. */
  readonly broken: string[] = []
  readonly #world: SimWorld
  readonly #dice: SeededRandom
  readonly #losses: Losses
  /** What the standby has since it is behind; null while it follows. */
  #standby: { readonly moment: Moment; readonly webhooks: ReturnType<SimWorld['webhooks']['moment']> } | null = null
  /** Units that were damaged, in the order in which it began. */
  readonly #damaged: string[] = []

  constructor(world: SimWorld, seed: number) {
    this.#world = world
    this.#dice = new SeededRandom(seed + 5_000_000)
    this.#losses = LOSSES[seed % LOSSES.length] as Losses
  }

  /** Called after each step of the world. */
  async step(): Promise<void> {
    if (this.#losses.end) await this.#stepOfStandby()
    if (this.#losses.rows) await this.#stepOfRows()
  }

  /** Everything heals. */
  end(): void {
    this.#world.store.damage = null
  }

  /** A command of the agency was refused with this error. A process that is not the writer any more takes what it does not know for damage. */
  noteRefusal(process: SimProcess, agencyId: string, error: unknown): void {
    const isWriter = this.#isWriter(process, agencyId)
    const isDamaged = UNITS.some((unit) => unit.agencyId === agencyId && this.#damaged.includes(unit.unitId))
    if (error instanceof CorruptLedgerError && isWriter && !isDamaged)
      this.broken.push(`D1: ${agencyId} was refused: ${error.message}`)
  }

  #isWriter({ generation, journal }: SimProcess, agencyId: string): boolean {
    const { history, shards } = this.#world.store
    return generation === history.generation && journal.epochOf(agencyId) === shards[shardOf(agencyId)]?.epoch
  }

  async #stepOfStandby(): Promise<void> {
    const { store, webhooks } = this.#world
    if (this.#standby === null) {
      if (this.#dice.chance(0.05)) this.#standby = { moment: store.history.moment(), webhooks: webhooks.moment() }
      return
    }
    if (!this.#dice.chance(0.15)) return
    await settle()
    // The rows of the standby are good.
    store.damage = null
    store.history.failOverTo(this.#standby.moment)
    webhooks.returnTo(this.#standby.webhooks)
    this.#endThoseWithLostEpochs()
    this.#standby = null
    if (this.#dice.chance(0.5)) for (const shard of SIM_SHARDS) store.history.oldVersion.add(shard)
    await this.#respond()
  }

  /**
   * Take-overs and raised epochs are lost too. The same epochs are given again: two processes with the same ones do not fence out each other.
   * Their heartbeats tell them within a second; here they are gone together with the primary. This is what the simulation leaves out, and not
   * a promise.
   */
  #endThoseWithLostEpochs(): void {
    const { store, webhooks, processes } = this.#world
    for (const process of processes)
      if (
        process.senderTerm > webhooks.store.term ||
        process.shards.some((shard) => this.#epochsAhead(process, shard) > 0)
      )
        process.die()
    store.loseAllOnTheWay()
  }

  /** That of the process less that of the database: 0 for the writer. */
  #epochsAhead({ journal }: SimProcess, shard: number): number {
    return journal.epochOfShard(shard) - (this.#world.store.shards[shard]?.epoch ?? 0)
  }

  /** What becomes of the processes, whose memory is ahead of the log. */
  async #respond(): Promise<void> {
    const { clock, store } = this.#world
    const roll = this.#dice.below(10)
    if (roll < 3) return
    if (roll < 5) for (const { directory } of this.#running) directory.sweep()
    else if (roll < 7) {
      const stopped = this.#running.map((process) => process.stop())
      if (this.#dice.chance(0.5)) await Promise.race([Promise.all(stopped), clock.advance(10_000)])
      await this.#world.start()
    } else if (roll < 8) await this.#world.start()
    else {
      // As docs/operating.md says: every process is stopped first. It takes people a minute.
      for (const process of this.#running) void process.stop()
      await clock.advance(MINUTE_MS)
      for (const process of this.#world.processes) process.die()
      store.history.afterRestore(BEGIN + clock.monotonicMs())
      await this.#world.start()
    }
  }

  get #running(): readonly SimProcess[] {
    return this.#world.processes.filter((process) => process.isRunning)
  }

  async #stepOfRows(): Promise<void> {
    const { store } = this.#world
    if (store.damage === null) {
      if (this.#dice.chance(0.05)) store.damage = Damage.to(this.#dice.pick(UNITS).unitId, store, this.#dice)
      if (store.damage !== null) this.#damaged.push(store.damage.unitId)
    } else if (this.#dice.chance(0.05)) store.damage = null
    if (this.#dice.chance(0.2)) void this.#read(this.#dice.chance(0.3) ? store.damage?.unitId : undefined)
  }

  /** Whatever is stored of a unit: what is read of it is right, or refused (D1). */
  async #read(unitId = this.#dice.pick(UNITS).unitId): Promise<void> {
    const unit = UNITS.find((each) => each.unitId === unitId)
    const { store, processes } = this.#world
    const process = unit && processes.findLast((each) => each.hasTaken(unit.agencyId))
    if (unit === undefined || process === undefined || !process.isRunning) return
    // The one before as well: this read may wait for what another one has begun to recover. And those that begin while the answer is on its way.
    const first = Math.max(0, this.#damaged.length - (store.damage === null ? 1 : 2))
    try {
      const state = await process.directory.read(unit)
      // Its memory may be ahead of the log, until it learns that it is not the writer of this one.
      if (process.generation < store.history.generation) return
      const replayed = UnitState.empty(unitId)
      for (const row of store.journal.filter((of) => of.shard === shardOf(unit.agencyId) && of.seq <= state.seq))
        if (row.unitId === unitId || row.otherUnitId === unitId) replayed.apply(decodeEntry(row), row.seq)
      if (stateHash(state) !== stateHash(replayed))
        this.broken.push(`D1: ${unitId} was read, and is not what its journal says`)
    } catch (error) {
      const isReplaced =
        error instanceof JournalError && error.kind === 'not_owner' && !this.#isWriter(process, unit.agencyId)
      if (isReplaced) return
      if (
        error instanceof CorruptLedgerError
          ? !this.#damaged.includes(unitId, first)
          : !/connection lost/.test(String(error))
      )
        this.broken.push(`D1: ${unitId} was not read: ${error}`)
    }
  }
}
