import type { BookingRow } from '../../src/core/bookings/booking-rows.ts'
import type { AppendFailure, BatchToAppend, StoredUnit } from '../../src/core/journal/journal-store.ts'
import type { StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { type Fate, MemoryJournalStore, type WrittenEvent } from '../support/memory-journal-store.ts'

/**
 * Beyond the fates of a send. `late`: the request is lost to the sender, and still reaches the server later.
 * `fail_over`: the server dies with the send; the standby that is promoted has the batch, or has not, and takes no writes
 * for a while. `slow_spell`: for a while the server cancels every batch of more than one record.
 */
type SimFate = Fate | 'late' | 'fail_over' | 'slow_spell'

const TROUBLES = [
  ...(['late', 'lose_request', 'lose_reply', 'refuse_connection', 'refuse_for_now', 'read_only', 'too_slow'] as const),
  ...(['fail_over', 'slow_spell'] as const),
] as const satisfies readonly SimFate[]

/** A booking whose reference ends like this is refused by the database as a data error, always. */
export const POISON = 'poison'

/** The store behind a network that delays, loses, and delivers late what it seemed to have lost. */
export class SimStore extends MemoryJournalStore {
  readonly #clock: FakeClock
  readonly #dice: SeededRandom
  /** How many of 100 sends fail. */
  troublePercent = 25
  /** Called for every event that has become durable, once. */
  onEvent: (event: WrittenEvent) => void = () => {}
  /** Snapshots of which a byte has flipped. */
  flipped = 0
  /** Skips the fence: only a broken build does. */
  withoutFence = false
  /** Counts the servers: what one of them had not committed when it died is gone. */
  #server = 0
  #failingOverUntil = 0
  #slowUntil = 0

  constructor(clock: FakeClock, dice: SeededRandom) {
    super()
    this.#clock = clock
    this.#dice = dice
    this.isPoison = ({ entry }) =>
      entry?.event.kind === 'booking_created' && entry.event.after.sourceRef?.endsWith(POISON) === true
  }

  override async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    const fate = this.#fate()
    await this.#travel()
    const toWrite = this.withoutFence ? { ...batch, epoch: this.epoch } : batch
    switch (fate) {
      case 'late':
        this.#later(() => this.write(toWrite))
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'fail_over':
        if (this.#dice.chance(0.5)) this.write(toWrite)
        this.#failOver()
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'slow_spell':
        this.#slowUntil = this.#clock.monotonicMs() + this.#dice.below(10_000)
        this.fate = () => 'too_slow'
        break
      default: {
        const isTooLarge = this.#clock.monotonicMs() < this.#slowUntil && batch.records.length > 1
        this.fate = () => (fate === 'deliver' && isTooLarge ? 'too_slow' : fate)
      }
    }
    const outcome = await super.appendBatch(toWrite)
    await this.#travel()
    return outcome
  }

  override async renewEpoch(epoch: number, renewal: string): Promise<number | AppendFailure> {
    const fate = this.#fate()
    await this.#travel()
    const renew = () => super.renewEpoch(epoch, renewal)
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

  /** An orphaned backend: it commits long after its client has discarded the connection, if its server lives that long. */
  #later(commit: () => void): void {
    const server = this.#server
    // Half of them soon: while its sender is still determining the outcome.
    this.#clock.after(this.#dice.below(this.#dice.chance(0.5) ? 150 : 3_000), () => {
      if (server === this.#server) commit()
    })
  }

  #failOver(): void {
    this.#server += 1
    this.#failingOverUntil = this.#clock.monotonicMs() + this.#dice.below(4_000)
  }

  protected override write(batch: BatchToAppend): 'durable' | AppendFailure {
    const before = this.events.length
    const outcome = super.write(batch)
    for (const event of this.events.slice(before)) this.onEvent(event)
    return outcome
  }

  override async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    await this.#travelSafely()
    return super.loadUnit(agencyId, unitId)
  }

  override async find(agencyId: string, bookingId: string): Promise<BookingRow | null> {
    await this.#travelSafely()
    return super.find(agencyId, bookingId)
  }

  override async writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void> {
    await this.#travelSafely()
    const isDamaged = this.#dice.chance(0.1)
    if (isDamaged) this.flipped += 1
    await super.writeSnapshots(
      snapshots.map((s) => (isDamaged ? { ...s, state: s.state.replace('"seq":', '"seq": ') } : s)),
    )
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
