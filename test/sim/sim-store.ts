import type { BookingRow } from '../../src/core/bookings/booking-turns.ts'
import type { ShardHead } from '../../src/core/journal/batch.ts'
import type { StoredEntry } from '../../src/core/journal/entry-codec.ts'
import type {
  AppendFailure,
  BatchToAppend,
  LaneStore,
  ShardEpoch,
  StoredUnit,
  WriterTerm,
} from '../../src/core/journal/journal-store.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import type { StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { type Fate, type JournalRow, MemoryJournalStore } from '../support/memory-journal-store.ts'
import type { Damage } from './sim-damage.ts'
import { SimHistory } from './sim-history.ts'

/**
 * Beyond the fates of a send. `late`: the request is lost to the sender, and still reaches the server later. `held_up`: the same,
 * and until then the server is overloaded and cancels every other batch.
 * `fail_over`: the server dies with the send; the standby that is promoted has the batch, or has not, and takes no writes
 * for a while. `slow_spell`: for a while the server cancels every batch of more than one record.
 */
type SimFate = Fate | 'late' | 'held_up' | 'fail_over' | 'slow_spell'

const TROUBLES = [
  ...(['late', 'lose_request', 'lose_reply', 'refuse_connection', 'refuse_for_now', 'read_only', 'too_slow'] as const),
  ...(['held_up', 'fail_over', 'slow_spell'] as const),
] as const satisfies readonly SimFate[]

/** A booking whose reference ends like this is refused by the database as a data error, always. */
export const POISON = 'poison'

/**
 * What a broken database does not check. `snapshots`: whether a snapshot is of the writer of its shard, and of an entry in the log.
 * `cut back`: at a take-over, whether a snapshot is ahead of the log. `versions`: after a restore, which ones partners have seen.
 */
type Unchecked = 'fences' | 'fences but the first' | 'gaps' | 'snapshots' | 'cut back' | 'versions'

const LOST: AppendFailure = { kind: 'unknown', cause: new Error('connection lost') }

/** The store behind a network that delays, loses, and delivers late what it seemed to have lost. */
export class SimStore extends MemoryJournalStore {
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  /** How many of 100 sends fail. */
  troublePercent = 25
  /** Called when a sender loses the reply to a batch. */
  onLost: (batch: BatchToAppend) => void = () => {}
  /** Snapshots of which a byte has flipped. */
  flipped = 0
  /** Only a broken build sets it. */
  unchecked: Unchecked | null = null
  /** What a fail-over to an asynchronous standby, and a restore, have made of the database. */
  readonly history = new SimHistory(this)
  /** Of the rows that recovery reads. */
  damage: Damage | null = null
  /** Counts the servers: what one of them had not committed when it died is gone. */
  #server = 0
  /** Rises when everything that is on its way is lost. */
  #era = 0
  #failingOverUntil = 0
  /** Cancels batches of more than one record. */
  #slowUntil = 0
  /** Cancels all batches. */
  #overloadedUntil = 0

  constructor(clock: FakeClock, dice: SeededRandom) {
    super()
    this.#clock = clock
    this.#dice = dice
    this.isPoison = ({ entries = [] }) =>
      entries.some(({ event }) => event.kind === 'booking_created' && event.after.sourceRef?.endsWith(POISON) === true)
  }

