import { type Command, Option } from 'commander'
import { parseSecretKey } from '../app/config.ts'
import { checkServer } from '../postgres/client/check-server.ts'
import { connect, type Sql } from '../postgres/client/connect.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { goBack } from '../postgres/upgrade/back.ts'
import { finishUpgrade, reportUpgrade, type UpgradeReport } from '../postgres/upgrade/finish.ts'
import { upgradeState } from '../postgres/upgrade/old-ledger.ts'
import { checkOldSecretKey } from '../postgres/upgrade/old-secret-key.ts'
import { type CopyOutcome, copyAhead } from '../postgres/upgrade/upgrade.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

interface Options {
  readonly json?: boolean
  readonly status?: boolean
  readonly back?: boolean
  readonly finish?: boolean
}

/** The result of a command, as JSON and as a sentence. */
interface Answer {
  readonly json: object
  readonly text: string
}

/** `migrate`: connects to the database instead of the service. */
export function migrateCommand(program: Command, terminal: Terminal): void {
  program
    .command('migrate')
    .summary('migrate the database of DATABASE_URL, ahead of the start of a new version')
    .description(
      'Migrates the schema of the database at DATABASE_URL. The service also does this when it starts; use this command to do it beforehand. ' +
        'A database of the layout before shards is copied into the new layout, which needs SECRET_KEY; the previous version with the old layout may keep serving. ' +
        'An interrupted copy continues where it stopped.',
    )
    .addOption(new Option('--status', 'print how far the copy is').conflicts(['back', 'finish']))
    .addOption(
      new Option(
        '--back',
        'return the database to the previous version with the old layout, with everything written since',
      ).conflicts('finish'),
    )
    .option('--finish', 'remove the old tables: from then on there is no way back')
    .option('--json', 'print the result as JSON')
    .action(async (options: Options) => {
      try {
        const { json, text } = await withDatabase(terminal, options, (sql, url) => run(sql, url, options, terminal))
        terminal.out(options.json === true ? `${JSON.stringify(json)}\n` : text)
      } catch (error) {
        throw error instanceof CliError ? error : new CliError(error instanceof Error ? error.message : String(error))
      }
    })
}

async function run(sql: Sql, url: string, options: Options, { env, err }: Terminal): Promise<Answer> {
  const onStep = (step: string) => err(`${step}\n`)
  if (options.status === true) {
    const report = await reportUpgrade(sql)
    return { json: report, text: statusText(report) }
  }
  if (options.finish === true) {
    await finishUpgrade(sql)
    return { json: { finished: true }, text: 'The old tables are removed.\n' }
  }
  if (options.back === true) {
    const outcome = await goBack(url, onStep)
    const text =
      outcome.kind === 'abandoned'
        ? 'The copy is removed. The tables of the previous version were not changed.\n'
        : `The database is back in the old layout, with ${outcome.entries} journal entries made since the switch. Start the previous version.\n`
    return { json: outcome, text }
  }
  await checkServer(sql)
  const { stage, main } = await upgradeState(sql)
  if (stage === 'old' || stage === 'copying') {
    const secretKey = parseSecretKey(env['SECRET_KEY'] ?? '')
    if (secretKey === null)
      throw new UsageError(
        'Cannot copy the ledger: SECRET_KEY is not set, or is not 32 bytes in hexadecimal or base64.',
      )
    await checkOldSecretKey(sql, main, secretKey)
    const outcome = await copyAhead({ databaseUrl: url, secretKey, onStep })
    return { json: { copied: outcome }, text: copyText(outcome) }
  }
  const { applied, version } = await migrate(sql, { onStep })
  // For a service whose role may create no tables.
  await ensureMonths(sql)
  return { json: { applied, version }, text: `The schema is at version ${version}; ${applied.length} applied now.\n` }
}

/** Uses the database at DATABASE_URL. Without it, --status, --back and --finish use the one in the data folder. */
async function withDatabase<T>(
  { env, err }: Terminal,
  { status, back, finish }: Options,
  use: (sql: Sql, url: string) => Promise<T>,
): Promise<T> {
  const given = env['DATABASE_URL']
  if (given) return withClient(given, use)
  if (status !== true && back !== true && finish !== true)
    throw new UsageError(
      'Cannot migrate: DATABASE_URL is not set. The service migrates the database in the data folder itself.',
    )
  const { startEmbedded } = await import('../postgres/embedded/embedded.ts')
  const { url, stop } = await startEmbedded({
    dataDir: env['DATA_DIR'] || './data',
    onStep: (step) => err(`${step}\n`),
  })
  try {
    return await withClient(url, use)
  } finally {
    await stop()
  }
}

async function withClient<T>(url: string, use: (sql: Sql, url: string) => Promise<T>): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await use(sql, url)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function copyText(outcome: CopyOutcome): string {
  return `The ledger is copied up to journal entry ${outcome.copiedSeq}, and follows the previous version.${doubts(outcome)} Start this version to switch to the copy.\n`
}

function statusText(report: UpgradeReport): string {
  const { stage, rows, entries, switchedAt } = report
  switch (stage) {
    case 'none':
      return 'The database has the present layout, and no tables of an earlier one.\n'
    case 'old':
      return 'The database has the layout before shards. Nothing is copied yet.\n'
    case 'copying':
      return `Copied: ${countOf(rows)} rows and ${countOf(entries)} journal entries. The previous version is in use.${doubts(report)}\n`
    case 'switched':
      return `In the present layout since ${switchedAt?.toISOString() ?? 'now'}. The old tables are kept: --back returns to them, --finish removes them.${doubts(report)}\n`
  }
}

function countOf(count: UpgradeReport['rows']): string {
  return `${(count?.copied ?? 0).toLocaleString('en')} of ${(count?.total ?? 0).toLocaleString('en')}`
}

function doubts({ unknownCallers, differentBodies }: Pick<CopyOutcome, 'unknownCallers' | 'differentBodies'>): string {
  const unknown =
    unknownCallers === 0 ? '' : ` ${unknownCallers} entries had no line in the audit trail: their author is unknown.`
  const different =
    differentBodies === 0 ? '' : ` ${differentBodies} webhook events would now be sent with a different body.`
  return unknown + different
}
