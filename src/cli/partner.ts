/** What a partner sees, with an API key instead of a token of the portal: `search` and `changes`. */
import type { Command } from 'commander'
import { SEARCH_STAYS } from '../api/partner/search.ts'
import { type Connection, connectionOf } from './connection.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { addFlags, flagsOf, queryFrom } from './flags.ts'
import { answerOf, DEADLINE_MS, type Json, queryOf, send, unreachable } from './portal-client.ts'
import { type Columns, table, valuesOf } from './table.ts'
import type { Terminal } from './terminal.ts'
import { showAnswer } from './verbs.ts'

interface PartnerOptions {
  readonly key?: string
  readonly url?: string
  readonly json?: boolean
}

interface ChangesOptions extends PartnerOptions {
  readonly after?: string
  readonly limit?: string
  readonly follow?: boolean
}

const URL_HELP = 'address of the service (default: NIGHTLEDGER_URL, or the local service)'

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

/** Too many requests, and a service that is failing or starting, pass. */
function isFinal(error: CliError): boolean {
  if (error instanceof RefusedError) return error.status < 500 && error.status !== 429
  return error.message.startsWith('Refused')
}

function print(data: string, { json }: ChangesOptions, terminal: Terminal): void {
  if (json === true) {
    terminal.out(`${data}\n`)
    return
  }
  const change = JSON.parse(data) as Json
  terminal.out(`${valuesOf(change, CHANGES).join('  ')}\n`)
}

/** The service says every 15 s that a stream is alive. */
const SILENCE_MS_MAX = 60_000

/** The partner API over HTTP, with an API key. */
class PartnerClient {
  readonly #connection: Connection

  /** @throws UsageError when there is no key, or the address is not a URL */
  constructor(options: PartnerOptions, env: Terminal['env']) {
    const key = options.key ?? (env['NIGHTLEDGER_KEY'] || undefined)
    if (key === undefined)
      throw new UsageError('Cannot send a request as a partner: no API key. Use --key or set NIGHTLEDGER_KEY.')
    this.#connection = connectionOf({ url: options.url, token: key }, env)
  }

  /**
   * `path` begins after `/partner/v1`.
   * @throws RefusedError when the service refuses or fails; CliError when it cannot be reached
   */
  async get(path: string): Promise<Json> {
    return answerOf(await this.#ask(path, {}, AbortSignal.timeout(DEADLINE_MS)), this.#connection)
  }

  /**
   * The events of one connection, until the service ends it.
   * @param lastEventId of the last event that was received; null before the first
   * @throws as `get` does
   */
  async *events(path: string, lastEventId: string | null): AsyncGenerator<StreamEvent> {
    const silence = new AbortController()
    const later = () => setTimeout(() => silence.abort(new Error('nothing has arrived for a minute')), SILENCE_MS_MAX)
    let timer = later()
    try {
      const resumed = lastEventId === null ? {} : { 'Last-Event-ID': lastEventId }
      const response = await this.#ask(path, { Accept: 'text/event-stream', ...resumed }, silence.signal)
      const alive = new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          clearTimeout(timer)
          timer = later()
          controller.enqueue(chunk)
        },
      })
      if (response.body !== null) yield* eventsIn(response.body.pipeThrough(alive))
    } catch (error) {
      throw error instanceof CliError ? error : unreachable(this.#connection, error)
    } finally {
      clearTimeout(timer)
    }
  }

  async #ask(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const response = await send(this.#connection, `/partner/v1${path}`, { headers, signal })
    if (response.ok) return response
    if (response.status === 401)
      throw new CliError(
        'Refused: the API key is unknown, revoked or expired, or the agency is suspended',
        EXIT.refused,
      )
    throw new RefusedError(response.status, await answerOf(response, this.#connection))
  }
}

/** Server-sent events, as far as the service uses them (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
interface StreamEvent {
  /** What to send as `Last-Event-ID` after it. */
  readonly id: string
  /** Null when there is only a new id. */
  readonly data: string | null
}

/** The events of a body, until it ends. An event that was cut off is left out. */
async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  let id = ''
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of body) {
    const blocks = (text + decoder.decode(part, { stream: true })).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map(fieldIn))
      id = fields.get('id') ?? id
      yield { id, data: fields.get('data') ?? null }
    }
  }
}

/** A comment is a field without a name. */
function fieldIn(line: string): [name: string, value: string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
}
