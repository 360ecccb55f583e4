import type { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { BookingRow, BookingRows } from '../../src/core/bookings/booking-turns.ts'
import { isUnitSet } from '../../src/core/domain/booking.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import type { JournalStore, LaneStore, WriterTerm } from '../../src/core/journal/journal-store.ts'
import { SHARDS, shardOf } from '../../src/core/journal/shard.ts'
import { HoldTimer } from '../../src/core/units/hold-timer.ts'
import type { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { ChangeFeed } from '../../src/events/changes/change-feed.ts'
import type { ChangeRows } from '../../src/events/changes/change-page.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { type Core, openCore } from '../support/core.ts'
import { AppendWatch } from './append-watch.ts'
import { Life } from './life.ts'
import { AGENCIES, SIM_SHARDS, unitsOf } from './sim-agencies.ts'
import type { SimReaders } from './sim-readers.ts'
import type { SimStore } from './sim-store.ts'
import type { SimWebhooks } from './sim-webhooks.ts'

/** Where a simulated build differs from the real one: how a broken build is made. */
export interface BuildFaults {
  readonly changeStore?: (store: SimStore) => void
  readonly wrapJournal?: (journal: Journal, build: Build) => Journal
  readonly wrapChangeRows?: (rows: ChangeRows, clock: Clock) => ChangeRows
  readonly changeFeed?: (feed: ChangeFeed) => void
}

/** What the journal of a simulated process is made of, besides its limits. */
export interface Build extends Pick<OfJournal, 'store' | 'clock' | 'term' | 'onFenced'> {
  readonly database: SimStore
}

type OfJournal = ConstructorParameters<typeof Journal>[0]

const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS }, (_, shard) => shard)

interface ProcessOptions {
  readonly name: string
  readonly clock: Clock
  readonly store: SimStore
  readonly newId: IdSource
  readonly faults: BuildFaults
  readonly webhooks: SimWebhooks
  /** Of its journal. */
  readonly lanes: number
  readonly partners: SimReaders
  /** What it takes over: all shards unless given. */
  readonly shards?: readonly number[]
}

/** One run of the service: the real commands, directory, journal and hold timer. It can die, or hang and come back. */
export class SimProcess extends Life {
  readonly commands: BookingCommands
  readonly directory: UnitDirectory
  readonly journal: Journal
  readonly feed: ChangeFeed
  readonly name: string
  readonly #taken: ReadonlySet<number>
  readonly #holdTimer: HoldTimer
  #wakeSender: (agencyId: string) => void = () => {}
  isFenced = false
  /** What would have ended it. */
  readonly bugs: unknown[] = []
  readonly appends = new AppendWatch()
  /** It was fenced though nobody had taken over any of its shards. */
  isFencedWrongly = false
  /** Of its webhook sender; 0 without one. */
  senderTerm = 0
  /** Of the log that it took over. */
  readonly generation: number

  private constructor(options: ProcessOptions, parts: (process: SimProcess) => Parts) {
    super()
    this.name = options.name
    this.#taken = new Set(options.shards ?? ALL_SHARDS)
    this.generation = options.store.history.generation
    const { commands, directory, journal, holdTimer, feed } = parts(this)
    this.commands = commands
    this.directory = directory
    this.journal = journal
    this.feed = feed
    this.#holdTimer = holdTimer
  }

  static async start(options: ProcessOptions): Promise<SimProcess> {
    const { store, name, shards, webhooks } = options
    const term = shards === undefined ? await store.takeOver(name) : store.takeOverShards(shards, name)
    const process = new SimProcess(options, (self) => assemble(self, options, term))
    process.#holdTimer.start()
    // The sender serves all agencies: it belongs to the process that took over everything.
    if (shards === undefined) {
      const sender = await webhooks.startSender(process, clockOf(process, options.clock))
      process.#wakeSender = (agencyId) => sender.wake([agencyId])
    }
    return process
  }

  /** Whether it took over the agency's shard when it started; another process may have taken it since. */
  hasTaken(agencyId: string): boolean {
    return this.#taken.has(shardOf(agencyId))
  }

