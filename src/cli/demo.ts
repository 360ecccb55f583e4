import type { Command } from 'commander'
import type { BookingStatus } from '../core/domain/booking.ts'
import { formatNight, type Night, parseNight } from '../core/domain/night.ts'
import { demoBookings, demoCancellations, isBeforeEndpoint } from '../demo/demo-bookings.ts'
import { demoFolder, demoUnits } from '../demo/demo-data.ts'
import { DEMO_ENDPOINT, DEMO_ENDPOINT_HOST } from '../demo/demo-endpoint.ts'
import { DEMO_KEY, partnerKeys, REVOKED_KEY } from '../demo/demo-keys.ts'
import { assert } from '../lib/assert.ts'
import { dayOf } from '../lib/clock.ts'
import { CliError, EXIT, RefusedError } from './exit-codes.ts'
import { importSteps, NOTHING } from './import-folder.ts'
import { planImport } from './import-plan.ts'
import type { Json, PortalClient } from './portal-client.ts'
import { type Session, serviceCommand } from './session.ts'
import { listing } from './table.ts'
import type { Terminal } from './terminal.ts'
import { Progress } from './terminal.ts'

const TIMEZONE = 'Europe/Lisbon'
const ROLES = ['viewer', 'desk', 'manager', 'owner']

type DemoBooking = ReturnType<typeof demoBookings>[number]

/**
 * `demo`: the demo agency in a running service, through the portal like any other agency: the same as that of an embedded database, but for
 * what only the service itself can write (requests of past months, and that the website made its bookings).
 */
export function demo(program: Command, terminal: Terminal): void {
  serviceCommand<{ slug: string }>(
    program,
    {
      name: 'demo',
      summary:
        'create a demo agency with units, fees, bookings, API keys, a webhook endpoint, and an access token for each role',
      isOfAll: true,
      options: (command) => command.option('--slug <slug>', 'slug of the demo agency', 'demo'),
      examples: ['demo --slug playground'],
    },
    terminal,
    async (session, { options }) => {
      const { client } = session
      const path = `/agencies/${encodeURIComponent(options.slug)}`
      const agency = { slug: options.slug, name: 'Tejo Stays', currency: 'EUR', timezone: TIMEZONE }
      await client.send('POST', '/agencies', agency)
      const today = parseNight(dayOf(Date.now(), TIMEZONE))
      assert(today !== null, 'Cannot make a demo: today is outside the supported dates')
      const year = Number(formatNight(today).slice(0, 4))
      await importFolder(session, path, year, terminal)
      const units = demoUnits(year).map((unit) => ({ ...unit, id: unit.slug }))
      const keys = await makePartnerKeys(client, path)
      const bookings = demoBookings(units, today)
      const progress = new Progress(terminal, 'bookings', bookings.length)
      const hasEndpoint = await makeBookings(client, path, { bookings, today, progress })
      const { name, scopes } = DEMO_KEY
      const { secret } = await client.send('POST', `${path}/keys`, { name, scopes })
      const accessTokens = await makeAccessTokens(client, path)
      const counts = { units: units.length, bookings: bookings.length, keys: keys + 1 }
      const webhookEndpoints = hasEndpoint ? 1 : 0
      if (session.isJson)
        session.printJson({ agency: options.slug, ...counts, webhookEndpoints, secret, accessTokens } satisfies Json)
      else
        terminal.out(
          `Created the agency ${options.slug}: ${units.length} units, ${bookings.length} bookings.\n` +
            `${hasEndpoint ? '' : NO_ENDPOINT}${listing({ secret, ...accessTokens })}`,
        )
    },
  )
}

/** Units, rates and fees, as `import` makes them from a folder. */
async function importFolder(session: Session, path: string, year: number, terminal: Terminal): Promise<void> {
  const data = demoFolder(year)
  const rows = (part: keyof typeof data) =>
    data[part].map((values, i) => ({ at: `${part} [${i}]`, values: { ...values } }))
  const folder = { agency: null, units: rows('units'), rates: rows('rates'), 'fee-types': rows('fee-types') }
  const members = (await import('./operations.ts')).folderMembers()
  const plan = planImport(
    { ...folder, restrictions: [], guests: [], bookings: [] },
    { ...NOTHING, now: Date.now() },
    members,
  )
  const { refused } = await importSteps(session, path, plan.steps, terminal)
  const [first] = [...plan.refused, ...refused]
  if (first !== undefined) throw new CliError(`Cannot make the demo: ${first.at}: ${first.reason}`, EXIT.refused)
}

/** @returns how many */
async function makePartnerKeys(client: PortalClient, path: string): Promise<number> {
  const drafts = partnerKeys(Date.now())
  for (const { expiresAt, ...draft } of drafts) {
    const expires = { expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString() }
    const { key } = (await client.send('POST', `${path}/keys`, { ...draft, ...expires })) as { key: { id: string } }
    if (draft.name === REVOKED_KEY) await client.send('DELETE', `${path}/keys/${key.id}`)
  }
  return drafts.length
}

/** Also the endpoint that the later ones are sent to, and cancellations. @returns whether there is an endpoint */
async function makeBookings(
  client: PortalClient,
  path: string,
  { bookings, today, progress }: { bookings: readonly DemoBooking[]; today: Night; progress: Progress },
): Promise<boolean> {
  const booked: { id: string; source: string; status: BookingStatus; arrival: Night }[] = []
  const book = async ({ unit, stay, enforcement: _enforcement, ...booking }: DemoBooking) => {
    const [arrival, departure] = [formatNight(stay.arrival), formatNight(stay.departure)]
    const until = booking.expectedUntil ?? null
    const expectedUntil = until === null ? null : formatNight(until)
    const draft = { ...booking, unit: unit.slug, arrival, departure, expectedUntil }
    const made = (await client.send('POST', `${path}/bookings`, draft)) as { booking: { id: string } }
    booked.push({ id: made.booking.id, source: booking.source, status: booking.status, arrival: stay.arrival })
    progress.step()
  }
  for (const booking of bookings) if (isBeforeEndpoint(booking, today)) await book(booking)
  const hasEndpoint = await registersEndpoint(client, path)
  for (const booking of bookings) if (!isBeforeEndpoint(booking, today)) await book(booking)
  for (const { booking, reason } of demoCancellations(booked, today))
    await client.send('POST', `${path}/bookings/${booking.id}/cancel`, { reason })
  return hasEndpoint
}

async function makeAccessTokens(client: PortalClient, path: string): Promise<Record<string, unknown>> {
  const secrets: Record<string, unknown> = {}
  for (const role of ROLES) {
    const { secret } = await client.send('POST', `${path}/access-tokens`, { name: `Demo ${role}`, role })
    secrets[role] = secret
  }
  return secrets
}

/** Its address resolves nowhere, so a service that makes no exception for it refuses it. @returns whether it is registered */
async function registersEndpoint(client: PortalClient, path: string): Promise<boolean> {
  try {
    await client.send('POST', `${path}/webhook-endpoints`, DEMO_ENDPOINT)
    return true
  } catch (error) {
    if (error instanceof RefusedError && error.status === 400) return false
    throw error
  }
}

const NO_ENDPOINT = `Without a webhook endpoint: in production, the service does not accept ${DEMO_ENDPOINT_HOST}, which does not exist.\n`
