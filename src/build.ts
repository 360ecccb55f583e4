/** The composition root: the only place where ports meet what implements them. */
import { Catalogue } from './catalogue/catalogue.ts'
import { PostgresBookingList } from './db/booking-list.ts'
import { PostgresBookingRows } from './db/booking-rows.ts'
import { PostgresCatalogueStore } from './db/catalogue-rows.ts'
import { connect, type Sql } from './db/connect.ts'
import { PostgresGuestList } from './db/guest-rows.ts'
import { PostgresIdempotencyRows } from './db/idempotency-rows.ts'
import { ListReads } from './db/list-reads.ts'
import { PostgresJournalStore } from './db/postgres-journal-store.ts'
import { PostgresUsageRows } from './db/usage-rows.ts'
import { BookingDesk } from './desk/booking-desk.ts'
import type { BookingList } from './desk/booking-list.ts'
import type { BookingRows } from './desk/booking-rows.ts'
import type { GuestList } from './desk/guest-list.ts'
import { calendarMonthAt } from './edge/calendar-month.ts'
import { ExpiredAnswers } from './edge/expired-answers.ts'
import { IdempotencyDesk } from './edge/idempotency.ts'
import { PartnerGate } from './edge/partner-gate.ts'
import { RateLimiter } from './edge/rate-limit.ts'
import { RefusalCounter } from './edge/refusal-counter.ts'
import { UsageMeter } from './edge/usage-meter.ts'
import { Journal } from './journal/journal.ts'
import type { Clock } from './lib/clock.ts'
import { type IdSource, systemIds } from './lib/ids.ts'
import { HoldTimer } from './units/hold-timer.ts'
import { UnitDirectory } from './units/unit-directory.ts'
import { announce } from './webhooks/envelope.ts'

export interface LedgerLimits {
  readonly residentUnitsMax: number
  readonly unitIdleMs: number
  readonly mailboxMax: number
  readonly snapshotEvery: number
  readonly journalWaitingMax: number
  readonly journalBatchMax: number
  /** How long a write is held for a database that is away. */
  readonly heldMsMax: number
}

export const DEFAULT_LIMITS: LedgerLimits = {
  residentUnitsMax: 20_000,
  unitIdleMs: 600_000,
  mailboxMax: 256,
  snapshotEvery: 64,
  journalWaitingMax: 8_192,
  journalBatchMax: 512,
  heldMsMax: 5_000,
}

/** What the ledger reports of itself; a log line each. */
export interface LedgerWatch {
  onFenced(cause: unknown): void
  onSnapshotDefect(fields: { defect: string; agencyId: string; unitId: string; seq: number }): void
  onSnapshotFailure(error: unknown): void
  onHoldTimerFailure(error: unknown): void
  onHousekeepingFailure(error: unknown): void
}

/** The running core: everything that http, mcp and the portal call. */
export interface Ledger {
  /** For look-ups, units read into memory, and portal writes. Lists and probes have connections of their own. */
  readonly sql: Sql
  readonly lists: ListReads
  /** For what must be answered whatever the load: readiness and metrics. */
  readonly probes: Sql
  /** A connection for work that takes its time; whoever opens it ends it. */
  openToolClient(): Sql
  readonly clock: Clock
  readonly newId: IdSource
  readonly catalogue: Catalogue
  readonly catalogueStore: PostgresCatalogueStore
  readonly desk: BookingDesk
  readonly bookingRows: BookingRows
  readonly bookingList: BookingList
  readonly guestList: GuestList
  readonly directory: UnitDirectory
  readonly journal: Journal
  /** Keys, plans and budgets: one for REST and MCP, because they share them. */
  readonly gate: PartnerGate
  readonly usage: UsageMeter
  readonly refusals: RefusalCounter
  readonly idempotency: IdempotencyDesk
  readonly epoch: number
  /** Finishes what is in flight, writes snapshots, closes every connection. */
  close(): Promise<void>
}

const SWEEP_MS = 5_000

/**
 * Takes the ledger over and opens it. The schema must be there.
 * @throws Error when the database does not answer
 */
