import { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { Announce } from '../../src/core/bookings/booking-request.ts'
import type { BookingRows } from '../../src/core/bookings/booking-rows.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import { Inventory } from '../../src/core/catalogue/inventory.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { Journal } from '../../src/core/journal/journal.ts'
import type { JournalStore } from '../../src/core/journal/journal-store.ts'
import { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { AGENCY } from './samples.ts'

type OfJournal = ConstructorParameters<typeof Journal>[0]
type OfDirectory = ConstructorParameters<typeof UnitDirectory>[0]
type OfCommands = ConstructorParameters<typeof BookingCommands>[0]

/** How long a record and a command may be queued, as in the service. */
const QUEUED_MS_MAX = 5_000

/** The real catalogue, journal, directory and commands over a store, as `src/app/open-ledger.ts` puts them together. */
export interface Core {
  readonly catalogue: Catalogue
  readonly journal: Journal
  readonly directory: UnitDirectory
  readonly commands: BookingCommands
}

/** Has one agency, `AGENCY`; `units` is asked whenever its inventory is loaded. */
export function openCore(options: {
  store: JournalStore & BookingRows
  clock: Clock
  term: OfJournal['term']
  units: () => readonly Unit[]
  newId: IdSource
  announce: Announce
  journalLimits: Omit<OfJournal['limits'], 'queuedMsMax'>
  unitLimits: OfDirectory['limits']
  onFenced: OfJournal['onFenced']
  onDefect: OfDirectory['onDefect']
  onSnapshotFailure: OfDirectory['onSnapshotFailure']
  onDurable: OfCommands['onDurable']
  /** Puts another one in the journal's place. */
  wrapJournal?: (journal: Journal) => Journal
}): Core {
  const { store, clock, newId, announce, onDurable } = options
  const catalogue = new Catalogue({
    loadAgencies: async () => [AGENCY],
    loadKeys: async () => [],
    loadInventory: async () => new Inventory(options.units(), []),
  })
  catalogue.putAgency(AGENCY)
  const real = new Journal({
    ...{ store, clock, term: options.term, onFenced: options.onFenced },
    limits: { ...options.journalLimits, queuedMsMax: QUEUED_MS_MAX },
    newBatchId: () => newId('evt'),
  })
  const journal = options.wrapJournal?.(real) ?? real
  const directory = new UnitDirectory({
    ...{ store, clock, limits: options.unitLimits },
    ...{ onDefect: options.onDefect, onSnapshotFailure: options.onSnapshotFailure },
  })
  const commands = new BookingCommands({
    ...{ catalogue, directory, journal, rows: store, announce, clock, newId, onDurable },
    queuedMsMax: QUEUED_MS_MAX,
  })
  return { catalogue, journal, directory, commands }
}
