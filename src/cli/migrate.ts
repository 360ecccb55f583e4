import type { Command } from 'commander'
import { checkServer } from '../postgres/client/check-server.ts'
import { connect } from '../postgres/client/connect.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { ensureMonths } from '../postgres/stores/postgres-months.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

/** `migrate`: connects to the database instead of the service. */
export function migrateCommand(program: Command, terminal: Terminal): void {
  program
    .command('migrate')
    .summary('migrate the database at DATABASE_URL before you start a new version')
    .description(
      'Migrates the schema of the database at DATABASE_URL. The service also does this when it starts; use this command to do it beforehand.',
    )
    .option('--json', 'print the result as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const url = terminal.env['DATABASE_URL']
      if (!url)
        throw new UsageError(
          'Cannot migrate: DATABASE_URL is not set. The service migrates the database in the data folder itself.',
        )
      const sql = connect(url, { purpose: 'admin' })
      try {
        await checkServer(sql)
        const { applied, version } = await migrate(sql, { onStep: (step) => terminal.err(`${step}\n`) })
        // For a service whose role may create no tables.
        await ensureMonths(sql)
        terminal.out(
          json === true
            ? `${JSON.stringify({ applied, version })}\n`
            : `The schema is at version ${version}; ${applied.length} applied now.\n`,
        )
      } catch (error) {
        throw new CliError(error instanceof Error ? error.message : String(error))
      } finally {
        await sql.end({ timeout: 1 })
      }
    })
}
