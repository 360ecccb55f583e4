/** The real engine of a simulated node, as src/app/open-ledger.ts puts it together. */

import { NodeShards } from '../../../src/cluster/node-shards.ts'
import { BookingCommands } from '../../../src/core/bookings/booking-commands.ts'
import { Inventory } from '../../../src/core/catalogue/agency.ts'
import { Catalogue } from '../../../src/core/catalogue/catalogue.ts'
import { isUnitSet } from '../../../src/core/domain/booking.ts'
import { Journal } from '../../../src/core/journal/journal.ts'
import { notOwner } from '../../../src/core/journal/journal-error.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import { HoldTimer } from '../../../src/core/units/hold-timer.ts'
import { UnitDirectory } from '../../../src/core/units/unit-directory.ts'
import { ChangeFeed } from '../../../src/events/changes/change-feed.ts'
import { PARTNER_VIEW } from '../../../src/events/changes/change-page.ts'
import { WaitingPlaces } from '../../../src/events/changes/waiting-places.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import type { IdSource } from '../../../src/lib/ids.ts'
import type { SeededRandom } from '../../../src/lib/seeded-random.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { MemoryChangeRows } from '../../support/memory-change-rows.ts'
import { CHAIN_KEYS } from '../../support/samples.ts'
import type { AppendWatch } from '../append-watch.ts'
import { AGENCIES, unitsOf } from '../sim-agencies.ts'
import { type Mortal, storeSeenBy } from '../sim-process.ts'
import type { SimStore } from '../sim-store.ts'
import { behindNetwork, lost, request, take } from './node-database.ts'
import type { NodeFaults } from './sim-node.ts'

const HISTORY = '01020304-0506-4708-890a-0b0c0d0e0f10'

interface NodeEngineOptions {
  readonly name: string
  readonly node: Mortal & { readonly appends: AppendWatch }
  /** Of the world, and of the node. */
  readonly worldClock: FakeClock
  readonly clock: Clock
  readonly store: SimStore
  readonly dice: SeededRandom
  readonly newId: IdSource
  readonly faults: NodeFaults
  isCutFromDatabase(): boolean
  onBookingChange(agencyId: string): void
  onBug(error: unknown): void
}

interface SimEngine {
  readonly shards: NodeShards
  readonly journal: Journal
  readonly commands: BookingCommands
  readonly directory: UnitDirectory
  readonly feed: ChangeFeed
  readonly holdTimer: HoldTimer
}

export function openEngine(options: NodeEngineOptions): SimEngine {
  const { name, node, clock, worldClock, store, dice, newId, faults, onBug, isCutFromDatabase: isCut } = options
  const seen = storeSeenBy(node, behindNetwork(store, isCut, worldClock), (agencyId) => journal.epochOf(agencyId))
  const ask = <T>(what: () => T): Promise<T> => node.receive(request({ store, clock: worldClock, dice, isCut }, what))
  const shards = new NodeShards({
    clock,
    store: {
      take: (wanted) => ask(() => take(store, wanted, name, faults.keepsEpochs === true)),
      giveUp: async () => {},
      ping: () => (faults.missesNothing === true ? Promise.resolve() : ask(() => {})),
      lost: (owned) => ask(() => (faults.ignoresLease === true ? [] : lost(store, owned))),
    },
    load: (of) =>
      ask(() => ({
        agencies: AGENCIES.filter(({ id }) => of.includes(shardOf(id))),
        keys: [],
        accessTokens: [],
        people: [],
        used: [],
        passed: [],
        sessions: [],
      })),
    onFailure: () => {},
  })
  const catalogue = new Catalogue(
    {
      loadAgencies: async () => [],
      loadKeys: async () => [],
      loadAccessTokens: async () => [],
      loadPeople: async () => [],
      loadInventory: async (agencyId) => new Inventory(unitsOf(agencyId), []),
    },
    { served: { termOf: (agencyId) => shards.termOfAgency(agencyId), refusal: notOwner } },
  )
  const rows = new MemoryChangeRows(store)
  const feed = new ChangeFeed({
    rows: { read: async (agencyId, wanted) => ask(() => rows.read(agencyId, wanted)).then((read) => read) },
    clock,
    historyId: HISTORY,
    view: PARTNER_VIEW,
    places: new WaitingPlaces(clock),
    endOf: (agencyId) => journal.endOf(agencyId),
  })
  const journal = new Journal({
    store: seen,
    clock,
    chainKeys: CHAIN_KEYS,
    lanes: 2,
    term: { shards: [], newestMonth: '' },
    limits: { waitingMax: 200, batchMax: 8, queuedMsMax: 5_000 },
    onDurable: (entries) => feed.noteDurable(entries),
    onFenced: () => onBug('a node stopped as a whole'),
    onShardsLost: (wanted) => shards.lostTo(wanted),
    newRenewalId: () => newId('evt'),
  })
  const directory = new UnitDirectory({
    store: seen,
    clock,
    limits: { residentMax: 4, mailboxMax: 20, idleMs: 2_000, snapshotEvery: 4 },
    onDefect: () => {},
    onSnapshotFailure: () => {},
    endOf: (agencyId) => journal.endOf(agencyId),
    termOf: shards.termOfAgency,
  })
  const commands = new BookingCommands({
    catalogue,
    directory,
    journal,
    rows: seen,
    clock,
    newId,
    queuedMsMax: 5_000,
    onDurable: (event, agency) => {
      options.onBookingChange(agency.id)
      if (isUnitSet(event)) return
      const { after } = event
      if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
    },
  })
  const holdTimer = new HoldTimer({
    clock,
    watch: { onFailure: () => {}, onHoldFailure: () => {}, onBug },
    holds: {
      isTransient: () => true,
      nextExpiry: (at) => seen.nextExpiry(at),
      expired: async (at, after, limit) =>
        (await seen.expiredHolds(at, after, limit)).filter(({ agencyId }) => shards.termOfAgency(agencyId) !== null),
      expire: async ({ agencyId, bookingId }) => {
        const agency = catalogue.agencyById(agencyId)
        if (agency !== null) await commands.expire(agency, bookingId)
      },
    },
  })
  const nothing = { forget: () => {}, load: () => {}, restore: () => {}, adopt: () => {}, flush: async () => {} }
  shards.serveWith({
    journal,
    directory,
    catalogue,
    holdTimer,
    feeds: faults.keepsFeeds === true ? [] : [feed],
    usage: nothing,
    limiter: nothing,
    sessions: nothing,
    rateSlots: nothing,
    refusals: nothing,
  })
  return { shards, journal, commands, directory, feed, holdTimer }
}
