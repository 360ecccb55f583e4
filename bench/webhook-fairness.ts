/*
 * `bun bench/webhook-fairness.ts`: how long webhooks to 50 healthy endpoints take while 500 other endpoints accept connections
 * and never answer. Each endpoint belongs to its own agency, which makes one booking a second; all use TLS. The sender, the
 * receivers and Postgres run as separate processes, as in production. A delivery's time runs from the event's `occurredAt` to its
 * arrival, so it includes the write. It also measures throughput: 2,000 bookings at once, 40 for each healthy endpoint.
 * Takes about 40 s.
 */
import { loadavg } from 'node:os'
import { openWebhooks } from '../src/app/open-webhooks.ts'
import { successLine } from '../src/core/bookings/durable-writes.ts'
import type { Agency } from '../src/core/catalogue/agency.ts'
import type { Unit } from '../src/core/domain/unit.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { SERVER_URL_VARIABLE, testDatabase } from '../test/support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../test/support/samples.ts'
import { TestAuthority } from '../test/support/test-authority.ts'
import { startTestServer } from '../test/support/test-server.ts'
import { writeResult } from './report.ts'
import { linesOf } from './support/json-child.ts'

const HANGING = 500
const HEALTHY = 50
const ALONE_S = 5
const BESIDE_S = 22
/** Bookings of every healthy endpoint at once. */
const FLOOD_OF_EACH = 40
const FLOOD = HEALTHY * FLOOD_OF_EACH
const FLOOD_MS_MAX = 30_000
/** Of the healthy endpoints. */
const P99_MS_MAX = 1_000

if (process.argv[2] === '--receive') await receive()
else await measure()

interface Arrival {
  readonly occurredAt: number
  readonly at: number
}

/** The receivers: `/ok` is answered, `/hang` never is. Ends with its standard input, and then reports all arrivals. */
async function receive(): Promise<void> {
  const authority = await TestAuthority.create()
  const arrivals: Arrival[] = []
  let hanging = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    tls: await authority.issue({ names: ['localhost'] }),
    fetch: async (request) => {
      const at = Date.now()
      const event = (await request.json()) as { occurredAt: string }
      if (new URL(request.url).pathname === '/hang') {
        hanging += 1
        return await new Promise<Response>(() => {})
      }
      arrivals.push({ occurredAt: Date.parse(event.occurredAt), at })
      return new Response(null, { status: 204 })
    },
  })
  console.log(JSON.stringify({ port: server.port, ca: authority.pem }))
  for await (const _ of Bun.stdin.stream()) {
  }
  console.log(JSON.stringify({ arrivals, hanging }))
  process.exit(0)
}