  /** Those of the simulated agencies that it took over. */
  get shards(): readonly number[] {
    return SIM_SHARDS.filter((shard) => this.#taken.has(shard))
  }

  /** Another writer has taken over. */
  fence(store: SimStore): void {
    this.isFenced = true
    this.appends.fence()
    // What a lossy fail-over has taken from the log shows as a gap.
    const isLogWhole = this.generation === store.history.generation
    this.isFencedWrongly = isLogWhole && [...this.#taken].every((shard) => store.shards[shard]?.holder === this.name)
  }

  /** As after SIGTERM: what was decided is written, then snapshots of what is in memory. */
  async stop(): Promise<void> {
    await this.#holdTimer.stop()
    await this.journal.close()
    if (this.journal.stats.state === 'closed') await this.directory.snapshotAll().catch(() => {})
    this.die()
  }

  override get isRunning(): boolean {
    return super.isRunning && !this.isFenced
  }

  /** A change of the agency has become durable: its webhooks are due. */
  wakeSender(agencyId: string): void {
    this.#wakeSender(agencyId)
  }
}

type Parts = Core & { holdTimer: HoldTimer; feed: ChangeFeed }

function assemble(process: SimProcess, options: ProcessOptions, term: WriterTerm): Parts {
  const { faults } = options
  const clock = clockOf(process, options.clock)
  const store = storeSeenBy(process, options.store, (agencyId) => core.journal.epochOf(agencyId))
  const feed = options.partners.feedOf(process, clock, () => core.journal)
  faults.changeFeed?.(feed)
  const onFenced = () => {
    process.fence(options.store)
    feed.end()
  }
  const core = openCore({
    store,
    clock,
    term,
    agencies: AGENCIES,
    units: unitsOf,
    newId: options.newId,
    lanes: options.lanes,
    journalLimits: { waitingMax: 200, batchMax: 8 },
    unitLimits: { residentMax: 4, mailboxMax: 20, idleMs: 2_000, snapshotEvery: 4 },
    onFenced,
    onEntries: (entries) => feed.noteDurable(entries),
    onDefect: () => {},
    onSnapshotFailure: () => {},
    onDurable: (event, agency) => {
      process.wakeSender(agency.id)
      if (isUnitSet(event)) return
      const { after } = event
      if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
    },
    wrapJournal: (journal) =>
      faults.wrapJournal?.(journal, { store, clock, term, onFenced, database: options.store }) ?? journal,
  })
  const holdTimer = new HoldTimer({
    clock,
    watch: {
      onFailure: () => {},
      onHoldFailure: () => {},
      onBug: (error) => process.bugs.push(error),
    },
    holds: {
      isTransient: () => true,
      nextExpiry: (at) => store.nextExpiry(at),
      expired: (at, after, limit) => store.expiredHolds(at, after, limit),
      expire: async ({ agencyId, bookingId }) => {
        const agency = AGENCIES.find(({ id }) => id === agencyId)
        if (agency !== undefined && process.hasTaken(agencyId)) await core.commands.expire(agency, bookingId)
      },
    },
  })
  return { ...core, holdTimer, feed }
}

/** Something that can die, or hang and come back. */
export type Mortal = Pick<Life, 'run' | 'receive'>

/** The world's clock, whose timers fire only while the process runs. */
export function clockOf(process: Mortal, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    after: (ms, task) => clock.after(ms, () => process.run(task)),
  }
}

export function storeSeenBy(
  process: Mortal & Pick<SimProcess, 'appends'>,
  store: JournalStore & BookingRows & Pick<SimStore, 'writeSnapshots'>,
  epochOf: (agencyId: string) => number,
): JournalStore & BookingRows {
  return {
    takeOver: (holder) => store.takeOver(holder),
    lane: (lane) => laneSeenBy(process, store.lane(lane)),
    loadUnit: (agencyId, unitId) => process.receive(store.loadUnit(agencyId, unitId)),
    loadUnits: (agencyId, unitIds) => process.receive(store.loadUnits(agencyId, unitIds)),
    loadEntries: (agencyId, unitId, after) => process.receive(store.loadEntries(agencyId, unitId, after)),
    writeSnapshots: (snapshots) => process.receive(store.writeSnapshots(snapshots, epochOf)),
    find: (agencyId, bookingId): Promise<BookingRow | null> => process.receive(store.find(agencyId, bookingId)),
    findAll: (agencyId, bookingIds) => process.receive(store.findAll(agencyId, bookingIds)),
    ofGroup: (agencyId, groupId) => process.receive(store.ofGroup(agencyId, groupId)),
    expiredHolds: (at, after, limit) => process.receive(store.expiredHolds(at, after, limit)),
    nextExpiry: (at) => process.receive(store.nextExpiry(at)),
  }
}

function laneSeenBy(process: Mortal & Pick<SimProcess, 'appends'>, lane: LaneStore): LaneStore {
  return {
    appendBatch: (batch) => process.appends.watch(batch, process.receive(lane.appendBatch(batch))),
    renewEpochs: (shards, renewal) => process.receive(lane.renewEpochs(shards, renewal)),
    wasWritten: (batch) => process.receive(lane.wasWritten(batch)),
    reconnect: () => lane.reconnect(),
  }
}
