/*
 * `bun bench/changes.ts`: what partners that wait for changes cost, and how soon they have one.
 *
 * - CPU of the service and of Postgres while nobody waits, 1,000 requests wait, and 1,000 streams are open, in turn.
 * - From the answer to a booking until every stream of its agency has the change: one booking at a time, and beside 16 writers.
 * - CPU per booking whose agency has no stream, and one, in turn.
 *
 * Ten streams or requests of each of 100 agencies. Takes about 50 s.
 */
import { loadavg } from 'node:os'
import { Latencies } from '../src/lib/latencies.ts'
import { writeResult } from './report.ts'
import { cpuSecondsOf, cpuSecondsOfFamily, startPostgres, startService } from './support/processes.ts'
import { medianOf } from './support/statistics.ts'
import { seedLedger } from './world/seed.ts'
import { saleOf, secretOf, slugOf, type WorldSize } from './world/world.ts'

const SIZE: WorldSize = { agencies: 100, unitsPerAgency: 10, bookingsPerUnit: 0, bookingsOfFirst: 0 }
const PER_AGENCY = 10
const WAITING = SIZE.agencies * PER_AGENCY
const IDLE_ROUNDS = 3
const IDLE_MS = 4_000
const BOOKINGS = 400
const BESIDE_WRITERS = 16
const COST_ROUNDS = 5
const COST_BOOKINGS = 400
const COST_WRITERS = 16

const loadBefore = loadavg()[0]
const postgres = await startPostgres()
const { url, sql } = await postgres.createDatabase('bench')
await seedLedger(sql, SIZE, () => {})
const service = await startService(url)
const port = Number(new URL(service.baseUrl).port)

interface Partner {
  /** When its last change came, by the booking in it. */
  readonly seen: Map<string, number>
  close(): void
}

/** A request to `/changes` on a raw socket: what it answers is looked through for bookings, and not parsed. */
async function partner(agency: number, path: string, accept: string): Promise<Partner> {
  const seen = new Map<string, number>()
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data: (_, chunk) => {
        const at = performance.now()
        for (const [, id] of chunk.toString('latin1').matchAll(/"data":\{"id":"(\w+)"/g)) seen.set(id ?? '', at)
      },
    },
  })
  const head = `Host: here\r\nAuthorization: Bearer ${secretOf(agency)}\r\nAccept: ${accept}\r\n`
  socket.write(`GET /partner/v1/changes${path} HTTP/1.1\r\n${head}\r\n`)
  return { seen, close: () => void socket.terminate() }
}

async function cursorOf(agency: number): Promise<string> {
  const headers = { authorization: `Bearer ${secretOf(agency)}` }
  const answer = (await (await fetch(`${service.baseUrl}/partner/v1/changes`, { headers })).json()) as {
    cursor: string
  }
  return answer.cursor
}

/** By agency. */
async function partners(kind: 'stream' | 'request', perAgency = PER_AGENCY): Promise<Partner[][]> {
  const byAgency: Partner[][] = []
  for (let agency = 0; agency < SIZE.agencies; agency++) {
    const query = kind === 'stream' ? '' : `?wait=20&after=${await cursorOf(agency)}`
    const accept = kind === 'stream' ? 'text/event-stream' : 'application/json'
    byAgency.push(await Promise.all(Array.from({ length: perAgency }, () => partner(agency, query, accept))))
  }
  while ((await waitingNow()) < SIZE.agencies * perAgency) await Bun.sleep(10)
  return byAgency
}

async function gone(byAgency: readonly Partner[][]): Promise<void> {
  for (const each of byAgency.flat()) each.close()
  while ((await waitingNow()) > 0) await Bun.sleep(10)
}

async function waitingNow(): Promise<number> {
  const page = await (await fetch(`${service.baseUrl}/metrics`)).text()
  const samples = [...page.matchAll(/^nightledger_feed_(?:requests_waiting|streams_open) (\d+)$/gm)]
  return samples.reduce((sum, [, value]) => sum + Number(value), 0)
}

const cpu = () => ({ service: cpuSecondsOf(service.pid), postgres: cpuSecondsOfFamily(postgres.postmasterPid) })

/** Thousandths of a core that service and Postgres use while nothing happens. */
async function idleUse(): Promise<Used> {
  // What opening the connections has left to do.
  await Bun.sleep(1_000)
  const before = cpu()
  const since = performance.now()
  await Bun.sleep(IDLE_MS)
  const after = cpu()
  const per = 1_000_000 / (performance.now() - since)
  return { service: (after.service - before.service) * per, postgres: (after.postgres - before.postgres) * per }
}

