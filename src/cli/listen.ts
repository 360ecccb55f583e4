/** `listen`: brings the events of an agency to a receiver on the developer's machine, signed as webhooks are. */
import type { Command } from 'commander'
import { BOOKING_EVENTS, UNIT_EVENTS, WEBHOOK_EVENTS } from '../core/domain/booking.ts'
import { guardedPost } from '../events/webhooks/guarded-post.ts'
import { DnsResolver } from '../events/webhooks/name-resolver.ts'
import { CliError, EXIT, RefusedError, UsageError } from './exit-codes.ts'
import { CHAOS, Forwarder, type Outcome } from './listen-forwarder.ts'
import { type ChangeReader, changesAfter, cursorAt, spanOf } from './listen-source.ts'
import { ListenState } from './listen-state.ts'
import { keyOf, PartnerClient, type PartnerOptions, URL_HELP } from './partner-client.ts'
import type { Terminal } from './terminal.ts'

interface ListenOptions extends PartnerOptions {
  readonly forward: string
  readonly since?: string
  readonly events?: string
  readonly chaos?: string
}

const HELP = `
Each event is posted with the body and the headers of a webhook, signed with a secret that stays the same for the key. An
answer other than 2xx, or none within 10 s, is tried again after 1, 2, 4, 8 and 16 s, and then given up. A receiver that
cannot be reached is waited for. Where listen has got to is kept for each key in the user's state folder
(XDG_STATE_HOME, or ~/.local/state), and the next run continues there. Run one listen for a key at a time.

--since 24h reads the history from its beginning, 500 changes a request: no request can begin at a time.

Examples:
  $ nightledger listen --key hr_test_… --forward http://localhost:4000/hook
  $ nightledger listen --key hr_test_… --forward http://localhost:4000/hook --since 24h --chaos duplicate,reorder`

/** How long `reorder` waits for another event to be sent first. */
const HELD_MS = 3_000

export function addListen(command: Command, terminal: Terminal): void {
  command
    .requiredOption('--forward <url>', 'where to post each event, such as http://localhost:4000/hook')
    .option(
      '--since <time>',
      'begin so long ago (30m, 24h, 7d), after a cursor, at the start, or now; wins over the kept cursor',
    )
    .option(
      '--events <list>',
      `only these, separated by commas: ${WEBHOOK_EVENTS.join(', ')} (default: those of bookings)`,
    )
    .option('--chaos <list>', `do this to one event in three, to test the receiver: ${CHAOS.join(', ')}`)
    .option('--key <key>', 'API key with the scope read:bookings (default: NIGHTLEDGER_KEY)')
    .option('--json', 'print a JSON object on each line')
    .option('--url <url>', URL_HELP)
    .addHelpText('after', HELP)
    .action((options: ListenOptions) => listen(options, terminal))
}

