import type { BookingRow } from '../../src/desk/booking-rows.ts'
import type { AppendFailure, BatchToAppend, StoredUnit } from '../../src/journal/journal-store.ts'
import type { StoredSnapshot } from '../../src/journal/snapshot-codec.ts'
import type { FakeClock } from '../support/fake-clock.ts'
import { MemoryJournalStore } from '../support/memory-journal-store.ts'
import type { Dice } from './dice.ts'

/** Beyond the fates of a send: the request is lost to the sender, and reaches the server later all the same. */
type SimFate = 'deliver' | 'late' | 'lose_request' | 'lose_reply' | 'refuse_connection' | 'refuse_for_now'

/** The store behind a network that delays, loses, and delivers late what it seemed to have lost. */
export class SimStore extends MemoryJournalStore {
  readonly #clock: FakeClock
  readonly #dice: Dice
  /** Of 100 sends, how many go wrong. */
  troublePercent = 25
  /** Called for every event that has become durable, once. */
  onEvent: (event: Readonly<Record<string, unknown>>) => void = () => {}
  /** Snapshots of which a byte has flipped. */
  flipped = 0
  /** Skips the fence: only a broken build does. */
  withoutFence = false

  constructor(clock: FakeClock, dice: Dice) {
    super()
    this.#clock = clock
    this.#dice = dice
  }

  override async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    const fate = this.#fate()
    await this.#travel()
    const toWrite = this.withoutFence ? { ...batch, epoch: this.epoch } : batch
    if (fate === 'late') {
      // An orphaned backend: it commits long after its client has given the connection up.
      this.#clock.after(this.#dice.below(3_000), () => void this.write(toWrite))
      return { kind: 'unknown', cause: new Error('connection lost') }
    }
    this.fate = () => fate
    const outcome = await super.appendBatch(toWrite)
    await this.#travel()
    return outcome
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
    const isDamaged = this.#dice.chance(10)
    if (isDamaged) this.flipped += 1
    await super.writeSnapshots(
      snapshots.map((s) => (isDamaged ? { ...s, state: s.state.replace('"seq":', '"seq": ') } : s)),
    )
  }

  #fate(): SimFate {
    if (!this.#dice.chance(this.troublePercent)) return 'deliver'
    return this.#dice.pick<SimFate>(['late', 'lose_request', 'lose_reply', 'refuse_connection', 'refuse_for_now'])
  }

  #travel(): Promise<void> {
    return new Promise((resolve) => this.#clock.after(this.#dice.below(30), resolve))
  }

  /** Reads can fail as well; the caller is told. */
  async #travelSafely(): Promise<void> {
    await this.#travel()
    if (this.#dice.chance(this.troublePercent / 5)) throw new Error('Cannot read: connection lost')
  }
}
