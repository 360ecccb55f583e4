import { type Clock, sleep } from '../../lib/clock.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import { type OnDefect, recoverUnit, type UnitAddress } from '../journal/recovery.ts'
import { encodeSnapshot, type StoredSnapshot } from '../journal/snapshot-codec.ts'

const FIRST_AFTER_MS = 600_000
const EVERY_MS = 86_400_000
const UNITS_PER_PAGE = 200
const PAUSE_MS = 50

export interface UnitsWithoutSnapshot {
  /**
   * Those of the next `limit` units after `after` that have entries of months before this one, and no snapshot that includes them.
   * `next`: the last unit of the page; null when it is the last page.
   */
  page(
    after: UnitAddress | null,
    limit: number,
  ): Promise<{ readonly units: readonly UnitAddress[]; readonly next: UnitAddress | null }>
}

/**
 * Once a day, writes a snapshot of every unit that has none of a finished month, so that the month can be archived: a unit that is
 * passivated with a short tail gets no other. Reads the journal, not the actors.
 */
export class MonthSnapshots {
  readonly #units: UnitsWithoutSnapshot
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #onDefect: OnDefect
  readonly #onFailure: (error: unknown) => void
  #cancel: (() => void) | null = null
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: {
    units: UnitsWithoutSnapshot
    store: JournalStore
    clock: Clock
    onDefect: OnDefect
    onFailure: (error: unknown) => void
  }) {
    this.#units = options.units
    this.#store = options.store
    this.#clock = options.clock
    this.#onDefect = options.onDefect
    this.#onFailure = options.onFailure
  }

  /** The first round is ten minutes from now. */
  start(): void {
    this.#startIn(FIRST_AFTER_MS)
  }

  /** Waits for the page that is being written, then writes nothing more. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#round
  }

  /** One round: all units. Called by the timer. */
  async run(): Promise<void> {
    try {
      for (let after: UnitAddress | null = null; !this.#stopped; ) {
        const { units, next } = await this.#units.page(after, UNITS_PER_PAGE)
        await this.#write(units)
        if (next === null) return
        after = next
        await sleep(this.#clock, PAUSE_MS)
      }
    } catch (error) {
      this.#onFailure(error)
    }
  }

  #startIn(delayMs: number): void {
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#round = this.run().then(() => {
        if (!this.#stopped) this.#startIn(EVERY_MS)
      })
    })
  }

  /** A unit that cannot be recovered does not prevent the snapshots of the others. */
  async #write(units: readonly UnitAddress[]): Promise<void> {
    const snapshots: StoredSnapshot[] = []
    for (const unit of units) {
      try {
        const { state } = await recoverUnit(this.#store, unit, this.#onDefect)
        snapshots.push(encodeSnapshot(unit.agencyId, state))
      } catch (error) {
        this.#onFailure(error)
      }
    }
    if (snapshots.length > 0) await this.#store.writeSnapshots(snapshots)
  }
}
