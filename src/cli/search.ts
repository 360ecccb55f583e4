import type { Command } from 'commander'
import { SEARCH_STAYS } from '../api/partner/search.ts'
import { addFlags, flagsOf, queryFrom } from './flags.ts'
import { PartnerClient } from './partner-client.ts'
import { type Json, queryOf } from './portal-client.ts'
import type { Columns } from './table.ts'
import type { Terminal } from './terminal.ts'
import { showAnswer } from './verbs.ts'

const COLUMNS: Columns = {
  UNIT: 'unit',
  NAME: 'name',
  CITY: 'city',
  BEDROOMS: 'bedrooms',
  GUESTS: 'maxGuests',
  ARRIVAL: 'arrival',
  DEPARTURE: 'departure',
  TOTAL: 'total',
}

/** `search`: the stays that can be booked, as a partner finds them. */
export function search(command: Command, terminal: Terminal): void {
  const flags = flagsOf(SEARCH_STAYS.query)
  addFlags(command, flags)
  command
    .option('--key <key>', 'API key with the scope read:rates (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print the response as JSON')
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .addHelpText(
      'after',
      '\nExamples:\n  $ nightledger search --from 2027-07-01 --to 2027-08-01 --nights 7 --city Lisbon',
    )
    .action(async (options: Json & { key?: string; url?: string; json?: true }) => {
      const client = new PartnerClient(options, terminal.env)
      const answer = await client.get(`/search${queryOf(queryFrom(options, flags))}`)
      if (options.json === true) terminal.out(`${JSON.stringify(answer, null, 2)}\n`)
      else showAnswer(answer, terminal, SEARCH_STAYS, COLUMNS)
    })
}
