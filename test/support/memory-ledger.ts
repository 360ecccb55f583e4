import type { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import type { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import type { Tracer } from '../../src/lib/tracer.ts'
import { openCore } from './core.ts'
import { FakeClock } from './fake-clock.ts'
import { MemoryJournalStore } from './memory-journal-store.ts'
import { AGENCY } from './samples.ts'

/** The real commands, directory, journal and catalogue over a store in memory and a clock that does not move. */
export class MemoryLedger {
  readonly clock = new FakeClock()
  readonly store = new MemoryJournalStore()
  readonly defects: string[] = []
  units: Unit[]
  catalogue!: Catalogue
  directory!: UnitDirectory
  journal!: Journal
  commands!: BookingCommands
  #ids = 0

  private constructor(units: Unit[]) {
    this.units = units
  }

  static async open(units: Unit[]): Promise<MemoryLedger> {
    const ledger = new MemoryLedger(units)
    await ledger.takeOver()
    for (const unit of units) {
      await ledger.commands.setUnit(AGENCY, unit.id, () => unit, {
        actor: { kind: 'portal', id: null },
        route: 'set',
        requestId: null,
      })
    }
    return ledger
  }

  /** As after a crash: all memory is gone, the store is taken over by a new process. */
  async takeOver({
    onSnapshotFailure,
    tracer,
    ...limits
  }: {
    residentMax?: number
    snapshotEvery?: number
    onSnapshotFailure?: (error: unknown) => void
    tracer?: Tracer
  } = {}): Promise<void> {
    if (this.catalogue !== undefined) this.units = [...(await this.catalogue.inventory(AGENCY.id)).units]
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(32, '0')}`
    const core = openCore({
      store: this.store,
      clock: this.clock,
      term: await this.store.takeOver(),
      newId,
      agencies: [AGENCY],
      units: () => this.units,
      journalLimits: { waitingMax: 1_000, batchMax: 100 },
      unitLimits: { residentMax: 100, mailboxMax: 100, idleMs: 1_000, snapshotEvery: 5, ...limits },
      onFenced: () => {},
      onDefect: (defect) => this.defects.push(defect),
      onSnapshotFailure: (error) => {
        if (onSnapshotFailure === undefined) throw error
        onSnapshotFailure(error)
      },
      onDurable: () => {},
      ...(tracer && { tracer }),
    })
    this.catalogue = core.catalogue
    this.directory = core.directory
    this.journal = core.journal
    this.commands = core.commands
  }
}