export async function openLedger(options: {
  databaseUrl: string
  clock: Clock
  limits: LedgerLimits
  watch: LedgerWatch
  /** Who writes, for `writer_fence`: host and process. */
  holder: string
  /** A change of a booking is durable: its webhooks are due. Called with each. */
  onBookingChange?: (agencyId: string) => void
}): Promise<Ledger> {
  const { databaseUrl, clock, limits, watch } = options
  const sql = connect(databaseUrl, { purpose: 'queries' })
  const lists = new ListReads(connect(databaseUrl, { purpose: 'lists' }))
  const probes = connect(databaseUrl, { purpose: 'probes' })
  const store = new PostgresJournalStore({ url: databaseUrl, queries: sql })
  const catalogueStore = new PostgresCatalogueStore(sql)
  const catalogue = new Catalogue(catalogueStore)
  const rows = new PostgresBookingRows(sql)

  const tenure = await store.takeOver(options.holder)
  await catalogue.load()

  const journal = new Journal({
    store,
    clock,
    tenure,
    limits: { waitingMax: limits.journalWaitingMax, batchMax: limits.journalBatchMax, heldMsMax: limits.heldMsMax },
    onFenced: watch.onFenced,
    newBatchId: () => Bun.randomUUIDv7(),
  })
  const directory = new UnitDirectory({
    store,
    clock,
    limits: {
      residentMax: limits.residentUnitsMax,
      mailboxMax: limits.mailboxMax,
      idleMs: limits.unitIdleMs,
      snapshotEvery: limits.snapshotEvery,
    },
    onDefect: (defect, { agencyId, unitId, seq }) => watch.onSnapshotDefect({ defect, agencyId, unitId, seq }),
    onSnapshotFailure: watch.onSnapshotFailure,
  })
  const desk = new BookingDesk({
    catalogue,
    directory,
    journal,
    rows,
    announce,
    clock,
    newId: systemIds,
    heldMsMax: limits.heldMsMax,
    onDurable: ({ after }, agency) => {
      options.onBookingChange?.(agency.id)
      if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
    },
  })
  const holdTimer = new HoldTimer({
    clock,
    onFailure: watch.onHoldTimerFailure,
    book: {
      nextExpiry: () => rows.nextExpiry(),
      lapsed: async (at, limit) =>
        (await rows.lapsedHolds(at, limit)).map(({ agencyId, booking }) => ({ agencyId, bookingId: booking.id })),
      expire: async ({ agencyId, bookingId }) => {
        const agency = catalogue.agencyById(agencyId)
        if (agency === null) throw new Error('Cannot end a hold: its agency is not in the catalogue')
        await desk.expire(agency, bookingId)
      },
    },
  })

  const usageRows = new PostgresUsageRows(sql)
  const usage = new UsageMeter({
    clock,
    // One record of any agency carries them all: each total names its own.
    persist: async (totals) => {
      const [first] = totals
      if (first !== undefined) await journal.append({ agencyId: first.agencyId, at: clock.now(), usage: totals })
    },
    onFailure: watch.onHousekeepingFailure,
  })
  usage.load(await usageRows.loadFrom(calendarMonthAt(clock.now()).name))
  const gate = new PartnerGate({ catalogue, clock, limiter: new RateLimiter(clock), meter: usage })
  const refusals = new RefusalCounter({
    clock,
    persist: async (agencyId, audit) => {
      await journal.append({ agencyId, at: clock.now(), audit })
    },
    onFailure: watch.onHousekeepingFailure,
  })

  const idempotencyRows = new PostgresIdempotencyRows(sql)
  const idempotency = new IdempotencyDesk({ find: (scope, newerThan) => idempotencyRows.find(scope, newerThan), clock })
  const expiredAnswers = new ExpiredAnswers({
    deleteExpired: (asked) => idempotencyRows.deleteExpired(asked),
    clock,
    onFailure: watch.onHousekeepingFailure,
  })

  holdTimer.start()
  expiredAnswers.start()
  const sweep = setInterval(() => directory.sweep(), SWEEP_MS)
  sweep.unref()

  return {
    sql,
    lists,
    probes,
    openToolClient: () => connect(databaseUrl, { purpose: 'admin' }),
    clock,
    newId: systemIds,
    catalogue,
    catalogueStore,
    desk,
    bookingRows: rows,
    bookingList: new PostgresBookingList(sql, lists),
    guestList: new PostgresGuestList(sql, lists),
    directory,
    journal,
    gate,
    usage,
    refusals,
    idempotency,
    epoch: tenure.epoch,
    close: async () => {
      clearInterval(sweep)
      await expiredAnswers.stop()
      await holdTimer.stop()
      // What was counted and could not be written any more is lost, and said to be.
      for (const ended of await Promise.allSettled([usage.stop(), refusals.stop()]))
        if (ended.status === 'rejected') watch.onHousekeepingFailure(ended.reason)
      await journal.close()
      if (journal.vitals.state === 'closed') await directory.snapshotAll()
      await store.close()
      await Promise.all([sql, lists, probes].map((pool) => pool.end({ timeout: 1 })))
    },
  }
}
