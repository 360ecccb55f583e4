/** What commands share that work on the database instead of asking the service, and the first of them: `migrate`. */
import type { Command } from 'commander'
import { parseSecretKey } from '../app/config.ts'
import { secretKeyCheck } from '../events/webhooks/re-encrypt.ts'
import { checkServer } from '../postgres/client/check-server.ts'
import { connect, type Sql } from '../postgres/client/connect.ts'
import { DatabaseUrlError, isSameDatabase, parseDatabaseUrl } from '../postgres/client/database-url.ts'
import { checkSchema, MigrationError, migrate, schemaVersion } from '../postgres/schema/migrate.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { grantRoles } from '../postgres/schema/roles.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { storedCheck } from '../postgres/stores/stored-key-check.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

/** Ends the description of each command that connects to the database. */
export const OWNER_NEEDED =
  'It connects as the owner of the tables: with MIGRATION_DATABASE_URL if that is set, otherwise with DATABASE_URL.'

/**
 * As the owner of the tables.
 * @throws UsageError with the text when there is none, when a variable is not the URL of a database, or when the variables name two
 *   databases: one of them is not the one that is meant
 */
export function databaseUrl({ env }: Terminal, without: string): string {
  const { DATABASE_URL: service, MIGRATION_DATABASE_URL: owner } = env
  mustBeUrl('DATABASE_URL', service)
  mustBeUrl('MIGRATION_DATABASE_URL', owner)
  const url = owner || service
  if (!url) throw new UsageError(without)
  if (owner && service && !isSameDatabase(owner, service))
    throw new UsageError(
      'DATABASE_URL and MIGRATION_DATABASE_URL name different databases. Set both to the one that is meant. Nothing was changed.',
    )
  return url
}

function mustBeUrl(name: string, text: string | undefined): void {
  try {
    if (text && parseDatabaseUrl(text) === null)
      throw new DatabaseUrlError('is not a URL such as postgres://user:password@host:5432/database.')
  } catch (error) {
    throw error instanceof DatabaseUrlError ? new UsageError(`${name} ${error.message} Nothing was changed.`) : error
  }
}

/**
 * SECRET_KEY. A key that is missing or malformed is refused before the database is asked anything.
 * @param cannot begins the message, such as `Cannot verify`
 * @throws UsageError when there is none, or it is not the key of this database; as `mustFit`
 */
export async function secretKeyFor(sql: Sql, { env }: Terminal, cannot: string): Promise<Uint8Array> {
  const key = parseSecretKey(env['SECRET_KEY'] ?? '')
  if (key === null)
    throw new UsageError(`${cannot}: SECRET_KEY is not set, or is not 32 bytes in hexadecimal or base64.`)
  await mustFit(sql)
  const check = await storedCheck(sql)
  if (check !== null && check !== secretKeyCheck(key))
    throw new UsageError(`${cannot}: SECRET_KEY does not match this database.`)
  return key
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

/**
 * Before a command reads or changes the tables of a ledger.
 * @throws CliError when this program does not work on the schema of the database
 */
export async function mustFit(sql: Sql): Promise<void> {
  try {
    await checkSchema(sql)
  } catch (error) {
    throw error instanceof MigrationError ? new CliError(error.message) : error
  }
  const version = await schemaVersion(sql)
  if (version < MIGRATIONS.length)
    throw new CliError(
      `The schema of the database is at version ${version}, and this program needs version ${MIGRATIONS.length}. Run nightledger migrate first. Nothing was changed.`,
    )
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
