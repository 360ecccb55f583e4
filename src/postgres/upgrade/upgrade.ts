/**
 * Upgrades a ledger from the layout before shards to the present one, while the previous version with the old layout keeps serving:
 *
 * 1. A copy is made in schema `ledger_next`, and kept up to date (mirror-tables.ts, copy-journal.ts). The old tables are not changed.
 * 2. The switch: the previous version is fenced out, the rest is copied, and the tables change places (switch.sql). The old ones are kept
 *    in schema `ledger_previous` for the way back (back.ts).
 *
 * Every step can be interrupted and continues at the next call.
 */
import { connect, type Sql } from '../client/connect.ts'
import { withParameter } from '../client/database-url.ts'
import { migrate } from '../schema/migrate.ts'
import { MIGRATIONS, OLD_MIGRATIONS } from '../schema/migrations.ts'
import { PostgresChainKeys } from '../stores/postgres-chain-keys.ts'
import { abandonCopy } from './abandon.ts'
import { JournalCopy } from './copy-journal.ts'
import { tryCopyLock } from './copy-lock.ts'
import { reportUpgrade } from './finish.ts'
import { mustHaveOwnIds } from './foreign-ids.ts'
import { LedgerSwitch } from './ledger-switch.ts'
import { MirrorTables } from './mirror-tables.ts'
import { type UpgradeState, upgradeState } from './old-ledger.ts'
import progressText from './progress.sql' with { type: 'text' }
import { type OnStep, Progress } from './progress.ts'
import upgradeText from './upgrade.sql' with { type: 'text' }
import { UpgradeError } from './upgrade-error.ts'

/** The copy is caught up when no more entries than this are left: the switch copies them within a moment. */
const LAG_MAX = 1_000
const LINES_PER_PAGE = 10_000
/** Above every transaction. */
const XID_MAX = '18446744073709551615'
/** A page takes about 100 ms: for so long a statement of the previous version may wait for one of its rows. */
const PAGE_SIZE = 2_000

export interface UpgradeOptions {
  readonly databaseUrl: string
  /** 32 bytes (SECRET_KEY), which has been found to be the database's. */
  readonly secretKey: Uint8Array
  readonly onStep: OnStep
  /** True when the process is shutting down. What is copied stays, and the next call continues. */
  readonly isCancelled?: () => boolean
  /** Rows, or entries, copied by one statement. */
  readonly pageSize?: number
}

export interface CopyOutcome {
  /** The last entry of the old journal that is copied. */
  readonly copiedSeq: number
  /** Entries whose author is not known: they had no line in the audit trail. */
  readonly unknownCallers: number
  /** Webhook events that are now rendered with another body than before. */
  readonly differentBodies: number
}

/**
 * Copies an old ledger up to its present end. The previous version may serve meanwhile and afterwards.
 * @throws UpgradeError, MigrationError, CorruptLedgerError when it cannot be copied
 */
export async function copyAhead(options: UpgradeOptions): Promise<CopyOutcome> {
  const upgrade = await Upgrade.open(options)
  try {
    await upgrade.copy()
    return await upgrade.outcome()
  } finally {
    await upgrade.close()
  }
}

/** Copies an old ledger, fences out the previous version, and switches to the copy. @throws as `copyAhead` does */
export async function copyAndSwitch(options: UpgradeOptions): Promise<CopyOutcome> {
  const upgrade = await Upgrade.open(options)
  try {
    await upgrade.copy()
    const outcome = await upgrade.outcome()
    await upgrade.switch()
    return outcome
  } finally {
    await upgrade.close()
  }
}

class Upgrade {
  readonly #sql: Sql
  readonly #main: string
  readonly #options: UpgradeOptions
  readonly #mirrors: MirrorTables
  readonly #lock: Sql
  #journal: JournalCopy | null = null

