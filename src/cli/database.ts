/** Commands that work on the database instead of asking the service: `migrate` and `after-restore`. */
import type { Command } from 'commander'
import { assert } from '../lib/assert.ts'
import { checkServer } from '../postgres/client/check-server.ts'
import { connect, type Sql } from '../postgres/client/connect.ts'
import { isSameDatabase, parseDatabaseUrl } from '../postgres/client/database-url.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { grantRoles } from '../postgres/schema/roles.ts'
import type { RepeatedErasures } from '../postgres/stores/listed-erasures.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { CliError, UsageError } from './exit-codes.ts'
import { type ErasuresOption, erasuresSentence, listedErasures, withErasures } from './repeated-erasures.ts'
import type { Terminal } from './terminal.ts'

/** Ends the description of each command that connects to the database. */
export const OWNER_NEEDED =
  'It connects as the owner of the tables: with MIGRATION_DATABASE_URL if that is set, otherwise with DATABASE_URL.'

/**
 * As the owner of the tables.
 * @throws UsageError with the text when there is none, or when the variables name two databases: one of them is not the one that is meant
 */
export function databaseUrl({ env }: Terminal, without: string): string {
  const { DATABASE_URL: service, MIGRATION_DATABASE_URL: owner } = env
  const url = owner || service
  if (!url) throw new UsageError(without)
  if (owner && service && !isSameDatabase(owner, service))
    throw new UsageError(
      'DATABASE_URL and MIGRATION_DATABASE_URL name different databases. Set both to the one that is meant. Nothing was changed.',
    )
  return url
}

/** @throws CliError with what the database or `use` says */
export async function onDatabase<T>(
  url: string,
  use: (sql: Sql) => Promise<T>,
  reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error)),
): Promise<T> {
  const sql = connect(url, { purpose: 'admin' })
  try {
    return await use(sql)
  } catch (error) {
    throw error instanceof CliError ? error : new CliError(reasonOf(error))
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** `migrate`: connects to the database instead of the service. */
export function migrateCommand(program: Command, terminal: Terminal): void {
  program
    .command('migrate')
    .summary('migrate the database at DATABASE_URL before you start a new version')
    .description(
      'Migrates the schema of the database at DATABASE_URL, and gives the roles their rights. The service also does this when it starts with MIGRATION_DATABASE_URL, ' +
        `or with a DATABASE_URL that is the owner's; use this command to do it beforehand. ${OWNER_NEEDED} The user of DATABASE_URL is the role that serves.`,
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const url = databaseUrl(
        terminal,
        'Cannot migrate: DATABASE_URL is not set. The service migrates the database in the data folder itself.',
      )
      const { applied, version } = await onDatabase(url, async (sql) => {
        await checkServer(sql)
        const onStep = (step: string) => terminal.err(`${step}\n`)
        const outcome = await migrate(sql, { onStep })
        await ensureMonths(sql)
        await grantRoles(sql, { service: parseDatabaseUrl(terminal.env['DATABASE_URL'] || url)?.user ?? '', onStep })
        return outcome
      })
      terminal.out(
        json === true
          ? `${JSON.stringify({ applied, version })}\n`
          : `The schema is at version ${version}; ${applied.length} applied now.\n`,
      )
    })
}

interface Outcome {
  /** Of the lists; null: there are none. */
  readonly erasures: RepeatedErasures | null
  readonly historyId: string
  /** Webhook endpoints that were switched off. */
  readonly endpoints: number
  /** Sessions of the page that were ended: some may have been signed out of since the moment that was restored. */
  readonly sessions: number
  /** API keys and access tokens that can be used: among them are those that were revoked since that moment. */
  readonly keys: number
  readonly tokens: number
}

interface AfterRestoreOptions extends ErasuresOption {
  readonly json?: boolean
  readonly revokeAccess?: boolean
}

const LIVE = 'revoked_at is null and (expires_at is null or expires_at > now())'

/** `after-restore`: prepares the ledger in DATABASE_URL for serving after it was restored to an earlier moment. */
export function afterRestore(program: Command, terminal: Terminal): void {
  const command = program
    .command('after-restore')
    .summary('prepare a database that was restored to an earlier moment, before the service starts on it')
    .description(
      'Run this once on the database at DATABASE_URL after restoring it to an earlier moment, before the service starts. Partners have seen changes that no longer exist: ' +
        'their numbers are not used again, cursors of GET /changes end (410), webhook endpoints are switched off with a reason until the agency enables them, and everybody has to sign in to the page again. ' +
        'API keys, access tokens and calendar addresses that were revoked since that moment are valid again: revoke them again, or all with --revoke-access. ' +
        'Guests who were erased since then are erased again with --erasures; without it nothing is done, unless --no-erasures says that there are none. ' +
        'Run it too when a fail-over to an asynchronous standby has lost the last changes. Do not run it after a fail-over to a synchronous standby, which loses nothing. ' +
        OWNER_NEEDED,
    )
    .option('--json', 'print the result as JSON')
    .option('--revoke-access', 'revoke all API keys and access tokens, and change all calendar addresses')
  withErasures(command).action(async (options: AfterRestoreOptions) => {
    const url = databaseUrl(terminal, 'Cannot prepare the restored database: DATABASE_URL is not set.')
    const outcome = await onDatabase(url, async (sql) => {
      const repeatListed = await listedErasures(sql, options)
      if (options.revokeAccess === true) await revokeAccess(sql)
      const [row] = await sql<Omit<Outcome, 'erasures'>[]>`
          with ended as (delete from portal_session returning 1)
          select history_id as "historyId", endpoints::int as "endpoints", (select count(*)::int from ended) as "sessions",
                 (select count(*)::int from api_key where ${sql.unsafe(LIVE)}) as "keys",
                 (select count(*)::int from access_token where ${sql.unsafe(LIVE)}) as "tokens"
          from after_restore()`
      assert(row !== undefined, 'Cannot say what after-restore did: its statement returned no row')
      return { ...row, erasures: await repeatListed(sql) }
    })
    terminal.out(options.json === true ? `${JSON.stringify(outcome)}\n` : sentence(outcome))
  })
}

/** What was revoked since the restored moment is not known any more: everything is. Only the operator's tokens are left. */
async function revokeAccess(sql: Sql): Promise<void> {
  await sql`
    with keys as (update api_key set revoked_at = now() where revoked_at is null),
         tokens as (update access_token set revoked_at = now() where revoked_at is null)
    update calendar_feed set version = version + 1`
}

function sentence({ endpoints, sessions, keys, tokens, erasures }: Outcome): string {
  return (
    `The ledger has a new history: older cursors have expired. ${endpoints} webhook endpoints are switched off, and ${sessions} sessions of the ` +
    `page have ended. ${keys} API keys and ${tokens} access tokens can be used; those that were revoked since the restored moment are among them: revoke them again ` +
    `(--revoke-access revokes all). ${erasuresSentence(erasures)}Run nightledger verify --database, then start the service.\n`
  )
}
