/** The composition root: the only place where ports are connected to their implementations. */

import { GuestErasures } from '../accounts/guest-erasures.ts'
import { admittedRequests, type RateSlots } from '../accounts/rate-slots.ts'
import { RetentionJob } from '../accounts/retention-job.ts'
import { AGENCY_VIEW } from '../api/portal/agency-change.ts'
import type { Ownership } from '../cluster/ownership.ts'
import { BookingCommands } from '../core/bookings/booking-commands.ts'
import { SandboxClocks } from '../core/bookings/sandbox-clocks.ts'
import { UnitsAsOf } from '../core/bookings/units-as-of.ts'
import { isSandbox } from '../core/catalogue/agency.ts'
import { timeOf } from '../core/catalogue/agency-time.ts'
import { CACHED_UNITS_MAX, Catalogue } from '../core/catalogue/catalogue.ts'
import { isUnitSet } from '../core/domain/booking.ts'
import { Journal } from '../core/journal/journal.ts'
import { notOwner } from '../core/journal/journal-error.ts'
import type { OnDefect } from '../core/journal/recovery.ts'
import { OF_SHARD_0 } from '../core/journal/shard.ts'
import { AGENCY_SHARE_OF_QUEUE } from '../core/journal/waiting-records.ts'
import { HoldTimer } from '../core/units/hold-timer.ts'
import { UnitDirectory } from '../core/units/unit-directory.ts'
import { ChangeFeed } from '../events/changes/change-feed.ts'
import { PARTNER_VIEW } from '../events/changes/change-page.ts'
import { WaitingPlaces } from '../events/changes/waiting-places.ts'
import { CheckpointSigner } from '../events/checkpoints/checkpoint-note.ts'
import { Checkpoints } from '../events/checkpoints/checkpoints.ts'
import { EntityTags } from '../http/answer.ts'
import { IdempotentWrites } from '../http/idempotent-writes.ts'
import { assert } from '../lib/assert.ts'
import { bootTime, dayOf, sleep } from '../lib/clock.ts'
import { systemIds } from '../lib/ids.ts'
import { hasLostEntries, isTransient } from '../postgres/client/database-error.ts'
import { PostgresAsOfRows } from '../postgres/stores/postgres-as-of-rows.ts'
import { PostgresBookingHistory } from '../postgres/stores/postgres-booking-history.ts'
import { PostgresBookingList } from '../postgres/stores/postgres-booking-list.ts'
import { PostgresBookingRows } from '../postgres/stores/postgres-booking-rows.ts'
import { PostgresCheckpointRows } from '../postgres/stores/postgres-checkpoint-rows.ts'
import { PostgresGuestList } from '../postgres/stores/postgres-guest-list.ts'
import { APPEND_LANES } from '../postgres/stores/postgres-journal-store.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { retentionOf } from './config.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Ledger, LedgerOptions, PreparedLedger } from './ledger.ts'
import { LastFlush, openCounters } from './ledger-counters.ts'
import { openHousekeeping } from './ledger-housekeeping.ts'
import { openStores } from './ledger-stores.ts'

const RESUME_MS = 5_000
/** Between two parts of a sweep through the units in memory. */
const SWEEP_MS = 50
/** All units in memory are looked at in a twentieth of the time after which an idle one is passivated, within these bounds. */
const SWEEP_PART = 1 / 20
const SWEEP_ALL_MS = { min: 5_000, max: 30_000 } as const
/** After the fence, open writes are first answered with 500 and then counted. */
const COUNT_FENCED_AFTER_MS = 50

/** What begins with the term of this writer: it must not count from an earlier moment. */
interface Writing {
  readonly journal: Journal
  readonly rateSlots: RateSlots
  readonly heartbeat: Heartbeat
}

/**
 * Prepares the ledger; `begin` takes it over. The schema must exist.
 * @throws Error when the database does not answer
 */