/** Until it is interrupted: what is being sent is sent, and its cursor is kept. A second interrupt ends at once. */
async function listen(options: ListenOptions, terminal: Terminal): Promise<void> {
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  try {
    await run(options, terminal, stop.signal)
  } catch (error) {
    throw error instanceof RefusedError && error.code === 'CURSOR_EXPIRED' ? expired() : error
  } finally {
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}

async function run(options: ListenOptions, terminal: Terminal, stop: AbortSignal): Promise<void> {
  const key = keyOf(options, terminal.env)
  const events = listOf('--events', options.events, WEBHOOK_EVENTS) ?? BOOKING_EVENTS
  const chaos = listOf('--chaos', options.chaos, CHAOS) ?? []
  const { url: forward, host } = target(options.forward)
  const client = new PartnerClient(options, terminal.env)
  const state = new ListenState(key, terminal.env)
  const pause = pauseUntil(stop)
  const include = includeOf(events)
  const say = (sentence: string) => terminal.err(`${sentence}\n`)
  const after = await beginning(client, { since: options.since, state, key, include, pause, say })
  if (options.json === true) terminal.out(`${JSON.stringify({ secret: state.secret, forward, after })}\n`)
  else terminal.out(`secret  ${state.secret}\nEvents go to ${forward}. Stop with Ctrl-C.\n`)
  const forwarder = new Forwarder({
    ...{ forward, secret: state.secret, events, chaos, stop, pause, now: Date.now },
    post: guardedPost({ resolver: new DnsResolver(), allowHosts: [host] }),
    keep: (cursor) => state.keep(cursor),
    report: (outcome) => terminal.out(`${options.json === true ? JSON.stringify(outcome) : lineOf(outcome)}\n`),
  })
  await forwardAll(changesAfter(client, { after, include, stop, pause, onTrouble: say }), forwarder, pause)
  say(`Stopped${state.cursor === null ? '' : `: the next run continues after ${state.cursor}`}`)
}

/** Takes one reading after the other; what is held back too long is sent. */
export async function forwardAll(
  readings: ReturnType<typeof changesAfter>,
  forwarder: Forwarder,
  pause: (ms: number) => Promise<void>,
): Promise<void> {
  let next = readings.next()
  for (;;) {
    const first = forwarder.isHolding ? await Promise.race([next, pause(HELD_MS).then(() => null)]) : await next
    if (first === null) {
      await forwarder.flush()
      if (forwarder.isHolding) await next
      continue
    }
    if (first.done === true) break
    await forwarder.take(first.value)
    next = readings.next()
  }
  await forwarder.flush()
}

interface Beginning {
  readonly since: string | undefined
  readonly state: ListenState
  readonly key: string
  readonly include: string | undefined
  readonly pause: (ms: number) => Promise<void>
  readonly say: (sentence: string) => void
}

/** The cursor to begin after. It is kept at once: a run that ends before the first event begins at the same place. */
async function beginning(client: ChangeReader, options: Beginning): Promise<string> {
  const { since, state, say } = options
  if (since === undefined && state.cursor !== null) {
    say('Continuing where the last run stopped')
    return state.cursor
  }
  const cursor = await cursorOf(client, options)
  // Of the two words that begin a log, only the service makes cursors.
  if (cursor !== 'start') state.keep(cursor)
  return cursor
}

async function cursorOf(client: ChangeReader, { since = 'now', key, say, ...rest }: Beginning): Promise<string> {
  if (since === 'now') return String((await client.get('/changes'))['cursor'])
  const span = spanOf(since)
  if (span === null) return since
  // In a sandbox, changes happen at the sandbox's time.
  const now = key.startsWith('hr_test_') ? Date.parse(String((await client.get('/test/clock'))['now'])) : Date.now()
  const { cursor, requests } = await cursorAt(client, now - span, rest)
  say(`Read the history from its beginning to find where to begin: ${requests} request${requests === 1 ? '' : 's'}`)
  return cursor
}

function expired(): CliError {
  return new CliError(
    'The cursor has expired: its months were archived, or a backup was restored, and events after it may be missing. Copy the ' +
      'bookings again as after a lost webhook, then run listen with --since now, 24h or start.',
    EXIT.refused,
  )
}

/** @throws UsageError */
function target(text: string): { readonly url: string; readonly host: string } {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '')
    throw new UsageError(`--forward: ${JSON.stringify(text)} is not an http or https URL without a user name.`)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return { url: url.href, host: `${url.hostname}:${port}` }
}

/** @throws UsageError */
function listOf<W extends string>(flag: string, text: string | undefined, words: readonly W[]): readonly W[] | null {
  if (text === undefined) return null
  const given = text.split(',').map((word) => word.trim())
  const unknown = given.find((word) => !words.includes(word as W))
  if (unknown !== undefined)
    throw new UsageError(`${flag}: ${JSON.stringify(unknown)} is not one of ${words.join(', ')}.`)
  return given as W[]
}

function includeOf(events: readonly string[]): string | undefined {
  const kinds = UNIT_EVENTS.filter((event) => events.includes(event))
  const names = kinds.map((event) => (event === 'rates.updated' ? 'rates' : 'units'))
  return names.length === 0 ? undefined : names.join(',')
}

function lineOf({ outcome, event, about, status, reason, ms, attempt, isDuplicate }: Outcome): string {
  const said = {
    delivered: `${status}  ${ms} ms${isDuplicate ? '  (duplicate)' : ''}`,
    failed: `${status ?? reason}  ${ms} ms  (attempt ${attempt})`,
    given_up: `given up after ${attempt} attempts`,
    waiting: 'the receiver cannot be reached: waiting for it',
    dropped: 'dropped (chaos)',
    held_back: 'held back for the next event (chaos)',
  }
  return [event, about, said[outcome]].join('  ')
}

/** A pause that ends early when the command is stopped. */
function pauseUntil(stop: AbortSignal): (ms: number) => Promise<void> {
  return (ms) =>
    new Promise((resolve) => {
      if (stop.aborted) return resolve()
      const end = () => {
        clearTimeout(timer)
        stop.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      stop.addEventListener('abort', end)
    })
}