  private constructor(options: UpgradeOptions, main: string, searchPath: string) {
    this.#options = options
    this.#main = main
    this.#sql = connect(nextUrl(options.databaseUrl, searchPath), { purpose: 'admin' })
    this.#lock = connect(options.databaseUrl, { purpose: 'admin' })
    this.#mirrors = new MirrorTables({
      sql: this.#sql,
      main,
      onStep: options.onStep,
      pageSize: options.pageSize ?? PAGE_SIZE,
    })
  }

  static async open(options: UpgradeOptions): Promise<Upgrade> {
    const sql = connect(options.databaseUrl, { purpose: 'admin' })
    try {
      const { stage, main } = await upgradeState(sql)
      if (stage === 'old') await migrate(sql, { migrations: OLD_MIGRATIONS, onStep: options.onStep })
      const [session] = await sql<{ path: string }[]>`select current_setting('search_path') as "path"`
      return new Upgrade(options, main, session?.path ?? 'public')
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#sql.end({ timeout: 1 }), this.#lock.end({ timeout: 1 })])
  }

  /** Copies everything, then what was written meanwhile, until almost nothing is left. */
  async copy(): Promise<void> {
    await this.#becomeOnlyCopier()
    const { stage } = await this.#state()
    // Another process has switched while this one waited.
    if (stage === 'switched' || stage === 'none') return
    if (stage === 'old') await this.#begin()
    await this.#mirrors.copy(() => this.#mustGoOn())
    this.#journal = new JournalCopy({
      sql: this.#sql,
      main: this.#main,
      pageSize: this.#options.pageSize ?? PAGE_SIZE,
      chainKeys: await new PostgresChainKeys(this.#sql, this.#options.secretKey).open(),
    })
    for (;;) {
      const { left } = await this.#copyOnce(this.#journal)
      if (left <= LAG_MAX) break
    }
    this.#options.onStep('Collecting statistics of the copied tables')
    await this.#analyze()
    await this.#copyOnce(this.#journal)
  }

  /** Fences out the previous version and switches to the copy. */
  async switch(): Promise<void> {
    const { onStep } = this.#options
    const journal = this.#journal
    if (journal === null) return
    const taking = new LedgerSwitch({ sql: this.#sql, main: this.#main, onStep })
    await taking.rehearse()
    for (let attempt = 1; ; attempt++) {
      this.#mustGoOn()
      onStep('Fencing out the previous version')
      const epoch = await taking.fence()
      const { until } = await this.#copyOnce(journal, { isFenced: true })
      await taking.waitForLastVersion()
      if (await taking.switchOver(epoch, until)) break
      if (attempt >= 10)
        throw new UpgradeError(
          'Cannot switch: the previous version takes over again and again. Nothing is lost. Stop it, then start again.',
        )
    }
    onStep('The ledger is in the new layout. The old tables are kept in schema ledger_previous')
  }

  async outcome(): Promise<CopyOutcome> {
    const { entries, unknownCallers, differentBodies } = await reportUpgrade(this.#lock)
    return { copiedSeq: entries?.copied ?? 0, unknownCallers, differentBodies }
  }

  #state(): Promise<UpgradeState> {
    return upgradeState(this.#lock)
  }

  #mustGoOn(): void {
    if (this.#options.isCancelled?.() === true)
      throw new UpgradeError('The copy was interrupted. What is copied is kept, and the next start continues')
  }

  /** Even if the lock is lost, each page is stored only once. */
  async #becomeOnlyCopier(): Promise<void> {
    for (let isWaiting = false; ; isWaiting = true) {
      if (await tryCopyLock(this.#lock)) return
      if (!isWaiting) this.#options.onStep('Waiting for another process that is copying this ledger')
      this.#mustGoOn()
      await Bun.sleep(1_000)
    }
  }

  /** Creates the tables of the copy, after removing what an interrupted attempt left behind. Does not change the old tables. */
  async #begin(): Promise<void> {
    const { onStep } = this.#options
    onStep('Checking the ids of all rows')
    await mustHaveOwnIds(this.#sql, this.#main)
    onStep('Making the tables of the new layout')
    await abandonCopy(this.#sql, this.#main, onStep)
    await this.#sql
      .unsafe(
        `create schema ledger_next;
         create table ledger_next.schema_migration (like ${this.#main}.schema_migration including all)`,
      )
      .simple()
    await migrate(this.#sql, { migrations: MIGRATIONS, onStep })
    await this.#define(upgradeText)
    await this.#define(await this.#mirrors.script())
    await this.#sql`select ledger_upgrade.make_past_months(${await this.#oldestMonth()}::text::date)`
    onStep('Making an index of the old webhook events')
    await this.#sql.unsafe(`create index concurrently webhook_event_upgrade on ${this.#main}.webhook_event (seq)`)
    await this.#define(progressText)
  }

  /** Copies everything that exists at the time of the call. `isFenced`: the previous version can write nothing more. */
  async #copyOnce(
    journal: JournalCopy,
    { isFenced = false }: { isFenced?: boolean } = {},
  ): Promise<{ left: number; until: number }> {
    const { onStep } = this.#options
    const [now] = await this.#sql.unsafe<{ until: number; copied: number; before: string }[]>(
      `select coalesce((select max(seq) from ${this.#main}.journal), 0)::float8 as "until", copied_seq::float8 as "copied",
              pg_snapshot_xmin(pg_current_snapshot())::text as "before"
       from ledger_upgrade.progress`,
    )
    if (now === undefined) throw new UpgradeError('Cannot copy the journal: the copy was not begun')
    await this.#mirrors.again()
    const { until } = now
    const progress = new Progress('the journal', { total: until, done: now.copied, onStep })
    for (let copied = now.copied; copied < until; ) {
      this.#mustGoOn()
      copied = await journal.copyChunk(until)
      progress.report(copied)
    }
    // A line that was there before the journal was read, and is left now, belongs to no entry.
    const before = isFenced ? XID_MAX : now.before
    for (;;) {
      this.#mustGoOn()
      const [kept] = await this.#sql<{ lines: number }[]>`
        select ledger_upgrade.keep_lines(${before}::text::xid8, ${LINES_PER_PAGE}) as "lines"`
      if ((kept?.lines ?? 0) === 0) break
    }
    return { left: until - now.copied, until }
  }

  async #oldestMonth(): Promise<string> {
    const main = this.#main
    // Ten years at most: older rows are stored under the oldest month.
    const [row] = await this.#sql.unsafe<{ month: string }[]>(
      `select date_trunc('month', greatest(least(
                (select min(at) from ${main}.journal), (select min(at) from ${main}.audit),
                (select min(created_at) from ${main}.webhook_delivery), now()), now() - interval '120 months')
              at time zone 'UTC')::date::text as "month"`,
    )
    return row?.month ?? ''
  }

  async #analyze(): Promise<void> {
    const tables = await this.#sql<{ name: string }[]>`
      select c.oid::regclass::text as "name" from pg_class c
      where c.relnamespace = 'ledger_next'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`
    for (const { name } of tables) await this.#sql.unsafe(`analyze ${name}`)
  }

  async #define(text: string): Promise<void> {
    await this.#sql.unsafe(this.#text(text)).simple()
  }

  #text(text: string): string {
    return text.replaceAll('main_schema', this.#main)
  }
}

/** The same database, with the tables of the copy in front of the old ones. */
function nextUrl(databaseUrl: string, searchPath: string): string {
  return withParameter(databaseUrl, 'search_path', `ledger_next, ${searchPath}`)
}