export async function prepareLedger(options: LedgerOptions): Promise<PreparedLedger> {
  const { databaseUrl, clock, limits, watch, tracer = null } = options
  let started: Writing | null = null
  const writing = (): Writing => {
    assert(started !== null, 'Cannot write: the ledger is not taken over')
    return started
  }
  const stores = openStores({
    ...options,
    epochOf: (agencyId) => writing().journal.epochOf(agencyId),
    shards: () => ownership.owned(),
  })
  const { sql, lists, probes, writers, writerId, store, catalogueStore } = stores
  const ownership: Ownership = options.openOwnership({
    databaseUrl,
    secretKey: options.secretKey,
    holder: options.holder,
    stores,
    clock,
    onFailure: watch.onHousekeepingFailure,
    onKeyChanged: (cause) => watch.onFenced(cause, Promise.resolve()),
  })
  const { termOf } = ownership
  const catalogue = new Catalogue(catalogueStore, {
    served: { termOf, refusal: notOwner },
    cachedUnitsMax: Math.max(CACHED_UNITS_MAX, limits.residentUnitsMax),
  })
  const rows = new PostgresBookingRows(sql, () => ownership.owned())

  const historyId = await stores.changeRows.historyId()
  const places = new WaitingPlaces(clock)
  const endOf = (agencyId: string) => writing().journal.endOf(agencyId)
  const feedOptions = {
    rows: stores.changeRows,
    clock,
    historyId,
    places,
    endOf,
    isSandbox: (agencyId: string) => isSandbox(catalogue.agencyById(agencyId) ?? {}),
    hasEnded: (digest: string, agencyId: string) => stores.changeRows.hasEnded(digest, agencyId),
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
    onDamaged: ({ agencyId, unitId }, err) => watch.onDamagedUnit({ agencyId, unitId, err }),
    onActivated: (agencyId, { unitId, rules }) => catalogue.shareRules(agencyId, unitId, rules),
    endOf,
    termOf,
  })
  const holdWatch: ConstructorParameters<typeof HoldTimer>[0]['watch'] = {
    onFailure: watch.onHoldTimerFailure,
    onHoldFailure: ({ agencyId, unitId, bookingId }, err) => watch.onHoldFailure({ agencyId, unitId, bookingId, err }),
    onBug: watch.onBug,
  }
  const commands = new BookingCommands({
    catalogue,
    directory,
    journal: { append: (record, since) => writing().journal.append(record, since) },
    rows,
    clock,
    newId: systemIds,
    tracer,
    queuedMsMax: limits.queuedMsMax,
    onDurable: (event, agency) => {
      if (isUnitSet(event)) {
        if (event.changed !== undefined) options.onUnitChange?.(agency.id)
        return
      }
      const { after } = event
      options.onBookingChange?.(agency.id)
      if (after.holdExpiresAt === null) return
      if (agency.clock === undefined) holdTimer.expectExpiry(after.holdExpiresAt)
      else sandboxClocks.expectExpiry(agency, after)
    },
  })
  const sandboxClocks = new SandboxClocks({
    catalogue,
    rows: stores.sandboxClockRows,
    expire: (agency, holds, until) => commands.groups.expire(agency, holds, until),
    audit: { clock, newId: systemIds },
    clock,
    onMoved: (agencyId) => {
      options.onBookingChange?.(agencyId)
      options.onUnitChange?.(agencyId)
    },
    isTransient,
    watch: holdWatch,
  })
  const holdTimer = new HoldTimer({
    clock,
    watch: holdWatch,
    holds: {
      isTransient,
      nextExpiry: (at) => rows.nextExpiry(at),
      expired: (at, after, limit) => rows.expiredHolds(at, after, limit),
      expire: async ({ agencyId, bookingId }) => {
        const agency = catalogue.agencyById(agencyId)
        // Another node has its shard by now, and releases it.
        if (agency === null && termOf(agencyId) === null) return
        if (agency === null) throw new Error('Cannot release a hold: its agency is not in the catalogue')
        await commands.expire(agency, bookingId)
      },
    },
  })

  const { usage, limiter, access, refusals, sessions, openRateSlots } = openCounters({
    stores,
    catalogue,
    clock,
    watch,
    ownership,
    writing,
  })

  const checkpoints = new Checkpoints({
    rows: new PostgresCheckpointRows(lists.sql),
    inTurn: (agencyId, read) => lists.run(agencyId, read),
    historyId,
    signer: new CheckpointSigner(options.secretKey),
  })

  const { idempotencyRows } = stores
  const idempotency = new IdempotentWrites({
    find: (scope, newerThan) => idempotencyRows.find(scope, newerThan),
    clock,
    sandboxNow: (agencyId) => catalogue.agencyById(agencyId)?.clock?.now ?? null,
    termOf,
  })
  const guestList = new PostgresGuestList(sql, lists)
  const guestErasures = new GuestErasures({
    rows: stores.erasureRows,
    guests: guestList,
    commands,
    directory,
    catalogue,
    todayOf: (agency) => dayOf(timeOf(agency, clock), agency.timezone),
    list: options.listErasure ?? null,
    onErased: (agencyId) => {
      // Their texts are in the newest changes, and their names in what a reader of the tape holds.
      for (const feed of [changes, agencyChanges]) feed.forget((id) => id === agencyId)
      directory.noteChanged(agencyId)
    },
  })
  const retention = new RetentionJob({
    rows: stores.retentionRows,
    defaults: retentionOf(limits),
    agencyById: (agencyId) => catalogue.agencyById(agencyId),
    ownsDeliveries: () => termOf(OF_SHARD_0) !== null,
    erasures: guestErasures,
    clock,
    newId: systemIds,
    onFailure: watch.onHousekeepingFailure,
  })
  const housekeeping = openHousekeeping({
    databaseUrl,
    stores,
    clock,
    watch,
    ownership,
    writing,
    guestErasures,
    retention,
  })

  const timers: NodeJS.Timeout[] = []
  const begin: PreparedLedger['begin'] = async (untilTurn) => {
    const warmUp = () => ownership.warmUp()
    const acquired = await ownership.acquire({
      catalogue,
      prepare: async () => {
        // So that the journal starts with the newest month.
        await ensureMonths(sql).catch(watch.onHousekeepingFailure)
        await checkpoints.listKeys().catch(watch.onHousekeepingFailure)
        if (untilTurn !== undefined) await warmUp()
      },
      turn: async () => (await untilTurn?.({ writers, writerId, warmUp })) ?? null,
      isCancelled: options.isCancelled ?? (() => false),
      onFailure: watch.onTakeOverFailure,
    })
    const { lostTo } = ownership
    const journal = new Journal({
      store,
      clock,
      lanes: APPEND_LANES,
      term: acquired.term,
      chainKeys: acquired.chainKeys,
      limits: {
        waitingMax: limits.journalWaitingMax,
        agencyWaitingMax: Math.ceil(limits.journalWaitingMax * AGENCY_SHARE_OF_QUEUE),
        batchMax: limits.journalBatchMax,
        queuedMsMax: limits.queuedMsMax,
      },
      onDurable: (entries) => {
        changes.noteDurable(entries)
        agencyChanges.noteDurable(entries)
        for (const entry of entries) housekeeping.checkpoints.note(entry)
      },
      onFenced: (cause, settled) => {
        if (hasLostEntries(cause)) watch.onEntriesLost(cause)
        changes.end()
        const counted = settled
          .then(() => sleep(clock, COUNT_FENCED_AFTER_MS))
          .then(() => refusals.flush())
          .catch(watch.onCountersNotWritten)
        watch.onFenced(cause, counted)
      },
      ...(lostTo && {
        onShardsLost: (lost: readonly number[], cause: unknown) => {
          if (hasLostEntries(cause)) watch.onEntriesLost(cause)
          lostTo(lost)
        },
      }),
      newRenewalId: () => Bun.randomUUIDv7(),
      // A fifth fewer batches than with a microtask (docs/decisions.md#speed).
      atEndOfTurn: (task) => void setImmediate(task),
    })
    const rateSlots = await openRateSlots(journal)
    const heartbeat = new Heartbeat({
      clock,
      since: acquired.since,
      beat: () => ownership.beat(),
      onReplaced: () => void ownership.findLost(),
      onConfirmed: (isConfirmed) => {
        places.pause(!isConfirmed)
        watch.onConfirmed(isConfirmed)
      },
    })
    ownership.serveWith({
      journal,
      directory,
      catalogue,
      usage,
      limiter,
      sessions,
      rateSlots,
      refusals,
      holdTimer,
      feeds: [changes, agencyChanges],
    })
    started = { journal, rateSlots, heartbeat }
    usage.load(acquired.used)
    limiter.restore(admittedRequests(acquired.passed, { wallMs: clock.now(), boot: bootTime() }))
    sessions.start(acquired.sessions)
    holdTimer.start()
    sandboxClocks.resume()
    housekeeping.start()
    const { min, max } = SWEEP_ALL_MS
    const share = SWEEP_MS / Math.min(max, Math.max(min, limits.unitIdleMs * SWEEP_PART))
    timers.push(
      setInterval(() => directory.sweep(share), SWEEP_MS),
      // Those of shards that this process has acquired meanwhile, and those that were interrupted.
      setInterval(() => sandboxClocks.resume(), RESUME_MS),
    )
    for (const timer of timers) timer.unref()
  }

  const ledger: Ledger = {
    sql,
    databaseUrl,
    tracer,
    lists,
    probes,
    clock,
    newId: systemIds,
    catalogue,
    commands,
    bookingRows: rows,
    bookingList: new PostgresBookingList(sql, lists),
    guestList,
    guestErasures,
    bookingHistory: new PostgresBookingHistory(lists),
    unitsAsOf: new UnitsAsOf({ rows: new PostgresAsOfRows(lists), onDefect }),
    sandboxClocks,
    directory,
    holdTimer,
    retention,
    checkpointBuilder: housekeeping.checkpoints,
    sandboxRows: stores.sandboxRows,
    get journal() {
      return writing().journal
    },
    ownership,
    sessions,
    access,
    usage,
    refusals,
    idempotency,
    tags: new EntityTags(crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n),
    changes,
    agencyChanges,
    checkpoints,
    epochOf: (agencyId) => writing().journal.epochOf(agencyId),
    get epoch() {
      return writing().journal.epoch
    },
    reportFenced: () => void ownership.findLost(),
    get isConfirmed() {
      return writing().heartbeat.isConfirmed
    },
    announceEnd: () => writers.drain(writerId),
    close: async () => {
      const { journal, rateSlots, heartbeat } = writing()
      for (const timer of timers) clearInterval(timer)
      await ownership.release()
      const flush = new LastFlush(clock, watch.onCountersNotWritten)
      await Promise.all([
        housekeeping.stop(),
        holdTimer.stop(),
        sandboxClocks.stop(),
        flush.stop(usage, rateSlots, refusals, sessions),
      ])
      await journal.close()
      // Stores the counts of writes that the journal has refused meanwhile.
      await flush.stop(refusals)
      heartbeat.stop()
      if (journal.stats.state === 'closed') await ownership.end().catch(watch.onHousekeepingFailure)
      // Without snapshots only the next activation is slower, so do not wait for an unavailable database.
      if (journal.stats.state === 'closed' && !flush.isDatabaseAway)
        await directory.snapshotAll().catch(watch.onSnapshotFailure)
      await Promise.all([stores.close(), ownership.close()])
    },
  }
  return { ledger, begin }
}
