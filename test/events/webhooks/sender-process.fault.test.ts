import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import type { Ledger } from '../../../src/app/ledger.ts'
import { openWebhooks, type Webhooks } from '../../../src/app/open-webhooks.ts'
import { successLine } from '../../../src/core/bookings/durable-writes.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { WebhookEventKind } from '../../../src/core/domain/booking.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import type { Caller } from '../../../src/core/journal/record.ts'
import { POLL_MS } from '../../../src/events/webhooks/claim-rounds.ts'
import { MAKE_ALL_MS } from '../../../src/events/webhooks/delivery-maker.ts'
import { serviceSignature } from '../../../src/events/webhooks/secret-box.ts'
import { LOOK_AHEAD_MS } from '../../../src/events/webhooks/webhook-sender.ts'
import { idOf } from '../../../src/lib/ids.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, night, requestFor, sampleUnit } from '../../support/samples.ts'
import { TestAuthority } from '../../support/test-authority.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'

/** Runs the sender in its own process, against a real https receiver. */

const KEY = crypto.getRandomValues(new Uint8Array(32))

let authority: TestAuthority
let database: TestDatabase
let ledger: Ledger
let webhooks: Webhooks
let agency: Agency
let unit: Unit
let receiver: Receiver

beforeAll(async () => {
  authority = await TestAuthority.create()
  database = await testDatabase()
  receiver = startReceiver(await authority.issue({ names: ['localhost'] }))
})
beforeEach(async () => {
  await emptyTables(database.sql)
  receiver.received.length = 0
  ledger = await openTestDatabaseLedger(database.url, {
    // 200 bookings of one unit are 200 commits, one after another.
    limits: { queuedMsMax: 30_000 },
    onBookingChange: (agencyId) => webhooks.bookingChanged(agencyId),
    onUnitChange: (agencyId) => webhooks.unitChanged(agencyId),
  })
  webhooks = openWebhooks(ledger, {
    databaseUrl: database.url,
    secretKey: KEY,
    allowHosts: [`localhost:${receiver.port}`],
    logLevel: 'warn',
    trustedCa: [authority.pem],
    onSenderExit: () => {},
  })
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  webhooks.start()
  await eventually('the sender says how it is', () => webhooks.sender.stats.sender !== null)
})
afterEach(async () => {
  await webhooks.sender.stop(1_000)
  await ledger.close()
})
afterAll(async () => {
  await receiver.stop()
  await database.drop()
})

async function register(events?: readonly WebhookEventKind[]) {
  const url = `https://localhost:${receiver.port}/${events?.join() ?? 'in'}`
  const draft = { url, description: null, ...(events === undefined ? {} : { events }) }
  const outcome = await webhooks.commands.register(agency.id, draft, successLine(ledger, CALLER))
  if (outcome.kind !== 'registered') throw new Error(outcome.kind)
  return outcome
}

async function book(arrival: string, departure: string, caller: Caller = CALLER): Promise<void> {
  const outcome = await ledger.commands.book(agency, requestFor(unit, arrival, departure), caller)
  expect(outcome.kind).toBe('done')
}

test('a booking arrives, and verifies with the secret shown at registration and with the standardwebhooks package', async () => {
  const { endpoint, secret } = await register()
  const since = Date.now()
  await book('2027-03-01', '2027-03-04')
  await eventually('it has arrived', () => receiver.received.length > 0)
  const [received] = receiver.received
  const body = received?.body ?? ''
  const t = Number(received?.headers.get('webhook-timestamp'))
  expect(t * 1_000).toBeWithin(since - 1_000, Date.now() + 1)
  expect(received?.headers.get('x-service-signature')).toBe(`t=${t}, v1=${serviceSignature(secret, t, body)}`)
  expect(received?.headers.get('content-type')).toBe('application/json')
  const headers = Object.fromEntries(received?.headers.entries() ?? [])
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ event: 'booking.created', data: { version: 1 } })
  const [entry] =
    await database.sql`select entry_id, seq::int from journal where is_announced and booking_id is not null`
  expect(JSON.parse(body)).toMatchObject({ id: idOf('evt', entry?.['entry_id']), seq: entry?.['seq'] })
  await eventually('its attempt is in the log', async () => {
    const page = await webhooks.commands.deliveries(agency.id, endpoint.id, { offset: 0, limit: 10 })
    return page?.rows[0]?.status === 'delivered' && page.rows[0].attempts[0]?.httpStatus === 204
  })
})

test('the delivery of an event belongs to the trace of the request that it is due to, as a span of its own', async () => {
  await register()
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  await book('2027-03-01', '2027-03-04', { ...CALLER, traceparent })
  await book('2027-04-01', '2027-04-04')
  await eventually('both have arrived', () => receiver.received.length === 2)
  const sent = new Map(receiver.received.map(({ body, headers }) => [JSON.parse(body).data.arrival, headers]))
  const [traced, other] = ['2027-03-01', '2027-04-01'].map((arrival) => sent.get(arrival)?.get('traceparent'))
  expect(traced).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$/)
  expect(other).toBeNull()
})