async function measure(): Promise<void> {
  const loadAverageBefore = Number(loadavg()[0]?.toFixed(2))
  const server = await startTestServer(() => {}, { fills: true })
  process.env[SERVER_URL_VARIABLE] = server.url
  const database = await testDatabase()
  const receiver = Bun.spawn([process.execPath, import.meta.path, '--receive'], { stdin: 'pipe', stdout: 'pipe' })
  const said = linesOf(receiver.stdout)
  const { port, ca } = JSON.parse((await said.next()).value ?? '') as { port: number; ca: string }

  const ledger = await openTestDatabaseLedger(database.url, {
    onBookingChange: (agencyId) => webhooks.sender.wake(agencyId),
  })
  const webhooks = openWebhooks(ledger, {
    databaseUrl: database.url,
    secretKey: new Uint8Array(32),
    allowHosts: [`localhost:${port}`],
    logLevel: 'warn',
    trustedCa: [ca],
    onSenderExit: (fields) => console.error('the sender ended', fields),
  })
  webhooks.start()
  const agencies: { agency: Agency; unit: Unit; path: 'ok' | 'hang' }[] = []
  for (let i = 0; i < HANGING + HEALTHY; i++) {
    const path = i < HANGING ? 'hang' : 'ok'
    const agency = await addAgency(ledger, { id: sampleId('agc', i), slug: `agency-${i}` })
    const unit = await addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', i) }))
    const outcome = await webhooks.commands.register(
      agency.id,
      {
        url: `https://localhost:${port}/${path}`,
        description: null,
      },
      successLine(ledger, CALLER),
    )
    if (outcome.kind !== 'registered') throw new Error(`Cannot register: ${outcome.kind}`)
    agencies.push({ agency, unit, path })
  }
  console.log(`${agencies.length} endpoints registered`)

  let day = 0
  /** One booking for each, spread over a second; all at once when `isBurst`. */
  const bookEach = async (those: typeof agencies, { isBurst }: { isBurst: boolean }) => {
    day += 1
    const arrival = new Date(Date.UTC(2027, 0, day)).toISOString().slice(0, 10)
    const departure = new Date(Date.UTC(2027, 0, day + 1)).toISOString().slice(0, 10)
    const since = performance.now()
    const booking = those.map(async ({ agency, unit }, i) => {
      if (!isBurst) await Bun.sleep((i * 1_000) / those.length)
      await ledger.commands.book(agency, requestFor(unit, arrival, departure), CALLER)
    })
    await Promise.all(booking)
    await Bun.sleep(Math.max(0, 1_000 - (performance.now() - since)))
  }

  const delivered = () => webhooks.sender.stats.sender?.delivered ?? 0
  const healthy = agencies.filter(({ path }) => path === 'ok')
  for (let second = 0; second < ALONE_S; second++) await bookEach(healthy, { isBurst: false })
  await Bun.sleep(1_000)
  const floodSince = Date.now()
  const before = delivered()
  await Promise.all(Array.from({ length: FLOOD_OF_EACH }, () => bookEach(healthy, { isBurst: true })))
  for (const until = Date.now() + FLOOD_MS_MAX; delivered() < before + FLOOD && Date.now() < until; )
    await Bun.sleep(100)
  const besideSince = Date.now()
  // The sender does not know yet which endpoints hang, and all begin at the same moment.
  await bookEach(agencies, { isBurst: true })
  const steadySince = Date.now()
  for (let second = 1; second < BESIDE_S; second++) await bookEach(agencies, { isBurst: false })
  await Bun.sleep(2_000)
  const stats = webhooks.sender.stats

  receiver.stdin.end()
  const { arrivals, hanging } = JSON.parse((await said.next()).value ?? '') as { arrivals: Arrival[]; hanging: number }
  await webhooks.sender.stop(100)
  await ledger.close()
  await database.drop()
  await server.stop()

  const between = (from: number, to: number) =>
    reported(
      arrivals.filter(({ occurredAt }) => occurredAt >= from && occurredAt < to).map((one) => one.at - one.occurredAt),
    )
  const flood = arrivals.filter(({ occurredAt }) => occurredAt >= floodSince && occurredAt < besideSince)
  const floodMs = Math.max(...flood.map(({ at }) => at)) - Math.min(...flood.map(({ at }) => at))
  const result = {
    // Other load on the machine affects every figure below.
    loadAverageBefore,
    endpoints: { hanging: HANGING, healthy: HEALTHY },
    expected: HEALTHY * (ALONE_S + BESIDE_S) + FLOOD,
    alone: between(0, floodSince),
    flood: { ...between(floodSince, besideSince), perSecond: Math.round((flood.length * 1_000) / floodMs) },
    beside: between(besideSince, Number.POSITIVE_INFINITY),
    besideFirstBurst: between(besideSince, steadySince),
    requestsLeftHanging: hanging,
    sender: stats.sender,
  }
  await writeResult('webhook-fairness', result)
  console.log(result)
  const isFine = result.beside.p99Ms < P99_MS_MAX && arrivals.length === result.expected
  console.log(`${result.flood.perSecond} webhooks a second to ${HEALTHY} endpoints`)
  console.log(
    `${isFine ? 'Met' : 'MISSED'}: healthy p99 ${result.beside.p99Ms} ms beside ${HANGING} that hang (limit ${P99_MS_MAX} ms)`,
  )
  process.exit(isFine ? 0 : 1)
}

function reported(ms: readonly number[]) {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
  return { deliveries: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1) }
}
