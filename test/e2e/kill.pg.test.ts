import { afterAll, beforeAll, expect, test } from 'bun:test'
import { addNights, formatNight } from '../../src/domain/night.ts'
import { sha256Hex } from '../../src/edge/key-secret.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { testDatabase, type TestDatabase } from '../support/postgres.ts'
import { night, sampleUnit } from '../support/samples.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

const ROUNDS = 20
const CLIENTS = 64
const UNITS = 12
const LOAD_MS = 250
const SECRET = `hr_live_${'k'.repeat(40)}`
const FIRST = night('2027-01-01')

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  const ledger = await openTestDatabaseLedger(database.url)
  const plan = { apiAccess: true, requestsPerMinute: 10_000_000, requestsPerMonth: 1_000_000_000 }
  const agency = await addAgency(ledger, { plan })
  for (let i = 0; i < UNITS; i++) await addUnit(ledger, agency, sampleUnit({ id: `unt_${i}`, slug: `unit-${i}` }))
  await ledger.catalogueStore.insertKey({
    ...{ id: 'key_a', agencyId: agency.id, name: null, prefix: 'hr_live_kkkk', secretSha256: sha256Hex(SECRET) },
    ...{ scopes: ['write:bookings', 'read:availability', 'read:bookings'], createdAt: 0, expiresAt: null, revokedAt: null },
  })
  await ledger.close()
})
afterAll(() => database.drop())

/** What the clients were told before the service died. */
interface Acknowledged {
  readonly booked: Map<string, { unit: string; arrival: string; departure: string }>
  readonly cancelled: Set<string>
}

/** Books and cancels until the service is gone; keeps only what was answered. */
async function client(baseUrl: string, acknowledged: Acknowledged, until: { stop: boolean }): Promise<void> {
  const post = (path: string, body: unknown) =>
    fetch(`${baseUrl}/partner/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  while (!until.stop) {
    try {
      const arrival = addNights(FIRST, Math.floor(Math.random() * 20_000))
      const stay = {
        unit: `unit-${Math.floor(Math.random() * UNITS)}`,
        arrival: formatNight(arrival),
        departure: formatNight(addNights(arrival, 1 + Math.floor(Math.random() * 5))),
      }
      const response = await post('/bookings', stay)
      if (response.status !== 201) {
        await response.arrayBuffer()
        continue
      }
      const { booking } = (await response.json()) as { booking: { id: string } }
      acknowledged.booked.set(booking.id, stay)
      if (Math.random() < 0.3) {
        const cancelled = await post(`/bookings/${booking.id}/cancel`, {})
        await cancelled.arrayBuffer()
        if (cancelled.status === 200) acknowledged.cancelled.add(booking.id)
      }
    } catch {
      // The service is gone: whatever was asked has no answer, and the test claims nothing about it.
      return
    }
  }
}

async function expectNothingLost(acknowledged: Acknowledged): Promise<void> {
  const { sql } = database
  const rows = await sql<{ id: string; status: string; arrival: string; seq: number; version: number }[]>`
    select booking_id as id, status, arrival::text, seq::int, version from booking`
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const [id, stay] of acknowledged.booked) expect(byId.get(id)?.arrival).toBe(stay.arrival)
  for (const id of acknowledged.cancelled) expect(byId.get(id)?.status).toBe('cancelled')

  const [journal] = await sql`
    select count(*)::int as entries, count(distinct seq)::int as seqs, max(seq)::int as last,
           count(*) filter (where kind = 'booking_created')::int as created from journal`
  expect(journal?.['entries']).toBe(journal?.['last'])
  expect(journal?.['seqs']).toBe(journal?.['last'])
  expect(journal?.['created']).toBe(rows.length)

  const sums = rows.reduce((sum, { version }) => sum + version, 0)
  const [events] = await sql`select count(*)::int as n from webhook_event`
  expect(events?.['n']).toBe(sums)
  const [audit] = await sql`select count(*)::int as n from audit where outcome = 'OK' and booking_id is not null`
  expect(audit?.['n']).toBe(sums)

  const twice = await sql`
    select from booking a join booking b
      on a.unit_id = b.unit_id and a.booking_id < b.booking_id
     and daterange(a.arrival, a.departure) && daterange(b.arrival, b.departure)
    where a.status <> 'cancelled' and b.status <> 'cancelled'`
  expect(twice).toHaveLength(0)
}

/** The nights a service answers after it has recovered are those of the rows. */
async function expectCalendarOfRows(service: ServiceProcess): Promise<void> {
  for (let i = 0; i < UNITS; i++) {
    const url = `${service.baseUrl}/partner/v1/availability?unit=unit-${i}&from=2030-01-01&to=2031-01-02`
    const response = await fetch(url, { headers: { authorization: `Bearer ${SECRET}` } })
    const { blockedNights } = (await response.json()) as { blockedNights: string[] }
    const nights = await database.sql`
      select n::date::text as night from booking, generate_series(arrival, departure - 1, interval '1 day') n
      where unit_id = ${`unt_${i}`} and status <> 'cancelled' and n >= '2030-01-01' and n < '2031-01-02' order by 1`
    expect(blockedNights).toEqual(nights.map((row) => row['night']))
  }
}

test(`kill -9 under load of ${CLIENTS} clients, ${ROUNDS} rounds: nothing acknowledged is lost, nothing is sold twice`, async () => {
  const acknowledged: Acknowledged = { booked: new Map(), cancelled: new Set() }
  const readyMs: number[] = []
  let service = await startServiceOn(database.url)
  for (let round = 0; round < ROUNDS; round++) {
    const until = { stop: false }
    const before = acknowledged.booked.size
    const clients = Array.from({ length: CLIENTS }, () => client(service.baseUrl, acknowledged, until))
    await Bun.sleep(LOAD_MS)
    service.kill('SIGKILL')
    await service.exited
    until.stop = true
    await Promise.all(clients)
    expect(acknowledged.booked.size).toBeGreaterThan(before)
    service = await startServiceOn(database.url)
    readyMs.push(service.readyMs)
    await expectNothingLost(acknowledged)
    await expectCalendarOfRows(service)
  }
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  const median = readyMs.toSorted((a, b) => a - b)[ROUNDS / 2] ?? Number.NaN
  console.log(`${acknowledged.booked.size} bookings acknowledged, ${acknowledged.cancelled.size} cancelled; ready again after ${median.toFixed(0)} ms (median), ${Math.max(...readyMs).toFixed(0)} ms (most)`)
  expect(median).toBeLessThan(2_000)
}, 240_000)