  /** A connection that can stall while those of the other lanes work. */
  override lane(_lane: number): LaneStore {
    let stalledUntil = 0
    const whenWorking = async <T>(work: () => Promise<T>, lost: T): Promise<T> => {
      const now = this.#clock.monotonicMs()
      const era = this.#era
      if (this.#dice.chance(this.troublePercent / 500)) stalledUntil = now + this.#dice.below(3_000)
      if (stalledUntil > now) await new Promise<void>((resolve) => this.#clock.after(stalledUntil - now, resolve))
      return era === this.#era ? work() : lost
    }
    return {
      appendBatch: (batch) => whenWorking(() => this.appendBatch(batch), LOST),
      renewEpochs: (shards, renewal) => whenWorking(() => this.renewEpochs(shards, renewal), LOST),
      wasWritten: (batch) => whenWorking(() => this.wasWritten(batch), null),
      reconnect: () => {
        stalledUntil = 0
        this.reconnect()
      },
    }
  }

  override async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    const fate = this.#fate()
    const era = this.#era
    await this.#travel()
    if (era !== this.#era) return LOST
    switch (fate) {
      case 'late':
        this.#later(() => this.write(batch))
        this.onLost(batch)
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'held_up': {
        const ms = this.#dice.below(8_000)
        this.#overloadedUntil = this.#clock.monotonicMs() + ms
        this.#later(() => this.write(batch), ms)
        return { kind: 'unknown', cause: new Error('deadline missed') }
      }
      case 'fail_over':
        if (this.#dice.chance(0.5)) this.write(batch)
        this.failOver()
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'slow_spell':
        this.#slowUntil = this.#clock.monotonicMs() + this.#dice.below(10_000)
        this.fate = () => 'too_slow'
        break
      default: {
        const slowUntil = batch.records.length > 1 ? this.#slowUntil : 0
        const isTooSlow = this.#clock.monotonicMs() < Math.max(slowUntil, this.#overloadedUntil)
        this.fate = () => (fate === 'deliver' && isTooSlow ? 'too_slow' : fate)
      }
    }
    const outcome = await super.appendBatch(batch)
    await this.#travel()
    if (outcome !== 'durable' && outcome.kind === 'unknown') this.onLost(batch)
    return outcome
  }

  override async renewEpochs(
    shards: readonly ShardEpoch[],
    renewal: string,
  ): Promise<readonly ShardEpoch[] | AppendFailure> {
    const fate = this.#fate()
    const era = this.#era
    await this.#travel()
    if (era !== this.#era) return LOST
    const renew = () => super.renewEpochs(shards, renewal)
    switch (fate) {
      case 'late':
        this.#later(() => void renew())
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'lose_reply':
        await renew()
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'read_only':
        return { kind: 'refused', cause: new Error('read-only') }
      case 'deliver':
        return renew()
      default:
        return { kind: 'not_sent', cause: new Error('connection refused') }
    }
  }

  /** What a database that is away cannot tell, it does not tell. */
  override async wasWritten(batch: BatchToAppend): Promise<boolean | null> {
    const fate = this.#fate()
    await this.#travel()
    return fate === 'deliver' ? super.wasWritten(batch) : null
  }

  protected override fencedIn(batch: BatchToAppend): number[] {
    switch (this.unchecked) {
      case 'fences':
        return []
      case 'fences but the first':
        return super.fencedIn({ ...batch, shards: batch.shards.slice(0, 1) })
      default:
        return super.fencedIn(batch)
    }
  }

  protected override follows(entry: JournalRow, head: ShardHead): boolean {
    return this.unchecked === 'gaps' ? entry.seq > head.lastSeq : super.follows(entry, head)
  }

  /** An orphaned backend: it commits long after its client has discarded the connection, if its server lives that long. */
  #later(commit: () => void, ms = this.#someMs()): void {
    const server = this.#server
    this.#clock.after(ms, () => {
      if (server === this.#server) commit()
    })
  }

  /** Half of the times soon: while the sender is still determining the outcome. */
  #someMs(): number {
    return this.#dice.below(this.#dice.chance(0.5) ? 150 : 3_000)
  }

  /** Loses what has been sent and has not arrived. */
  loseAllOnTheWay(): void {
    this.#server += 1
    this.#era += 1
  }

  /** What this server had not committed is gone, and the next one takes no writes for a while. */
  failOver(): void {
    this.#server += 1
    this.#failingOverUntil = this.#clock.monotonicMs() + this.#dice.below(4_000)
  }

  override takeOverShards(taken: Iterable<number>, holder: string): WriterTerm {
    const shards = new Set(taken)
    this.cutBackSnapshots(shards)
    return super.takeOverShards(shards, holder)
  }

  /** As `cut_back_snapshots`. */
  cutBackSnapshots(shards: ReadonlySet<number>): void {
    this.history.noteTaken(shards)
    if (this.unchecked === 'cut back') return
    const kept = this.snapshots.filter((s) => !shards.has(shardOf(s.agencyId)) || !this.history.isAhead(s))
    this.snapshots.splice(0, this.snapshots.length, ...kept)
  }

  override async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    await this.#travelSafely()
    const { snapshots, tail } = await super.loadUnit(agencyId, unitId)
    return { tail, snapshots: this.damage?.snapshots(unitId, snapshots) ?? snapshots }
  }

  override async loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]> {
    const entries = await super.loadEntries(agencyId, unitId, afterSeq)
    return this.damage?.entries(unitId, entries) ?? entries
  }

  override async find(agencyId: string, bookingId: string): Promise<BookingRow | null> {
    await this.#travelSafely()
    return super.find(agencyId, bookingId)
  }

  override async ofGroup(agencyId: string, groupId: string): Promise<readonly BookingRow[]> {
    await this.#travelSafely()
    return super.ofGroup(agencyId, groupId)
  }

  /** @param epochOf of the writer that sends them */
  override async writeSnapshots(
    snapshots: readonly StoredSnapshot[],
    epochOf: (agencyId: string) => number = () => 0,
  ): Promise<void> {
    const sent = snapshots.map((snapshot) => ({ snapshot, epoch: epochOf(snapshot.agencyId) }))
    await this.#travelSafely()
    const isDamaged = this.#dice.chance(0.1)
    if (isDamaged) this.flipped += 1
    const written = sent.filter(({ snapshot, epoch }) => this.#takesSnapshot(snapshot, epoch))
    await super.writeSnapshots(
      written.map(({ snapshot: s }) => (isDamaged ? { ...s, state: s.state.replace('"seq":', '"seq": ') } : s)),
    )
  }

  /** As the statement of PostgresJournalStore does (S3). */
  #takesSnapshot({ agencyId, unitId, seq }: StoredSnapshot, epoch: number): boolean {
    const row = this.shards[shardOf(agencyId)]
    if (this.unchecked === 'snapshots') return true
    if (row?.epoch !== epoch) return false
    const isOfUnit = (of: JournalRow) => of.unitId === unitId || of.otherUnitId === unitId
    return this.history.oldVersion.has(shardOf(agencyId)) || this.journal.some((of) => of.seq === seq && isOfUnit(of))
  }

  protected override write(batch: BatchToAppend): 'durable' | AppendFailure {
    const before = this.journal.length
    const outcome = super.write(batch)
    this.history.noteWritten(this.journal.slice(before))
    return outcome
  }

  #fate(): SimFate {
    if (this.troublePercent === 0) return 'deliver'
    if (this.#clock.monotonicMs() < this.#failingOverUntil)
      return this.#dice.pick<SimFate>(['read_only', 'refuse_connection'])
    return this.#dice.chance(this.troublePercent / 100) ? this.#dice.pick<SimFate>(TROUBLES) : 'deliver'
  }

  #travel(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(this.#dice.below(30), resolve))
  }

  /** Reads can fail as well; the caller gets the error. */
  async #travelSafely(): Promise<void> {
    await this.#travel()
    if (this.#dice.chance(this.troublePercent / 500)) throw new Error('Cannot read: connection lost')
  }
}
