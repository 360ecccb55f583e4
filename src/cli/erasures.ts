/**
 * Erasures survive a restore, because they are listed outside the database too: `erasures export`, and what `after-restore` does about guests
 * who were erased since the restored moment.
 */
import type { Command } from 'commander'
import { instantText } from '../lib/clock.ts'
import type { Sql } from '../postgres/client/connect.ts'
import {
  erasureIn,
  erasureLine,
  type ListedErasure,
  type RepeatedErasures,
  repeatErasures,
  restoredMoment,
  storedErasures,
} from '../postgres/stores/listed-erasures.ts'
import { databaseUrl, onDatabase } from './database.ts'
import { CliError } from './exit-codes.ts'
import { readText } from './flags.ts'
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

export interface ErasuresOption {
  /** Files; false: there are none (`--no-erasures`); left out: nobody has said. */
  readonly erasures?: readonly string[] | false
}

export function withErasures(command: Command): Command {
  return command
    .option('--erasures <file...>', 'erase these guests again: files of ERASURES_FILE and `erasures export`')
    .option('--no-erasures', 'no guest was erased since the restored moment')
}

/** Carries the listed erasures out again; null: the caller says that there are none. */
export type RepeatListed = (sql: Sql) => Promise<RepeatedErasures | null>

/**
 * Reads the lists before anything is changed.
 * @throws CliError when nobody has said what was erased since, or a line is not an erasure
 */
export async function listedErasures(sql: Sql, { erasures: given }: ErasuresOption): Promise<RepeatListed> {
  if (given === false) return async () => null
  if (given === undefined) throw new CliError(await withoutList(sql))
  const listed = given.flatMap(readList)
  return (database) => repeatErasures(database, listed)
}

/** What was done about them, as the end of a line. */
export function erasuresSentence(repeated: RepeatedErasures | null): string {
  if (repeated === null) return 'No guest was erased again'
  const { erased, absent } = repeated
  return `${erased} guests were erased again, and ${absent} listed ones were not there; the log gets its entries when the service starts`
}

async function withoutList(sql: Sql): Promise<string> {
  const moment = await restoredMoment(sql)
  const restored = moment === null ? 'The log is empty' : `The newest entry of the log is of ${instantText(moment)}`
  return (
    `Nothing was changed. ${restored}: guests who were erased since then may be in the database again, and which they are is not known. ` +
    'Name the files that list them with --erasures, or say with --no-erasures that nobody was erased.'
  )
}

function readList(file: string): ListedErasure[] {
  return readText(file)
    .split('\n')
    .flatMap((line, i) => {
      // A line that a crash has cut off was not answered. The erasure is listed again once it is completed.
      if (line.trim() === '' || /^\{[^}]*$/.test(line)) return []
      const erasure = erasureIn(line)
      if (erasure === null)
        throw new CliError(
          `Nothing was changed. Cannot read ${file}: line ${i + 1} is not {"at", "agencyId", "guestId"}.`,
        )
      return [erasure]
    })
}