let sale = 0
/** Books in an agency. @returns the booking, and when its answer was there */
async function book(agency: number): Promise<{ id: string; at: number }> {
  const n = sale++
  const unit = slugOf(n % SIZE.unitsPerAgency)
  const response = await fetch(`${service.baseUrl}/partner/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secretOf(agency)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ unit, ...saleOf(Math.floor(n / SIZE.unitsPerAgency)) }),
  })
  const { booking } = (await response.json()) as { booking?: { id: string } }
  if (booking === undefined) throw new Error(`Cannot book: ${response.status}`)
  return { id: booking.id, at: performance.now() }
}

async function delays(byAgency: readonly Partner[][], writers: number): Promise<readonly number[]> {
  const waited = new Latencies()
  let isOver = false
  const beside = Array.from({ length: writers }, async (_, n) => {
    for (let i = n; !isOver; i++) await book(i % SIZE.agencies)
  })
  for (let n = 0; n < BOOKINGS; n++) {
    const agency = n % SIZE.agencies
    const { id, at } = await book(agency)
    for (const { seen } of byAgency[agency] ?? []) {
      while (!seen.has(id)) await Bun.sleep(0)
      waited.add(Math.max(0, (seen.get(id) ?? 0) - at) * 1e6)
    }
  }
  isOver = true
  await Promise.all(beside)
  return waited.percentiles([0.5, 0.99, 1])
}

/** Microseconds of CPU per booking. */
async function bookingCost(): Promise<Used> {
  const before = cpu()
  let left = COST_BOOKINGS
  const writer = async () => {
    while (left-- > 0) await book(left % SIZE.agencies)
  }
  await Promise.all(Array.from({ length: COST_WRITERS }, writer))
  await Bun.sleep(300)
  const after = cpu()
  const per = 1e6 / COST_BOOKINGS
  return { service: (after.service - before.service) * per, postgres: (after.postgres - before.postgres) * per }
}

const medians = (rows: readonly Used[]) => ({
  service: medianOf(rows.map((row) => row.service)),
  postgres: medianOf(rows.map((row) => row.postgres)),
})

interface Used {
  readonly service: number
  readonly postgres: number
}

const rows: Record<'nobody' | 'requests' | 'streams', Used[]> = { nobody: [], requests: [], streams: [] }
for (let round = 0; round < IDLE_ROUNDS; round++) {
  rows.nobody.push(await idleUse())
  for (const kind of ['request', 'stream'] as const) {
    const open = await partners(kind)
    rows[`${kind}s`].push(await idleUse())
    await gone(open)
  }
}
const cpuPerThousand = {
  nobody: medians(rows.nobody),
  requests: medians(rows.requests),
  streams: medians(rows.streams),
}
for (const [who, { service, postgres }] of Object.entries(cpuPerThousand))
  console.log(`${who} waiting: service ${service.toFixed(1)}, Postgres ${postgres.toFixed(1)} thousandths of a core`)

const open = await partners('stream')
const delayMs: Record<string, readonly number[]> = {}
for (const [name, writers] of [
  ['alone', 0],
  [`beside ${BESIDE_WRITERS} writers`, BESIDE_WRITERS],
] as const) {
  delayMs[name] = (await delays(open, writers)).map((ms) => Number(ms.toFixed(2)))
  console.log(`delay ${name}: p50 ${delayMs[name][0]} ms, p99 ${delayMs[name][1]} ms, longest ${delayMs[name][2]} ms`)
}
await gone(open)

const cost: Record<'without' | 'with', Used[]> = { without: [], with: [] }
await bookingCost()
for (let round = 0; round < COST_ROUNDS; round++) {
  cost.without.push(await bookingCost())
  const one = await partners('stream', 1)
  cost.with.push(await bookingCost())
  await gone(one)
}
const cpuPerBooking = { without: medians(cost.without), with: medians(cost.with) }
for (const [which, { service, postgres }] of Object.entries(cpuPerBooking))
  console.log(`a booking ${which} a stream: service ${service.toFixed(0)} us, Postgres ${postgres.toFixed(0)} us`)

await service.stop()
await postgres.stop()
const figures = { cpuPerThousand, delayMs, cpuPerBooking }
await writeResult('changes', { loadBefore, loadAfter: loadavg()[0], waiting: WAITING, ...figures })
process.exit()
