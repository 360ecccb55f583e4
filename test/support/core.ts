import { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { BookingRows } from '../../src/core/bookings/booking-turns.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { Inventory } from '../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../src/core/catalogue/catalogue.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { Journal } from '../../src/core/journal/journal.ts'
import type { JournalStore } from '../../src/core/journal/journal-store.ts'
import { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import type { Tracer } from '../../src/lib/tracer.ts'
import { CHAIN_KEYS } from './samples.ts'

type OfJournal = ConstructorParameters<typeof Journal>[0]
type OfDirectory = ConstructorParameters<typeof UnitDirectory>[0]
type OfCommands = ConstructorParameters<typeof BookingCommands>[0]

/** How long a record and a command may be queued, as in the service. */
const QUEUED_MS_MAX = 5_000

/** As in the service. */
const LANES = 2

/** The real catalogue, journal, directory and commands over a store, as `src/app/open-ledger.ts` puts them together. */
export interface Core {
  readonly catalogue: Catalogue
  readonly journal: Journal
  readonly directory: UnitDirectory
  readonly commands: BookingCommands
}

/** `units` is asked whenever the inventory of an agency is loaded. */
export function openCore(options: {
  store: JournalStore & BookingRows
  clock: Clock
  term: OfJournal['term']
  agencies: readonly Agency[]
  units: (agencyId: string) => readonly Unit[]
  newId: IdSource
  /** Of the journal; 2 unless given. */
  lanes?: number
  journalLimits: Omit<OfJournal['limits'], 'queuedMsMax'>
  unitLimits: OfDirectory['limits']
  onFenced: OfJournal['onFenced']
  onDefect: OfDirectory['onDefect']
  onSnapshotFailure: OfDirectory['onSnapshotFailure']
  onDurable: OfCommands['onDurable']
  tracer?: Tracer
  /** Of the journal. */
  onEntries?: NonNullable<OfJournal['onDurable']>
  /** Puts another one in the journal's place. */
  wrapJournal?: (journal: Journal) => Journal
}): Core {
  const { store, clock, newId, onDurable, agencies } = options
  const catalogue = new Catalogue({
    loadAgencies: async () => [...agencies],
    loadKeys: async () => [],
    loadAccessTokens: async () => [],
    loadPeople: async () => [],
    loadInventory: async (agencyId) => new Inventory(options.units(agencyId), []),
  })
  for (const agency of agencies) catalogue.putAgency(agency)
  const real = new Journal({
    store,
    clock,
    term: options.term,
    onFenced: options.onFenced,
    chainKeys: CHAIN_KEYS,
    limits: { ...options.journalLimits, queuedMsMax: QUEUED_MS_MAX },
    lanes: options.lanes ?? LANES,
    ...(options.onEntries === undefined ? {} : { onDurable: options.onEntries }),
    newRenewalId: () => newId('evt'),
  })
  const journal = options.wrapJournal?.(real) ?? real
  const directory = new UnitDirectory({
    store,
    clock,
    limits: options.unitLimits,
    onDefect: options.onDefect,
    onSnapshotFailure: options.onSnapshotFailure,
    endOf: (agencyId) => journal.endOf(agencyId),
  })
  const commands = new BookingCommands({
    catalogue,
    directory,
    journal,
    rows: store,
    clock,
    newId,
    onDurable,
    tracer: options.tracer ?? null,
    queuedMsMax: QUEUED_MS_MAX,
  })
  return { catalogue, journal, directory, commands }
}