test('a booking wakes the sender, which would otherwise poll only every two seconds', async () => {
  await register()
  const tookMs: number[] = []
  for (let n = 1; n <= 5; n++) {
    // Wait until the sender has found nothing left to do and has just started to wait.
    await Bun.sleep(LOOK_AHEAD_MS + 250)
    const since = performance.now()
    await book(`2028-03-${10 + n}`, `2028-03-${11 + n}`)
    await eventually('it has arrived', () => receiver.received.length >= n)
    tookMs.push(performance.now() - since)
  }
  // A poll would take about 1.75 s each time.
  expect(Math.min(...tookMs)).toBeLessThan(POLL_MS / 2)
})

test('a change of rates wakes the sender only for an agency that has chosen its event, and is sent only to that endpoint', async () => {
  await register()
  const wakes: string[] = []
  const wake = webhooks.sender.wake.bind(webhooks.sender)
  webhooks.sender.wake = (agencyId) => {
    wakes.push(agencyId)
    wake(agencyId)
  }
  // By now it is known which agencies have chosen them.
  await Bun.sleep(LOOK_AHEAD_MS + 250)
  const setPrice = (nightlyPrice: number) => {
    const season = { name: 'May', from: night('2027-05-01'), to: night('2027-06-01'), nightlyPrice, minStay: null }
    const rates = { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
    return ledger.commands.setUnit(agency, unit.id, () => ({ ...unit, rules: { ...unit.rules, rates } }), CALLER)
  }
  await setPrice(100)
  expect(wakes).toEqual([])
  const { endpoint, secret } = await register(['booking.cancelled'])
  const change = { events: ['rates.updated'] } as const
  await webhooks.commands.change(agency.id, endpoint.id, change, successLine(ledger, CALLER))
  await setPrice(200)
  expect(wakes).toEqual([agency.id])
  await eventually('it has arrived', () => receiver.received.length > 0)
  await book('2027-03-01', '2027-03-04')
  await eventually('the booking has arrived', () => receiver.received.length > 1)
  await Bun.sleep(LOOK_AHEAD_MS + 250)
  const [entry] =
    await database.sql`select entry_id, seq::int from journal where kind = 'rates_set' order by seq desc limit 1`
  expect(receiver.received.map(({ path, body }) => [path, JSON.parse(body)])).toEqual([
    [
      '/booking.cancelled',
      {
        id: idOf('evt', entry?.['entry_id']),
        event: 'rates.updated',
        occurredAt: expect.any(String),
        seq: entry?.['seq'],
        data: { unitId: unit.id, unitSlug: unit.slug, version: entry?.['seq'], from: '2027-05-01', to: '2027-06-01' },
      },
    ],
    ['/in', expect.objectContaining({ event: 'booking.created' })],
  ])
  const [first] = receiver.received
  const headers = Object.fromEntries(first?.headers.entries() ?? [])
  expect(new Webhook(secret).verify(first?.body ?? '', headers)).toMatchObject({ event: 'rates.updated' })
})

test('W7: an event whose wake found no sender arrives as soon as there is one, long before all agencies are looked at again', async () => {
  await register()
  const { pid } = webhooks.sender
  process.kill(pid ?? 0, 'SIGKILL')
  await book('2027-04-01', '2027-04-02')
  await eventually('the sender was restarted', () => webhooks.sender.stats.restarts > 0)
  const since = performance.now()
  await eventually('it has arrived', () => receiver.received.length > 0)
  expect(performance.now() - since).toBeLessThan(MAKE_ALL_MS / 2)
})

test('200 bookings at once all arrive', async () => {
  await register()
  const day = (n: number) => new Date(Date.UTC(2030, 0, n)).toISOString().slice(0, 10)
  await Promise.all(Array.from({ length: 200 }, (_, n) => book(day(n), day(n + 1))))
  await eventually('all have arrived', () => receiver.received.length >= 200)
  expect(new Set(receiver.received.map(({ headers }) => headers.get('webhook-id'))).size).toBe(200)
  // A claim ends when its outcome is recorded, which the process may report a moment later.
  const { sender } = webhooks
  await eventually(
    'the counters say so',
    () => sender.stats.sender?.delivered === 200 && sender.stats.sender.claimed === 0,
  )
  expect(webhooks.sender.stats).toMatchObject({
    isUp: true,
    restarts: 0,
    sender: { attempts: 200, failures: {}, claimed: 0 },
  })
})

test.skipIf(process.platform !== 'linux')(
  'neither secrets nor the database password appear in the environment or arguments of the process',
  async () => {
    const { pid } = webhooks.sender
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    const all = environment + readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    expect(environment).toContain('BUN_CONFIG_MAX_HTTP_REQUESTS=2048')
    for (const secret of [Buffer.from(KEY).toString('hex'), database.url, new URL(database.url).password]) {
      expect(all).not.toContain(secret)
    }
    expect(environment).not.toMatch(/PROXY|NODE_TLS_REJECT_UNAUTHORIZED|PORTAL_TOKEN/i)
  },
)
