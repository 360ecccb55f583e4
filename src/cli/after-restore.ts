import type { Command } from 'commander'
import { assert } from '../lib/assert.ts'
import { connect } from '../postgres/client/connect.ts'
import { CliError, UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

interface Outcome {
  readonly historyId: string
  /** Webhook endpoints that were switched off. */
  readonly endpoints: number
  /** Sessions of the page that were ended: some may have been signed out of since the moment that was restored. */
  readonly sessions: number
}

/** `after-restore`: prepares the ledger in DATABASE_URL for serving after it was restored to an earlier moment. */
export function afterRestore(program: Command, terminal: Terminal): void {
  program
    .command('after-restore')
    .summary('prepare a database that was restored to an earlier moment, before the service starts on it')
    .description(
      'Run this once on the database at DATABASE_URL after restoring it to an earlier moment, before the service starts. Partners have seen changes that no longer exist: ' +
        'their numbers are not used again, cursors of GET /changes end (410), webhook endpoints are switched off with a reason until the agency enables them, and everybody has to sign in to the page again. ' +
        'Do not run it after a fail-over to a synchronous standby, which loses nothing.',
    )
    .option('--json', 'print the result as JSON')
    .action(async (options: { json?: boolean }) => {
      const url = terminal.env['DATABASE_URL']
      if (!url) throw new UsageError('Cannot prepare the restored database: DATABASE_URL is not set.')
      const sql = connect(url, { purpose: 'admin' })
      try {
        const [outcome] = await sql<Outcome[]>`
          with ended as (delete from portal_session returning 1)
          select history_id as "historyId", endpoints::int as "endpoints", (select count(*)::int from ended) as "sessions"
          from after_restore()`
        assert(outcome !== undefined, 'Cannot say what after-restore did: its statement returned no row')
        terminal.out(options.json === true ? `${JSON.stringify(outcome)}\n` : sentence(outcome))
      } catch (error) {
        throw new CliError(error instanceof Error ? error.message : String(error))
      } finally {
        await sql.end({ timeout: 1 })
      }
    })
}

function sentence({ endpoints, sessions }: Outcome): string {
  return (
    `The ledger has a new history: older cursors have expired. ${endpoints} webhook endpoints are switched off, and ${sessions} sessions of the ` +
    'page have ended. Run nightledger verify --database, then start the service.\n'
  )
}
