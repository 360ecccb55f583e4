/*
 * `bun bench/sandbox-clock.ts`: moves the clock of a sandbox by ten months, with 10,000 holds that lapse and 50,000 webhook retries that
 * fall due on the way, and measures how long that takes, and what another agency notices: its bookings and its reads of availability,
 * alone and beside the move. Takes about two minutes.
 */
import { DAY_MS, HOUR_MS, instantText } from '../src/lib/clock.ts'
import { systemIds, uuidOf } from '../src/lib/ids.ts'
import type { Sql } from '../src/postgres/client/connect.ts'
import { makeKey } from '../test/support/fixtures.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../test/support/open-ledger.ts'
import { AMPLE_PLAN, CALLER, requestFor, sampleUnit } from '../test/support/samples.ts'
import { TEST_PORTAL_TOKEN } from '../test/support/service-process.ts'
import { writeResult } from './report.ts'
import { startPostgres, startService } from './support/processes.ts'
import { rounded } from './support/statistics.ts'

const START = Date.UTC(2050, 0, 1)
const UNITS = 100
const HOLDS_OF_EACH = 100
/** Its deliveries are as many as there are holds. */
const ENDPOINTS = 5
const MOVE_DAYS = 300
const CLIENTS = 4
const ALONE_MS = 15_000
/** From the move on: the sender works off what has fallen due for longer than the clock is on its way. */
const BESIDE_MS = 15_000

interface Agencies {
  readonly sandboxId: string
  readonly sandboxSlug: string
  readonly sandboxKey: string
  readonly liveKey: string
}

async function seed(url: string): Promise<Agencies> {
  const ledger = await openTestDatabaseLedger(url)
  const date = (days: number) => instantText(START + days * DAY_MS).slice(0, 10)
  const unitOf = (agency: Awaited<ReturnType<typeof addAgency>>, slug: string) =>
    addUnit(ledger, agency, sampleUnit({ id: systemIds('unt'), slug, name: slug }))
  const sandbox = await addAgency(ledger, {
    id: systemIds('agc'),
    slug: 'sandbox',
    plan: AMPLE_PLAN,
    clock: { now: START, target: START },
  })
  for (let i = 0; i < UNITS; i++) {
    const unit = await unitOf(sandbox, `unit-${i}`)
    // A hold lasts 90 days at most: the clock is moved on below once they are made.
    const hold = (j: number) =>
      requestFor(unit, date(j), date(j + 1), { status: 'option', holdHours: 1 + ((j * UNITS + i) % 2_160) })
    await Promise.all(Array.from({ length: HOLDS_OF_EACH }, (_, j) => ledger.commands.book(sandbox, hold(j), CALLER)))
  }
  const live = await addAgency(ledger, { id: systemIds('agc'), slug: 'live', plan: AMPLE_PLAN })
  for (let i = 0; i < CLIENTS; i++) await unitOf(live, `unit-${i}`)
  const keys = await Promise.all([makeKey(ledger, sandbox), makeKey(ledger, live)])
  await ledger.close()
  const [sandboxKey, liveKey] = keys.map(({ secret }) => secret) as [string, string]
  return { sandboxId: sandbox.id, sandboxSlug: sandbox.slug, sandboxKey, liveKey }
}

/** Holds and deliveries over the whole way, each at a moment of its own. */
async function spread(sql: Sql, agencyId: string): Promise<void> {
  const agency = uuidOf(agencyId)
  await sql`
    update booking b set hold_expires_at = ${new Date(START)}::timestamptz + p.place * ${(MOVE_DAYS * 24) / (UNITS * HOLDS_OF_EACH + 1)}::float8 * interval '1 hour'
    from (select booking_id, row_number() over (order by hold_expires_at, booking_id) as place from booking where agency_id = ${agency}) p
    where b.agency_id = ${agency} and b.booking_id = p.booking_id`
  await sql`
    insert into webhook_delivery (agency_id, endpoint_id, delivery_id, event_id, seq, entry_month, month, kind, status, created_at,
                                  next_attempt_at, attempts, tries)
    select j.agency_id, e.endpoint_id, gen_random_uuid(), j.entry_id, j.seq, j.month, j.month, 'booking.created', 'pending', j.at,
           j.at + random() * ${MOVE_DAYS}::float8 * interval '1 day', 1, 1
    from journal j cross join webhook_endpoint e
    where j.agency_id = ${agency} and e.agency_id = ${agency} and j.kind = 'booking_created'`
  await sql`analyze`
}

