import type { BookingCommands } from '../../src/core/bookings/booking-commands.ts'
import type { Announce } from '../../src/core/bookings/booking-request.ts'
import type { BookingRow, BookingRows } from '../../src/core/bookings/booking-rows.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { Journal } from '../../src/core/journal/journal.ts'
import type { JournalStore } from '../../src/core/journal/journal-store.ts'
import { HoldTimer } from '../../src/core/units/hold-timer.ts'
import type { UnitDirectory } from '../../src/core/units/unit-directory.ts'
import type { Clock } from '../../src/lib/clock.ts'
import type { IdSource } from '../../src/lib/ids.ts'
import { type Core, openCore } from '../support/core.ts'
import { AGENCY } from '../support/samples.ts'
import type { SimStore } from './sim-store.ts'
import type { SimWebhooks } from './sim-webhooks.ts'

/** Where a simulated build differs from the real one: how a broken build is made. */
export interface BuildFaults {
  readonly changeStore?: (store: SimStore) => void
  readonly wrapJournal?: (journal: Journal) => Journal
  readonly wrapAnnounce?: (announce: Announce) => Announce
}

/** One run of the service: the real commands, directory, journal and hold timer. It can die, or hang and come back. */
export class SimProcess {
  readonly commands: BookingCommands
  readonly directory: UnitDirectory
  readonly journal: Journal
  readonly epoch: number
  readonly #holdTimer: HoldTimer
  #wakeSender = () => {}
  #state: 'running' | 'paused' | 'dead' = 'running'
  #heldBack: (() => void)[] = []
  isFenced = false
  /** The ledger's epoch at the moment this process was fenced; its own would mean that the newest writer was. */
  fencedByEpoch: number | null = null

  private constructor(epoch: number, parts: (process: SimProcess) => Parts) {
    this.epoch = epoch
    const { commands, directory, journal, holdTimer } = parts(this)
    this.commands = commands
    this.directory = directory
    this.journal = journal
    this.#holdTimer = holdTimer
  }

  static async start(world: {
    clock: Clock
    store: JournalStore & BookingRows
    units: readonly Unit[]
    newId: IdSource
    announce: Announce
    faults: BuildFaults
    webhooks: SimWebhooks
    /** Of the process that took over last. */
    currentEpoch: () => number
  }): Promise<SimProcess> {
    const term = await world.store.takeOver('sim')
    const process = new SimProcess(term.epoch, (self) => assemble(self, world, term))
    process.#holdTimer.start()
    const sender = await world.webhooks.startSender(process, clockOf(process, world.clock))
    process.#wakeSender = () => sender.wake()
    return process
  }

  get isRunning(): boolean {
    return this.#state === 'running' && !this.isFenced
  }

  /** A change has become durable: its webhooks are due. */
  wakeSender(): void {
    this.#wakeSender()
  }

  /** Like `kill -9`: nothing in it ever runs again. */
  die(): void {
    this.#state = 'dead'
    this.#heldBack = []
  }

  /** Like SIGSTOP: whatever would run waits. */
  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  /** Like SIGCONT. */
  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    for (const task of this.#heldBack.splice(0)) task()
  }

  /** Runs `task` now, when the process continues, or never. */
  run(task: () => void): void {
    if (this.#state === 'running') task()
    else if (this.#state === 'paused') this.#heldBack.push(task)
  }

  /** An answer from outside reaches the process only while it runs. */
  receive<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => this.run(() => resolve(value)),
        (error) => this.run(() => reject(error)),
      )
    })
  }
}

type Parts = Core & { holdTimer: HoldTimer }

function assemble(
  process: SimProcess,
  world: Parameters<typeof SimProcess.start>[0],
  term: { epoch: number; lastSeq: number },
): Parts {
  const clock = clockOf(process, world.clock)
  const store = storeSeenBy(process, world.store)
  const core = openCore({
    ...{ store, clock, term, units: () => world.units, newId: world.newId },
    announce: world.faults.wrapAnnounce?.(world.announce) ?? world.announce,
    journalLimits: { waitingMax: 200, batchMax: 8 },
    unitLimits: { residentMax: 2, mailboxMax: 20, idleMs: 2_000, snapshotEvery: 4 },
    onFenced: () => {
      process.isFenced = true
      process.fencedByEpoch = world.currentEpoch()
    },
    onDefect: () => {},
    onSnapshotFailure: () => {},
    onDurable: ({ after }) => {
      if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
      process.wakeSender()
    },
    ...(world.faults.wrapJournal === undefined ? {} : { wrapJournal: world.faults.wrapJournal }),
  })
  const holdTimer = new HoldTimer({
    clock,
    watch: {
      onFailure: () => {},
      onHoldFailure: () => {},
      onBug: (error) => {
        throw error
      },
    },
    holds: {
      isTransient: () => true,
      nextExpiry: (at) => store.nextExpiry(at),
      expired: (at, after, limit) => store.expiredHolds(at, after, limit),
      expire: async ({ bookingId }) => {
        await core.commands.expire(AGENCY, bookingId)
      },
    },
  })
  return { ...core, holdTimer }
}

/** The world's clock, whose timers fire only while the process runs. */
function clockOf(process: SimProcess, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    after: (ms, task) => clock.after(ms, () => process.run(task)),
  }
}

function storeSeenBy(process: SimProcess, store: JournalStore & BookingRows): JournalStore & BookingRows {
  return {
    takeOver: (holder) => store.takeOver(holder),
    appendBatch: (batch) => process.receive(store.appendBatch(batch)),
    renewEpoch: (epoch, renewal) => process.receive(store.renewEpoch(epoch, renewal)),
    wasWritten: (batch) => process.receive(store.wasWritten(batch)),
    reconnect: () => store.reconnect(),
    loadUnit: (agencyId, unitId) => process.receive(store.loadUnit(agencyId, unitId)),
    loadEntries: (agencyId, unitId, after) => process.receive(store.loadEntries(agencyId, unitId, after)),
    writeSnapshots: (snapshots) => process.receive(store.writeSnapshots(snapshots)),
    find: (agencyId, bookingId): Promise<BookingRow | null> => process.receive(store.find(agencyId, bookingId)),
    expiredHolds: (at, after, limit) => process.receive(store.expiredHolds(at, after, limit)),
    nextExpiry: (at) => process.receive(store.nextExpiry(at)),
  }
}
