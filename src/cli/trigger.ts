/** `trigger`: makes an event happen in a sandbox, through the API that partners use. */
import type { Command } from 'commander'
import { addNights, asNight, formatNight } from '../core/domain/night.ts'
import { DAY_MS } from '../lib/clock.ts'
import { connectionOf } from './connection.ts'
import { CliError, UsageError } from './exit-codes.ts'
import { keyOf, PartnerClient, type PartnerOptions, URL_HELP } from './partner-client.ts'
import { type Json, PortalClient, queryOf } from './portal-client.ts'
import { listing } from './table.ts'
import type { Terminal } from './terminal.ts'

interface TriggerOptions extends PartnerOptions {
  readonly token?: string
}

/** What is done, and the event that it fires: a hold that expires is cancelled. */
const KINDS = {
  'booking.created': 'booking.created',
  'booking.updated': 'booking.updated',
  'booking.cancelled': 'booking.cancelled',
  hold_expired: 'booking.cancelled',
} as const
type Kind = keyof typeof KINDS

const HELP = `
  booking.created    books the cheapest free stay of the next weeks
  booking.cancelled  books it, and cancels it
  hold_expired       books it as an option for an hour, and moves the sandbox's clock past that hour: everything else in
                     the sandbox that falls into it happens too. The event is booking.cancelled
  booking.updated    partners cannot change a booking, only the agency can: this needs --token as well, an access token of
                     the agency or the operator's. It books an option, and confirms it as the agency

The key needs the scopes read:availability, read:rates, read:bookings and write:bookings.

Examples:
  $ nightledger trigger booking.created --key hr_test_…
  $ nightledger trigger hold_expired --key hr_test_… --json`

export function addTrigger(command: Command, terminal: Terminal): void {
  command
    .option('--key <key>', 'API key of a sandbox, hr_test_… (default: NIGHTLEDGER_KEY)')
    .option('--token <token>', 'for booking.updated: an access token of the agency (default: PORTAL_TOKEN)')
    .option('--json', 'print the event as JSON')
    .option('--url <url>', URL_HELP)
    .addHelpText('after', HELP)
    .action((kind: string, options: TriggerOptions) => trigger(kind, options, terminal))
}

async function trigger(text: string, options: TriggerOptions, terminal: Terminal): Promise<void> {
  if (!(text in KINDS))
    throw new UsageError(`Unknown event ${JSON.stringify(text)}: use ${Object.keys(KINDS).join(', ')}.`)
  const kind = text as Kind
  if (!keyOf(options, terminal.env).startsWith('hr_test_'))
    throw new UsageError(
      'This is not the key of a sandbox: trigger makes real bookings, and only takes keys that begin with hr_test_.',
    )
  const client = new PartnerClient(options, terminal.env)
  const portal = kind === 'booking.updated' ? portalOf(options, terminal) : null
  const cursor = String((await client.get('/changes'))['cursor'])
  const id = await make(kind, client, portal)
  const change = await announced(client, { cursor, id, event: KINDS[kind] })
  if (options.json === true) terminal.out(`${JSON.stringify(change, null, 2)}\n`)
  else terminal.out(listing({ id: change['id'], event: change['event'], ...(change['data'] as Json) }))
}

/** @returns the id of the booking */
async function make(kind: Kind, client: PartnerClient, portal: PortalClient | null): Promise<string> {
  const stay = await freeStay(client)
  const isHold = kind === 'hold_expired' || portal !== null
  const hold = isHold ? { status: 'option', holdHours: 1 } : {}
  const { booking } = await client.post('/bookings', { ...stay, ...hold, sourceRef: `trigger ${kind}` })
  const id = String((booking as Json)['id'])
  if (kind === 'booking.cancelled') await client.post(`/bookings/${id}/cancel`, { reason: 'trigger' })
  if (kind === 'hold_expired') await moveClock(client, HOLD_S)
  if (portal !== null) {
    const { tenant } = await client.get('/me')
    const slug = encodeURIComponent(String((tenant as Json)['slug']))
    await portal.send('PATCH', `/agencies/${slug}/bookings/${id}`, { status: 'confirmed' })
  }
  return id
}

/** A second longer than the hold. */
const HOLD_S = 3_601
/** A search looks at three months, and finds stays of one length: longer ones where a minimum stay asks for them. */
const WINDOW_DAYS = 90
const NIGHTS = [3, 7, 14, 1]

/** @throws CliError when nothing is free */
async function freeStay(client: PartnerClient): Promise<Json> {
  const { now } = await client.get('/test/clock')
  // From the day after tomorrow on: in every time zone, that is in the future.
  const first = asNight(Math.floor(Date.parse(String(now)) / DAY_MS) + 2)
  const window = { from: formatNight(first), to: formatNight(addNights(first, WINDOW_DAYS)) }
  for (const nights of NIGHTS) {
    const { offers } = await client.get(`/search${queryOf({ ...window, nights, pageSize: 1 })}`)
    const [offer] = offers as Json[]
    if (offer !== undefined) return { unit: offer['unit'], arrival: offer['arrival'], departure: offer['departure'] }
  }
  throw new CliError(
    `Nothing is free in the sandbox between ${window.from} and ${window.to}: cancel a stay, or reset the sandbox.`,
  )
}

const POLL_MS = 200
const CLOCK_MS_MAX = 60_000

/** Until all that happens on the way has happened. */
async function moveClock(client: PartnerClient, advanceSeconds: number): Promise<void> {
  await client.post('/test/clock', { advanceSeconds })
  for (const since = performance.now(); performance.now() - since < CLOCK_MS_MAX; await Bun.sleep(POLL_MS))
    if ((await client.get('/test/clock'))['status'] === 'ready') return
  throw new CliError(
    "The sandbox's clock is still advancing after a minute: the event will come when it has got there.",
  )
}

const ANNOUNCED_MS_MAX = 20_000

/** The event itself, as `GET /changes` has it. */
async function announced(
  client: PartnerClient,
  { cursor, id, event }: { cursor: string; id: string; event: string },
): Promise<Json> {
  let after = cursor
  for (const since = performance.now(); performance.now() - since < ANNOUNCED_MS_MAX; ) {
    const page = await client.get(`/changes${queryOf({ after, wait: 5 })}`)
    const found = (page['changes'] as Json[]).find(
      (one) => one['event'] === event && (one['data'] as Json)['id'] === id,
    )
    if (found !== undefined) return found
    after = String(page['cursor'])
  }
  throw new CliError(`The booking ${id} was made, but its ${event} has not come within ${ANNOUNCED_MS_MAX / 1_000} s.`)
}

/** @throws CliError, before anything is booked, when there is no token */
function portalOf({ url, token }: TriggerOptions, { env }: Terminal): PortalClient {
  try {
    return new PortalClient(connectionOf({ url, token }, env))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(
      'Partners cannot change a booking, so booking.updated needs --token as well: an access token of the agency. Without one, ' +
        'trigger booking.created, booking.cancelled or hold_expired, or ask the agency to change a booking of the sandbox.',
    )
  }
}
