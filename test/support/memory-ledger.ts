import { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import { Inventory } from '../../src/core/catalogue/inventory.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { Journal } from '../../src/core/journal/journal.ts'
import { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { announce } from '../../src/webhooks/envelope.ts'
import { FakeClock } from './fake-clock.ts'
import { MemoryJournalStore } from './memory-journal-store.ts'

export const AGENCY: Agency = {
  id: 'agc_a',
  slug: 'harbour',
  name: 'Harbour Stays',
  currency: 'EUR',
  timezone: 'Europe/Lisbon',
  status: 'active',
  plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 50_000 },
  defaultHoldHours: 48,
  createdAt: 0,
}

/** The real commands, directory, journal and catalogue over a store in memory and a clock that stands still. */
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
  async takeOver(
    limits: { residentMax?: number; snapshotEvery?: number; onSnapshotFailure?: (error: unknown) => void } = {},
  ): Promise<void> {
    if (this.catalogue !== undefined) this.units = [...(await this.catalogue.inventory(AGENCY.id)).units]
    const newId: IdSource = (prefix) => `${prefix}_${String(++this.#ids).padStart(6, '0')}`
    this.catalogue = new Catalogue({
      loadAgencies: async () => [AGENCY],
      loadKeys: async () => [],
      loadInventory: async () => new Inventory(this.units, []),
    })
    await this.catalogue.load()
    this.journal = new Journal({
      store: this.store,
      clock: this.clock,
      limits: { waitingMax: 1_000, batchMax: 100, queuedMsMax: 5_000 },
      term: await this.store.takeOver(),
      onFenced: () => {},
      newBatchId: () => newId('evt'),
    })
    this.directory = new UnitDirectory({
      store: this.store,
      clock: this.clock,
      limits: {
        residentMax: limits.residentMax ?? 100,
        mailboxMax: 100,
        idleMs: 1_000,
        snapshotEvery: limits.snapshotEvery ?? 5,
      },
      onDefect: (defect) => this.defects.push(defect),
      onSnapshotFailure:
        limits.onSnapshotFailure ??
        ((error) => {
          throw error
        }),
    })
    this.commands = new BookingCommands({
      catalogue: this.catalogue,
      directory: this.directory,
      journal: this.journal,
      rows: this.store,
      announce,
      clock: this.clock,
      newId,
      queuedMsMax: 5_000,
      onDurable: () => {},
    })
  }
}
