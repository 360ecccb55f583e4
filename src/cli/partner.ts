/** What a partner sees, with an API key instead of a token of the portal: `search` and `changes`. */
import type { Command } from 'commander'
import { SEARCH_STAYS } from '../api/partner/search.ts'
import { CliError } from './exit-codes.ts'
import { addFlags, flagsOf, queryFrom } from './flags.ts'
import { isFinal, PartnerClient, type PartnerOptions, URL_HELP } from './partner-client.ts'
import { type Json, queryOf } from './portal-client.ts'
import { type Columns, table, valuesOf } from './table.ts'
import type { Terminal } from './terminal.ts'
import { showAnswer } from './verbs.ts'

interface ChangesOptions extends PartnerOptions {
  readonly after?: string
  readonly limit?: string
  readonly follow?: boolean
}

const OFFERS: Columns = {
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
export function addSearch(command: Command, terminal: Terminal): void {
  const flags = flagsOf(SEARCH_STAYS.query)
  addFlags(command, flags)
  command
    .option('--key <key>', 'API key with the scope read:rates (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print the response as JSON')
    .option('--url <url>', URL_HELP)
    .addHelpText(
      'after',
      '\nExamples:\n  $ nightledger search --from 2027-07-01 --to 2027-08-01 --nights 7 --city Lisbon',
    )
    .action(async (options: Json & PartnerOptions) => {
      const client = new PartnerClient(options, terminal.env)
      const answer = await client.get(`/search${queryOf(queryFrom(options, flags))}`)
      if (options.json === true) terminal.out(`${JSON.stringify(answer, null, 2)}\n`)
      else showAnswer(answer, terminal, SEARCH_STAYS, OFFERS)
    })
}

const CHANGES: Columns = {
  AT: 'occurredAt',
  EVENT: 'event',
  BOOKING: ({ data }) => (data as Json)['id'],
  UNIT: ({ data }) => (data as Json)['unitSlug'],
  ARRIVAL: ({ data }) => (data as Json)['arrival'],
  DEPARTURE: ({ data }) => (data as Json)['departure'],
  STATUS: ({ data }) => (data as Json)['status'],
}

/** Between two connections, at least. */
const AGAIN_MS = 1_000

/** `changes`: the feed of booking changes, as a partner reads it. */
export function addChanges(command: Command, terminal: Terminal): void {
  command
    .option('--after <cursor>', 'continue after this cursor; start: from the beginning (the default unless --follow)')
    .option('--limit <n>', 'changes per answer, 1 to 500')
    .option('-f, --follow', 'print changes as they happen, until interrupted; begins at the end unless --after')
    .option('--key <key>', 'API key with the scope read:bookings (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print the response as JSON; with --follow, a change on each line')
    .option('--url <url>', URL_HELP)
    .addHelpText('after', '\nExamples:\n  $ nightledger changes --key hr_live_… --follow --json')
    .action(async (options: ChangesOptions) => {
      const client = new PartnerClient(options, terminal.env)
      if (options.follow === true) await follow(client, options, terminal)
      else await list(client, options, terminal)
    })
}

async function list(client: PartnerClient, options: ChangesOptions, terminal: Terminal): Promise<void> {
  const { after = 'start', limit } = options
  const answer = await client.get(`/changes${queryOf({ after, limit })}`)
  if (options.json === true) {
    terminal.out(`${JSON.stringify(answer, null, 2)}\n`)
    return
  }
  terminal.out(table(answer['changes'] as Json[], CHANGES))
  const more = answer['hasMore'] === true ? 'There are more' : 'That is all'
  terminal.err(`${more}: continue with --after ${answer['cursor']}\n`)
}

/** Until the process is interrupted, or the service refuses. A connection that ends is made again, so that nothing is missed. */
async function follow(client: PartnerClient, options: ChangesOptions, terminal: Terminal): Promise<void> {
  const path = `/changes${queryOf({ after: options.after, limit: options.limit })}`
  let lastId: string | null = null
  for (;;) {
    const since = performance.now()
    try {
      for await (const { id, data } of client.events(path, lastId)) {
        lastId = id
        if (data !== null) print(data, options, terminal)
      }
    } catch (error) {
      // Before the first event, it may be the command line that is wrong. What the service refuses, it will refuse again.
      if (lastId === null || !(error instanceof CliError) || isFinal(error)) throw error
      terminal.err(`${error.message.split('\n')[0]}: trying again\n`)
    }
    await Bun.sleep(Math.max(0, AGAIN_MS - (performance.now() - since)))
  }
}

function print(data: string, { json }: ChangesOptions, terminal: Terminal): void {
  if (json === true) {
    terminal.out(`${data}\n`)
    return
  }
  const change = JSON.parse(data) as Json
  terminal.out(`${valuesOf(change, CHANGES).join('  ')}\n`)
}
