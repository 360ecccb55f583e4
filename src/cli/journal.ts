import type { Command } from 'commander'
import { archiveMonth, type MonthManifest } from '../app/month-archive.ts'
import { PostgresChainKeys } from '../postgres/stores/postgres-chain-keys.ts'
import { databaseUrl, OWNER_NEEDED, onDatabase, secretKeyFor } from './database.ts'
import { UsageError } from './exit-codes.ts'
import type { Terminal } from './terminal.ts'

interface Options {
  readonly month: string
  readonly out: string
  readonly json?: boolean
}

/** `journal archive`: moves the oldest month from the database at DATABASE_URL into files. */
export function journal(program: Command, terminal: Terminal): void {
  program
    .command('journal')
    .description('archive old months')
    .command('archive')
    .summary('move the oldest month of the database at DATABASE_URL into files')
    .description(
      'Writes the journal, audit trail, webhook deliveries and attempts of the oldest month into a folder, checks the journal against its chain and the files against the tables, and then drops the tables. ' +
        'Run it while the service runs, with SECRET_KEY. It cannot be undone. Run an interrupted archive again with the same options. ' +
        OWNER_NEEDED,
    )
    .requiredOption('--month <YYYY-MM>', 'the oldest month')
    .requiredOption('--out <dir>', 'where to make the folder of the month')
    .option('--json', 'print the manifest as JSON')
    .action(async ({ month, out, json }: Options) => {
      if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) throw new UsageError('--month must be a month, such as 2026-01.')
      const url = databaseUrl(terminal, 'Cannot archive: DATABASE_URL is not set.')
      const manifest = await onDatabase(
        url,
        async (sql) => {
          const chainKeys = await new PostgresChainKeys(sql, await secretKeyFor(sql, terminal, 'Cannot archive')).read()
          return archiveMonth({ sql, chainKeys, month: `${month}-01`, out })
        },
        reasonOf,
      )
      terminal.out(json === true ? `${JSON.stringify(manifest)}\n` : sentence(manifest, out))
    })
}

/** What retire_month advises is in the hint. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const hint = 'hint' in error && typeof error.hint === 'string' ? `. ${error.hint}` : ''
  return `${error.message}${hint}`
}

function sentence({ month, tables }: MonthManifest, out: string): string {
  const rows = tables.map(({ table, rows }) => `${rows} rows of ${table}`).join(', ')
  return `Archived ${month} in ${out}/${month}: ${rows}. The tables were dropped.\n`
}
