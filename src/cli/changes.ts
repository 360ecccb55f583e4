import type { Command } from 'commander'
import { CliError, RefusedError } from './exit-codes.ts'
import { PartnerClient } from './partner-client.ts'
import { type Json, queryOf } from './portal-client.ts'
import { type Columns, table, valuesOf } from './table.ts'
import type { Terminal } from './terminal.ts'

const COLUMNS: Columns = {
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

interface Options {
  readonly after?: string
  readonly limit?: string
  readonly follow?: boolean
  readonly key?: string
  readonly json?: boolean
  readonly url?: string
}

/** `changes`: the feed of booking changes, as a partner reads it. */
export function changes(program: Command, terminal: Terminal): void {
  program
    .command('changes')
    .summary('list booking changes, or follow them')
    .description('List booking changes as the partner with this API key gets them, or follow them as they happen.')
    .option('--after <cursor>', 'go on after this cursor; start: from the beginning (the default unless --follow)')
    .option('--limit <n>', 'changes per answer, 1 to 500')
    .option('-f, --follow', 'print changes as they happen, until interrupted; begins at the end unless --after')
    .option('--key <key>', 'API key with the scope read:bookings (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print the response as JSON; with --follow, a change on each line')
    .option('--url <url>', 'address of the service (default: NIGHTLEDGER_URL, or the local service)')
    .addHelpText('after', '\nExamples:\n  $ nightledger changes --key hr_live_… --follow --json')
    .action(async (options: Options) => {
      const client = new PartnerClient(options, terminal.env)
      if (options.follow === true) await follow(client, options, terminal)
      else await list(client, options, terminal)
    })
}

async function list(client: PartnerClient, options: Options, terminal: Terminal): Promise<void> {
  const { after = 'start', limit } = options
  const answer = await client.get(`/changes${queryOf({ after, limit })}`)
  if (options.json === true) {
    terminal.out(`${JSON.stringify(answer, null, 2)}\n`)
    return
  }
  terminal.out(table(answer['changes'] as Json[], COLUMNS))
  const more = answer['hasMore'] === true ? 'There are more' : 'That is all'
  terminal.err(`${more}: go on with --after ${answer['cursor']}\n`)
}

/** Until the process is interrupted, or the service refuses. A connection that ends is made again, so that nothing is missed. */
async function follow(client: PartnerClient, options: Options, terminal: Terminal): Promise<void> {
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

/** Too many requests, and a service that is failing or starting, pass. */
function isFinal(error: CliError): boolean {
  if (error instanceof RefusedError) return error.status < 500 && error.status !== 429
  return error.message.startsWith('Refused')
}

function print(data: string, { json }: Options, terminal: Terminal): void {
  if (json === true) {
    terminal.out(`${data}\n`)
    return
  }
  const change = JSON.parse(data) as Json
  terminal.out(`${valuesOf(change, COLUMNS).join('  ')}\n`)
}
