import { calendarMonthAt } from '../accounts/calendar-periods.ts'
import type { StoredSession } from '../accounts/portal-sessions.ts'
import type { StoredRateSlot } from '../accounts/rate-slots.ts'
import type { UsageDraft } from '../accounts/usage-meter.ts'
import type { Catalogue, CatalogueRead } from '../core/catalogue/catalogue.ts'
import type { JournalStore, WriterTerm } from '../core/journal/journal-store.ts'
import type { Clock } from '../lib/clock.ts'
import { type RetryOptions, retryUntilAnswered } from '../postgres/client/failed-write.ts'
import type { PostgresCatalogueStore } from '../postgres/stores/postgres-catalogue-store.ts'
import type { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import type { PostgresIdempotencyRows } from '../postgres/stores/postgres-idempotency-rows.ts'
import type { PostgresJournalStore } from '../postgres/stores/postgres-journal-store.ts'
import type { PostgresRateRows } from '../postgres/stores/postgres-rate-rows.ts'
import type { PostgresSessionRows } from '../postgres/stores/postgres-session-rows.ts'
import type { PostgresUsageRows } from '../postgres/stores/postgres-usage-rows.ts'
import type { PostgresWriters } from '../postgres/stores/postgres-writers.ts'

/** How long the take-over waits for an unavailable database: after the take-over no other process serves. */
const TAKE_OVER_MS_MAX = 60_000
const PAUSE_MS = 100
/**
 * Above the server's statement timeout: by then a take-over whose reply was lost has ended, and cannot fence out a later
 * writer.
 */
const TAKE_OVER_AGAIN_MS = 2_500

/** What the writer begins with; read after the take-over, when no other process can change it. */
export interface TakenOver {
  /** Before the take-over was asked for (monotonic): its first heartbeat. */
  readonly since: number
  readonly term: WriterTerm
  /** Of the journal's chains, by shard. */
  readonly chainKeys: readonly Uint8Array[]
  /** What the agencies have used of this month. */
  readonly used: readonly UsageDraft[]
  /** The requests of the last minute. */
  readonly passed: readonly StoredRateSlot[]
  /** Of the portal's page. */
  readonly sessions: readonly StoredSession[]
}

/** The stores through which a process gets what it owns, and gives it up. */
export interface OwnedStores {
  /** Of the journal. */
  readonly store: PostgresJournalStore
  readonly writers: PostgresWriters
  readonly writerId: string
  readonly catalogueStore: PostgresCatalogueStore
  readonly chainKeys: PostgresChainKeys
  readonly idempotencyRows: PostgresIdempotencyRows
  readonly usageRows: PostgresUsageRows
  readonly rateRows: PostgresRateRows
  readonly sessionRows: PostgresSessionRows
}

/** What the start does around the moment from which this process serves. */
export interface TakeOverSteps {
  readonly catalogue: Catalogue
  /** Runs once, last before the turn. */
  prepare(): Promise<void>
  /** Waits for the turn of this process, before every attempt. @returns the writers that are gone; null: from any that serves */
  turn(): Promise<readonly string[] | null>
  isCancelled(): boolean
  /** The take-over, or a read after it, got no answer from the database. It is retried. */
  onFailure(error: unknown): void
}

type Needed = Pick<OwnedStores, 'usageRows' | 'rateRows' | 'chainKeys'> & {
  readonly store: Pick<JournalStore, 'takeOver'>
  readonly catalogueStore: { read(): Promise<CatalogueRead> }
  readonly sessionRows: Pick<PostgresSessionRows, 'load'>
}

/**
 * Takes over the ledger, and loads the catalogue. The previous writer keeps serving until everything that can fail has been tried: all
 * required data is read once before the take-over, as a test, and again after it; of the catalogue, only what has changed meanwhile.
 * @throws Error when the database does not answer, or when `isCancelled` says that the take-over was cancelled
 */
export async function takeOver(
  /** `holder`: the name of this writer in `shard`. */
  options: Needed & TakeOverSteps & { readonly holder: string; readonly clock: Clock },
): Promise<TakenOver> {
  const { store, catalogue, catalogueStore, usageRows, rateRows, sessionRows, clock, isCancelled, onFailure } = options
  const usedSoFar = () => usageRows.loadFrom(calendarMonthAt(clock.now()).name)
  const [catalogueBefore] = await Promise.all([
    catalogueStore.read(),
    ...[usedSoFar(), rateRows.load(), sessionRows.load(), options.chainKeys.open()],
  ])
  await options.prepare()
  const retries: RetryOptions = {
    clock,
    withinMs: TAKE_OVER_MS_MAX,
    pauseMs: PAUSE_MS,
    isOver: isCancelled,
    onFailure,
  }
  let since = clock.monotonicMs()
  const ask = async () => {
    // After an attempt that failed as well: another standby may have taken over, and must not be fenced out while it serves.
    const gone = await options.turn()
    if (isCancelled()) throw new Error('Cannot take over the ledger: the process is shutting down')
    since = clock.monotonicMs()
    return store.takeOver(options.holder, gone)
  }
  // While the outcome is unknown. A second take-over fences out the first.
  const term = await retryUntilAnswered(ask, { ...retries, pauseMs: TAKE_OVER_AGAIN_MS })
  const [chainKeys, used, passed, sessions] = await Promise.all([
    retryUntilAnswered(() => options.chainKeys.open(), retries),
    retryUntilAnswered(usedSoFar, retries),
    retryUntilAnswered(() => rateRows.load(), retries),
    retryUntilAnswered(() => sessionRows.load(), retries),
    retryUntilAnswered(() => catalogue.load(catalogueBefore), retries),
  ])
  return { since, term, chainKeys, used, passed, sessions }
}

/** Connections of the pool `queries` that are made ready. One statement each is in progress at the same time. */
const CONNECTIONS = 4
const NOBODY = `agc_${'0'.repeat(32)}`
const NO_UNIT = `unt_${'0'.repeat(32)}`

/**
 * Runs the statements of a first booking, of an agency that does not exist. A booking is several times slower on a connection that has never
 * made one: its backend reads the tables' descriptions and plans each statement. A process that waits for its turn does that meanwhile,
 * because nobody can book while it is done after the take-over.
 */
export async function warmUpStatements({ store, catalogueStore, idempotencyRows }: OwnedStores): Promise<void> {
  const scope = { agencyId: NOBODY, keyId: `key_${'0'.repeat(32)}`, route: '', idempotencyKey: '' }
  const statements: (() => Promise<unknown>)[] = [
    () => idempotencyRows.warmUp(scope),
    () => catalogueStore.loadInventory(NOBODY),
    () => store.loadUnit(NOBODY, NO_UNIT),
  ]
  for (const statement of statements) await Promise.all(Array.from({ length: CONNECTIONS }, statement))
  await store.open()
}
