/** The composition root: the only place where ports are connected to their implementations. */

import { type Counters, finalFlush } from '../access/final-flush.ts'
import { PartnerAccess } from '../access/partner-access.ts'
import { PortalSessions } from '../access/portal-sessions.ts'
import { RateLimiter } from '../access/rate-limit.ts'
import { admittedRequests, RateSlots } from '../access/rate-slots.ts'
import { RefusalCounter } from '../access/refusal-counter.ts'
import { UsageMeter } from '../access/usage-meter.ts'
import { EntityTags } from '../api/http/entity-tag.ts'
import { ExpiredAnswers } from '../api/idempotency/expired-answers.ts'
import { IdempotentWrites } from '../api/idempotency/idempotent-writes.ts'
import type { PartnerLedger } from '../api/partner/partner-dependencies.ts'
import { AGENCY_VIEW, type AgencyChange } from '../api/portal/agency-change.ts'
import { ChangeFeed } from '../changes/change-feed.ts'
import { PARTNER_VIEW } from '../changes/change-page.ts'
import { WaitingPlaces } from '../changes/waiting-places.ts'
import { BookingCommands } from '../core/bookings/booking-commands.ts'
import { Catalogue } from '../core/catalogue/catalogue.ts'
import { Journal } from '../core/journal/journal.ts'
import { notOwner } from '../core/journal/journal-error.ts'
import type { OnDefect } from '../core/journal/recovery.ts'
import { OF_SHARD_0 } from '../core/journal/shard.ts'
import { HoldTimer } from '../core/units/hold-timer.ts'
import { MonthSnapshots } from '../core/units/month-snapshots.ts'
import { UnitDirectory } from '../core/units/unit-directory.ts'
import { assert } from '../lib/assert.ts'
import { bootTime } from '../lib/boot-clock.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { systemIds } from '../lib/ids.ts'
import { ownRun } from '../lib/process-run.ts'
import { connect, type Sql } from '../postgres/client/connect.ts'
import { classifyDatabaseError, isTransient } from '../postgres/client/database-error.ts'
import { ListReads } from '../postgres/stores/list-reads.ts'
import { PostgresBookingList } from '../postgres/stores/postgres-booking-list.ts'
import { PostgresBookingRows } from '../postgres/stores/postgres-booking-rows.ts'
import { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { PostgresChangeRows } from '../postgres/stores/postgres-change-rows.ts'
import { PostgresGuestList } from '../postgres/stores/postgres-guest-list.ts'
import { PostgresIdempotencyRows } from '../postgres/stores/postgres-idempotency-rows.ts'
import { PostgresJournalStore } from '../postgres/stores/postgres-journal-store.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { PostgresRateRows } from '../postgres/stores/postgres-rate-rows.ts'
import { PostgresRefusalRows } from '../postgres/stores/postgres-refusal-rows.ts'
import { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import { PostgresShards } from '../postgres/stores/postgres-shards.ts'
import { PostgresUnitsWithoutSnapshot } from '../postgres/stores/postgres-units-without-snapshot.ts'
import { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import { PostgresWriters } from '../postgres/stores/postgres-writers.ts'
import { Heartbeat } from './heartbeat.ts'
import { MonthsAhead } from './months-ahead.ts'
import { NodeShards } from './node-shards.ts'
import { beginWithoutShards, readShards } from './read-shards.ts'
import { takeOver } from './take-over.ts'
import { warmUpStatements } from './warm-up.ts'

export interface LedgerLimits {
  readonly residentUnitsMax: number
  readonly unitIdleMs: number
  readonly mailboxMax: number
  readonly snapshotEvery: number
  readonly journalWaitingMax: number
  readonly journalBatchMax: number
  /** How long a write is queued while the database is unavailable. */
  readonly queuedMsMax: number
}

export const DEFAULT_LIMITS: LedgerLimits = {
  residentUnitsMax: 20_000,
  unitIdleMs: 600_000,
  mailboxMax: 256,
  snapshotEvery: 64,
  journalWaitingMax: 8_192,
  journalBatchMax: 512,
  queuedMsMax: 5_000,
}

/** Batches of the journal in flight at a time: a third one gained nothing (docs/decisions.md). */
const APPEND_LANES = 2

/** Events the ledger reports, one log line each. */
export interface LedgerWatch {
  /** Stop serving now; exit when `settled` resolves (Journal). */
  onFenced(cause: unknown, settled: Promise<void>): void
  onSnapshotDefect(fields: { defect: string; agencyId: string; unitId: string; seq: number }): void
  onSnapshotFailure(error: unknown): void
  onHoldTimerFailure(error: unknown): void
  /** A hold could not be released. Called for the first one of each unit. */
  onHoldFailure(fields: { agencyId: string; unitId: string; bookingId: string; err: unknown }): void
  /** An invariant was broken outside any request: the process must exit. */
  onBug(error: unknown): void
  onHousekeepingFailure(error: unknown): void
  /** The take-over, or a read after it, got no answer from the database. It is retried. */
  onTakeOverFailure(error: unknown): void
  /** Usage or refused writes could not be stored. Retried, unless the process is exiting. */
  onCountersNotWritten(error: unknown): void
}

/** The running core, which REST, MCP and the portal call. */
export interface Ledger extends PartnerLedger {
  /**
   * For look-ups, for loading units into memory, and for portal writes. Lists and probes have their own connections.
   */
  readonly sql: Sql
  readonly lists: ListReads
  /** For requests that must be answered under any load: readiness and metrics. */
  readonly probes: Sql
  /** For child processes. */
  readonly databaseUrl: string
  readonly directory: UnitDirectory
  readonly holdTimer: Pick<HoldTimer, 'failing'>
  readonly journal: Journal
  /** Null: this process has all shards. */
  readonly shards: NodeShards | null
  /** Of the portal's page. */
  readonly sessions: PortalSessions
  /** The changes of an agency as it sees them itself; partners see `changes`. */
  readonly agencyChanges: ChangeFeed<AgencyChange>
  /** The epoch of this writer for the agency. It rises when the journal has to resolve an unknown outcome. */
  epochOf(agencyId: string): number
  /** The same for what belongs to no agency. */
  readonly epoch: number
  /**
   * A statement outside the journal was rejected by the fence. The journal then detects the fence as well and ends the
   * process (J5).
   */
  reportFenced(): void
  /** Tells the process that waits for its turn that it comes in a moment. */
  announceEnd(): Promise<void>
  /** Finishes writes in flight, gives the shards up, writes snapshots, and closes every connection. */
  close(): Promise<void>
}

const SWEEP_MS = 5_000
/** How long an exiting process tries to store its counters while the database is unavailable. */
const LAST_FLUSH_MS_MAX = 2_000

/** After the fence, open writes are first answered with 500 and then counted. */
const COUNT_FENCED_AFTER_MS = 50

export interface LedgerOptions {
  databaseUrl: string
  /** 32 bytes: opens the keys of the journal's chains. */
  secretKey: Uint8Array
  clock: Clock
  limits: LedgerLimits
  watch: LedgerWatch
  /** The name of this writer in `shard`: host and process. */
  holder: string
  /** Called after each durable change of a booking, when its webhooks are due. */
  onBookingChange?: (agencyId: string) => void
  /** True when the process is shutting down and no longer waits for the database. */
  isCancelled?: () => boolean
  /** Given: the process is one node of several. It begins without a shard, and `ledger.shards` gets and gives them. */
  node?: { readonly id: string }
}

/** Everything but what begins with the term of this writer. Whatever serves a ledger can be built on it before the take-over. */
export interface PreparedLedger {
  /** Not to be used before `begin` has resolved. */
  readonly ledger: Ledger
  /**
   * Takes over the ledger.
   * @param untilTurn runs last before that: waits for the turn of this process (await-turn.ts). Not given: takes over at once
   * @throws Error when the database does not answer, or when `isCancelled` says that the take-over was cancelled
   */
  begin(untilTurn?: (turn: Turn) => Promise<void>): Promise<void>
}

/** What a process needs while it waits for its turn. */
export interface Turn {
  readonly writers: PostgresWriters
  /** Repeats what a booking after the take-over will need first, so that it finds connections, caches and plans in place. */
  warmUp(): Promise<void>
}

/** What begins with the term of this writer: it must not count from an earlier moment. */
interface Writing {
  readonly journal: Journal
  readonly rateSlots: RateSlots
  readonly heartbeat: Heartbeat
}

/** Takes over the ledger and opens it, as `prepareLedger` and `begin` do. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const { ledger, begin } = await prepareLedger(options)
  await begin()
  return ledger
}

/**
 * Prepares the ledger; `begin` takes it over. The schema must exist.
 * @throws Error when the database does not answer
 */
export async function prepareLedger(options: LedgerOptions): Promise<PreparedLedger> {
  const { databaseUrl, clock, limits, watch } = options
  let begun: Writing | null = null
  const writing = (): Writing => {
    assert(begun !== null, 'Cannot write: the ledger is not taken over')
    return begun
  }
  const sql = connect(databaseUrl, { purpose: 'queries' })
  const lists = new ListReads(connect(databaseUrl, { purpose: 'lists' }))
  const probes = connect(databaseUrl, { purpose: 'probes' })
  const writers = new PostgresWriters(probes)
  const writerId = crypto.randomUUID()
  const store = new PostgresJournalStore({ url: databaseUrl, queries: sql, writer: { writerId, run: ownRun() } })
  const catalogueStore = new PostgresCatalogueStore(sql)
  const nodeStore =
    options.node === undefined
      ? null
      : new PostgresShards(databaseUrl, { writerId, holder: options.holder, run: ownRun(), node: options.node.id })
  const shards =
    nodeStore === null
      ? null
      : new NodeShards({
          ...{ clock, store: nodeStore },
          load: (of) => readShards({ clock, catalogueStore, usageRows, rateRows, sessionRows }, of),
          onFailure: watch.onHousekeepingFailure,
        })
  const catalogue =
    shards === null
      ? new Catalogue(catalogueStore)
      : new Catalogue(catalogueStore, { has: (agencyId) => shards.termOfAgency(agencyId) !== null, refusal: notOwner })
  const rows = new PostgresBookingRows(sql, shards === null ? null : () => shards.owned)

  const changeRows = new PostgresChangeRows(lists)
  const historyId = await changeRows.historyId()
  const usageRows = new PostgresUsageRows(sql)
  const rateRows = new PostgresRateRows(sql)
  const sessionRows = new PostgresSessionRows(sql)
  const places = new WaitingPlaces(clock)
  const feedOptions = {
    ...{ rows: changeRows, clock, historyId, places },
    endOf: (agencyId: string) => writing().journal.endOf(agencyId),
  }
  const changes = new ChangeFeed({ view: PARTNER_VIEW, ...feedOptions })
  const agencyChanges = new ChangeFeed({ view: AGENCY_VIEW, ...feedOptions })
  const onDefect: OnDefect = (defect, { agencyId, unitId, seq }) =>
    watch.onSnapshotDefect({ defect, agencyId, unitId, seq })
  const directory = new UnitDirectory({
    store,
    clock,
    limits: {
      residentMax: limits.residentUnitsMax,
      mailboxMax: limits.mailboxMax,
      idleMs: limits.unitIdleMs,
      snapshotEvery: limits.snapshotEvery,
    },
    onDefect,
    onSnapshotFailure: watch.onSnapshotFailure,
    onActivated: (agencyId, { unitId, rules }) => catalogue.shareRules(agencyId, unitId, rules),
    ...(shards === null ? {} : { termOf: shards.termOfAgency }),
  })
  const commands = new BookingCommands({
    catalogue,
    directory,
    journal: { append: (record, since) => writing().journal.append(record, since) },
    rows,
    clock,
    newId: systemIds,
    queuedMsMax: limits.queuedMsMax,
    onDurable: ({ after }, agency) => {
      options.onBookingChange?.(agency.id)
      if (after.holdExpiresAt !== null) holdTimer.expectExpiry(after.holdExpiresAt)
    },
  })
  const holdTimer = new HoldTimer({
    clock,
    watch: {
      onFailure: watch.onHoldTimerFailure,
      onHoldFailure: ({ agencyId, unitId, bookingId }, err) =>
        watch.onHoldFailure({ agencyId, unitId, bookingId, err }),
      onBug: watch.onBug,
    },
    holds: {
      isTransient,
      nextExpiry: (at) => rows.nextExpiry(at),
      expired: (at, after, limit) => rows.expiredHolds(at, after, limit),
      expire: async ({ agencyId, bookingId }) => {
        const agency = catalogue.agencyById(agencyId)
        // Another node has its shard by now, and releases it.
        if (agency === null && shards !== null) return
        if (agency === null) throw new Error('Cannot release a hold: its agency is not in the catalogue')
        await commands.expire(agency, bookingId)
      },
    },
  })

  // Appends an empty record. Callers waiting for the fence are notified by `onFenced`.
  const reportFenced = async (): Promise<void> => {
    if (shards !== null) return void (await shards.confirm().catch(() => {}))
    await Promise.allSettled([writing().journal.append({ agencyId: OF_SHARD_0, at: clock.now() })])
  }
  // When only counters are written, they are the first to meet the fence.
  const reportingFence = async (write: Promise<void>): Promise<void> => {
    try {
      await write
    } catch (error) {
      if (classifyDatabaseError(error) === 'fenced') await reportFenced()
      throw error
    }
  }
  const usage = new UsageMeter({
    clock,
    persist: (totals, uses) =>
      reportingFence(usageRows.keep((agencyId) => writing().journal.epochOf(agencyId), totals, uses)),
    onFailure: watch.onCountersNotWritten,
  })
  const limiter = new RateLimiter(clock, (keyId, atMs, kept) => writing().rateSlots.count(keyId, atMs, kept))
  const access = new PartnerAccess({ catalogue, clock, limiter, meter: usage })
  const refusalRows = new PostgresRefusalRows(sql)
  const refusals = new RefusalCounter({
    clock,
    persist: (lines) => refusalRows.keep(lines),
    onFailure: watch.onCountersNotWritten,
  })

  const writtenSessions =
    shards === null
      ? sessionRows.writtenBy(() => writing().journal.epoch)
      : sessionRows.writtenByNode(
          (agencyId) => writing().journal.epochOf(agencyId),
          () => shards.owned,
        )
  const sessions = new PortalSessions({
    rows: {
      insert: (session) => reportingFence(writtenSessions.insert(session)),
      keep: (what) => reportingFence(writtenSessions.keep(what)),
    },
    ...{ catalogue, clock },
    onFailure: watch.onHousekeepingFailure,
  })

  const idempotencyRows = new PostgresIdempotencyRows(sql)
  const idempotency = new IdempotentWrites({
    find: (scope, newerThan) => idempotencyRows.find(scope, newerThan),
    clock,
  })
  const expiredAnswers = new ExpiredAnswers({
    deleteExpired: (asked) => idempotencyRows.deleteExpired(asked),
    clock,
    onFailure: watch.onHousekeepingFailure,
  })

  const monthsAhead = new MonthsAhead({
    ensure: () => ensureMonths(sql),
    clock,
    onNewest: (month) => writing().journal.setNewestMonth(month),
    onFailure: watch.onHousekeepingFailure,
  })
  const withoutSnapshot = new PostgresUnitsWithoutSnapshot(sql)
  const monthSnapshots = new MonthSnapshots({
    // A node writes those of its own shards.
    units: {
      page: async (after, limit) => {
        const { units, next } = await withoutSnapshot.page(after, limit)
        return { units: units.filter(({ agencyId }) => shards?.termOfAgency(agencyId) !== null), next }
      },
    },
    ...{ store, clock, onDefect },
    onFailure: watch.onHousekeepingFailure,
  })

  const beatOf = async (writer: string): Promise<boolean> => {
    if (shards === null) return writers.beat(writer)
    // A process that takes over all shards deletes the rows of all nodes.
    if (shards.owned.size > 0 && !(await writers.beat(writer))) await shards.confirm()
    return true
  }

  let sweep: NodeJS.Timeout | undefined
  const begin: PreparedLedger['begin'] = async (untilTurn) => {
    const opening = {
      ...{ store, holder: options.holder, catalogue, catalogueStore, usageRows, rateRows, sessionRows, clock },
      chainKeys: new PostgresChainKeys(sql, options.secretKey),
      prepare: async () => {
        // So that the journal starts with the newest month.
        await ensureMonths(sql).catch(watch.onHousekeepingFailure)
        if (untilTurn === undefined) return
        const warmUp = () => warmUpStatements({ store, lanes: APPEND_LANES, catalogueStore, idempotencyRows })
        await warmUp()
        await untilTurn({ writers, warmUp })
      },
      isCancelled: options.isCancelled ?? (() => false),
      onFailure: watch.onTakeOverFailure,
    }
    const taken = await (shards === null ? takeOver(opening) : beginWithoutShards(opening))
    const journal = new Journal({
      ...{ store, clock, lanes: APPEND_LANES, term: taken.term, chainKeys: taken.chainKeys },
      limits: {
        waitingMax: limits.journalWaitingMax,
        batchMax: limits.journalBatchMax,
        queuedMsMax: limits.queuedMsMax,
      },
      onDurable: (entries) => {
        changes.noteDurable(entries)
        agencyChanges.noteDurable(entries)
      },
      onFenced: (cause, settled) => {
        changes.end()
        const counted = settled
          .then(() => sleep(clock, COUNT_FENCED_AFTER_MS))
          .then(() => refusals.flush())
          .catch(watch.onCountersNotWritten)
        watch.onFenced(cause, counted)
      },
      ...(shards === null ? {} : { onShardsLost: (lost) => shards.lostTo(lost) }),
      newRenewalId: () => Bun.randomUUIDv7(),
      // A fifth fewer batches than with a microtask (docs/decisions.md).
      atEndOfTurn: (task) => void setImmediate(task),
    })
    const rateTerm = shards === null ? journal.epoch : await rateRows.newNodeTerm()
    const rateSlots = new RateSlots({
      clock,
      bootTime,
      persist: (keep) =>
        shards === null
          ? reportingFence(rateRows.keep({ epoch: journal.epoch, term: rateTerm }, keep))
          : rateRows.keepOfNode(rateTerm, keep),
      onFailure: watch.onCountersNotWritten,
    })
    const heartbeat = new Heartbeat({
      ...{ clock, beat: () => beatOf(writerId) },
      onReplaced: () => void reportFenced(),
    })
    shards?.serveWith({
      ...{ journal, directory, catalogue, usage, limiter, sessions, rateSlots, refusals, holdTimer },
      feeds: [changes, agencyChanges],
    })
    begun = { journal, rateSlots, heartbeat }
    usage.load(taken.used)
    limiter.restore(admittedRequests(taken.passed, { wallMs: clock.now(), boot: bootTime() }))
    sessions.start(taken.sessions)
    holdTimer.start()
    expiredAnswers.start()
    monthsAhead.start()
    monthSnapshots.start()
    sweep = setInterval(() => directory.sweep(), SWEEP_MS)
    sweep.unref()
  }

  const ledger: Ledger = {
    sql,
    databaseUrl,
    lists,
    probes,
    clock,
    newId: systemIds,
    catalogue,
    commands,
    bookingRows: rows,
    bookingList: new PostgresBookingList(sql, lists),
    guestList: new PostgresGuestList(sql, lists),
    directory,
    holdTimer,
    get journal() {
      return writing().journal
    },
    shards,
    sessions,
    access,
    usage,
    refusals,
    idempotency,
    tags: new EntityTags(crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n),
    changes,
    agencyChanges,
    epochOf: (agencyId) => writing().journal.epochOf(agencyId),
    get epoch() {
      return writing().journal.epoch
    },
    reportFenced: () => void reportFenced(),
    announceEnd: () => writers.drain(writerId),
    close: async () => {
      const { journal, rateSlots, heartbeat } = writing()
      clearInterval(sweep)
      await shards?.release([...shards.owned])
      let isDatabaseAway = false
      const stopCounting = async (...counters: Counters[]): Promise<void> => {
        // Wait for an unavailable database only once: the process must end in time.
        for (const failure of await finalFlush(counters, clock, isDatabaseAway ? 0 : LAST_FLUSH_MS_MAX)) {
          isDatabaseAway = true
          watch.onCountersNotWritten(failure)
        }
      }
      await Promise.all([
        expiredAnswers.stop(),
        monthsAhead.stop(),
        monthSnapshots.stop(),
        holdTimer.stop(),
        stopCounting(usage, rateSlots, refusals, sessions),
      ])
      await journal.close()
      // Stores the counts of writes that the journal has refused meanwhile.
      await stopCounting(refusals)
      heartbeat.stop()
      const givenUp = shards === null ? () => writers.release(writerId) : () => writers.forget(writerId)
      if (journal.stats.state === 'closed') await givenUp().catch(watch.onHousekeepingFailure)
      // Without snapshots only the next activation is slower, so do not wait for an unavailable database.
      if (journal.stats.state === 'closed' && !isDatabaseAway)
        await directory.snapshotAll().catch(watch.onSnapshotFailure)
      await Promise.all([store.close(), nodeStore?.close()])
      await Promise.all([sql, lists, probes].map((pool) => pool.end({ timeout: 1 })))
    },
  }
  return { ledger, begin }
}
