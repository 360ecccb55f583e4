import type { Command } from 'commander'
import { connect } from '../postgres/client/connect.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

interface Outcome {
  readonly historyId: string
  /** Webhook endpoints that were switched off. */
  readonly endpoints: number
}

/** `after-restore`: readies the ledger in DATABASE_URL for serving after it was restored to an earlier moment. */
export function afterRestore(program: Command, terminal: Terminal): void {
  program
    .command('after-restore')
    .summary('ready a database that was restored to an earlier moment, before the service starts on it')
    .description(
      'Run this once on the database at DATABASE_URL after restoring it to an earlier moment, before the service starts. Partners have seen changes that are gone: ' +
        'their numbers are not used again, cursors of GET /changes end (410), and webhook endpoints are switched off with a reason until the agency enables them. ' +
        'Not after a fail-over, which loses nothing.',
    )
    .option('--json', 'print the result as JSON')
    .action(async (options: { json?: boolean }) => {
      const url = terminal.env['DATABASE_URL']
      if (!url) throw new UsageError('Cannot ready the restored database: DATABASE_URL is not set.')
      const sql = connect(url, { purpose: 'admin' })
      try {
        const [outcome] = await sql<Outcome[]>`
          select history_id as "historyId", endpoints::int as "endpoints" from after_restore()`
        terminal.out(options.json === true ? `${JSON.stringify(outcome)}\n` : sentence(outcome?.endpoints ?? 0))
      } catch (error) {
        throw new CliError(error instanceof Error ? error.message : String(error))
      } finally {
        await sql.end({ timeout: 1 })
      }
    })
}

function sentence(endpoints: number): string {
  return `The ledger has a new history: older cursors have expired. ${endpoints} webhook endpoints are switched off. Run nightledger verify --database, then start the service.\n`
}
