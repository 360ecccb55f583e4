/** `erasures export`: erasures survive a restore, because they are listed outside the database too. */
import type { Command } from 'commander'
import { erasureLine, storedErasures } from '../postgres/stores/listed-erasures.ts'
import { databaseUrl, onDatabase } from './database.ts'
import type { Terminal } from './terminal.ts'

/** `erasures export`: connects to the database instead of the service. */
export function erasures(program: Command, terminal: Terminal): void {
  program
    .command('erasures')
    .description('list erased guests outside the database')
    .command('export')
    .summary('print all erasures that the database at DATABASE_URL knows')
    .description(
      'Print all erasures that the database at DATABASE_URL knows, a line of JSON each: ids only. Run this with each backup, and keep the lines beside ' +
        'it: after-restore --erasures carries them out again.',
    )
    .action(async () => {
      const url = databaseUrl(terminal, 'Cannot export erasures: DATABASE_URL is not set.')
      await onDatabase(url, async (sql) => {
        for await (const page of storedErasures(sql)) terminal.out(page.map(erasureLine).join(''))
      })
    })
}