/** Bookings and reads of the live agency, one after the other on each of several connections, until `isOver`. */
async function load(baseUrl: string, key: string, isOver: () => boolean) {
  const [writes, reads]: [number[], number[]] = [[], []]
  const timed = async (into: number[], path: string, init: RequestInit = {}) => {
    const since = performance.now()
    const response = await fetch(`${baseUrl}/partner/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    })
    const body = (await response.json()) as { booking?: { id: string } }
    into.push(performance.now() - since)
    if (!response.ok) throw new Error(`Cannot measure: ${path} is ${response.status} ${JSON.stringify(body)}`)
    return body
  }
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, i) => {
      while (!isOver()) {
        const stay = JSON.stringify({ unit: `unit-${i}`, arrival: '2027-06-01', departure: '2027-06-03' })
        const { booking } = await timed(writes, '/bookings', { method: 'POST', body: stay })
        await timed(writes, `/bookings/${booking?.id}/cancel`, { method: 'POST', body: '{}' })
        for (let n = 0; n < 8; n++) await timed(reads, `/availability?unit=unit-${i}&from=2027-06-01&to=2027-09-01`)
        await Bun.sleep(5)
      }
    }),
  )
  return { writes: percentiles(writes), reads: percentiles(reads) }
}

function percentiles(all: number[]) {
  const sorted = all.toSorted((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.floor(sorted.length * share)] ?? 0, 2)
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: rounded(sorted.at(-1) ?? 0, 1) }
}

const postgres = await startPostgres()
const receiver = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(null, { status: 204 }) })
try {
  const { url, sql } = await postgres.createDatabase('sandbox_clock')
  const { sandboxId, sandboxSlug, sandboxKey, liveKey } = await seed(url)
  const service = await startService(url, { NODE_ENV: 'test', WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` })
  const ask = async (path: string, token: string, json?: object) => {
    const response = await fetch(service.baseUrl + path, {
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
    })
    if (!response.ok) throw new Error(`Cannot measure: ${path} is ${response.status} ${await response.text()}`)
    return (await response.json()) as { now: string; status: string }
  }
  for (let i = 0; i < ENDPOINTS; i++)
    await ask(`/portal/v1/agencies/${sandboxSlug}/webhook-endpoints`, TEST_PORTAL_TOKEN, {
      url: `http://127.0.0.1:${receiver.port}/${i}`,
    })
  await spread(sql, sandboxId)

  const until = (ms: number) => {
    const end = performance.now() + ms
    return () => performance.now() >= end
  }
  await load(service.baseUrl, liveKey, until(3_000))
  const alone = await load(service.baseUrl, liveKey, until(ALONE_MS))

  const since = performance.now()
  await ask('/partner/v1/test/clock', sandboxKey, { now: instantText(START + MOVE_DAYS * DAY_MS + HOUR_MS) })
  let movedMs = 0
  const watching = (async () => {
    while ((await ask('/partner/v1/test/clock', sandboxKey)).status !== 'ready') await Bun.sleep(20)
    movedMs = performance.now() - since
  })()
  const onTheWay = await load(service.baseUrl, liveKey, () => movedMs > 0)
  await watching
  const afterwards = await load(service.baseUrl, liveKey, until(BESIDE_MS))
  const [left] = await sql<{ holds: number; deliveries: number }[]>`
    select (select count(*)::int from booking where agency_id = ${uuidOf(sandboxId)} and status = 'option') as holds,
           (select count(*)::int from webhook_delivery where status = 'pending') as deliveries`
  await service.stop()

  const ratio = (beside: typeof alone) => ({
    writes: rounded(beside.writes.p99Ms / alone.writes.p99Ms, 2),
    reads: rounded(beside.reads.p99Ms / alone.reads.p99Ms, 2),
  })
  const result = {
    holds: UNITS * HOLDS_OF_EACH,
    deliveries: ENDPOINTS * UNITS * HOLDS_OF_EACH,
    movedS: rounded(movedMs / 1_000, 2),
    left,
    alone,
    onTheWay,
    afterwards,
    p99RatioOnTheWay: ratio(onTheWay),
    p99RatioAfterwards: ratio(afterwards),
  }
  console.log(JSON.stringify(result, null, 2))
  await writeResult('sandbox-clock', result)
} finally {
  await receiver.stop(true)
  await postgres.stop()
}
