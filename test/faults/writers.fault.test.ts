import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { addNights, formatNight } from '../../src/core/domain/night.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { expectAcknowledged, expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { night } from '../support/samples.ts'
import { makeAgencyByPortal, type ServiceProcess, startServiceOn } from '../support/service-process.ts'

let database: TestDatabase
/** Without a statement timeout: the oracle may take its time. */
let sql: Sql
beforeEach(async () => {
  database = await testDatabase()
  sql = connect(database.url, { purpose: 'admin' })
  await prepareForLoad(database.url)
})
afterEach(async () => {
  await sql.end({ timeout: 1 })
  await database.drop()
})

async function entriesOfEarlierWriters(): Promise<number> {
  const [row] = await sql`
    select count(*)::int as entries from journal j join shard s on s.shard = j.shard where j.epoch < s.epoch`
  return row?.['entries']
}

async function stop(service: ServiceProcess): Promise<void> {
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
}

describe('two writers (J5)', () => {
  test('take-overs under load: the older one always ends non-zero, and nothing is lost or sold twice', async () => {
    let service = await startServiceOn(database.url)
    const load = new Load(() => service.baseUrl)
    load.start(24)
    for (let round = 0; round < rounds({ push: 2, long: 20 }); round++) {
      const older = service
      const both = new Load(() => older.baseUrl)
      both.start(8)
      await Bun.sleep(100)
      service = await startServiceOn(database.url, {}, { takesOver: true })
      expect(await older.exited).toBe(1)
      await both.stop()
      await expectAcknowledged(sql, both)
    }
    await load.stop()
    await expectNothingLost(sql, load)
    await expectCalendarOfRows(sql, load)
    await stop(service)
  }, 240_000)

  test('a writer that was paused while another took over acknowledges nothing more, and ends non-zero', async () => {
    for (let round = 0; round < rounds({ push: 2, long: 5 }); round++) {
      const paused = await startServiceOn(database.url)
      const load = new Load(() => paused.baseUrl)
      load.start(16)
      await Bun.sleep(200)
      paused.kill('SIGSTOP')
      const next = await startServiceOn(database.url, {}, { takesOver: true })
      const nextLoad = new Load(() => next.baseUrl)
      await nextLoad.book()
      const entriesBefore = await entriesOfEarlierWriters()
      paused.kill('SIGCONT')
      expect(await paused.exited).toBe(1)
      await load.stop()
      expect(await entriesOfEarlierWriters()).toBe(entriesBefore)
      expect(paused.log()).toContain('fenced by another writer')
      await expectNothingLost(sql, load)
      await expectNothingLost(sql, nextLoad)
      await stop(next)
    }
  })
})

/** Units of an agency, each with a client of its own: a unit has one record in a batch at most. */
const UNITS = 12

test('J5: a process that loses one shard writes what is left of the batch, ends non-zero, and tells every caller the truth', async () => {
  let reported = 0
  for (let round = 0; round < rounds({ push: 3, long: 8 }); round++) {
    const service = await startServiceOn(database.url)
    const keys = await Promise.all(
      ['lost', 'kept-a', 'kept-b'].map(async (name) => {
        const plan = { requestsPerMinute: 1_000_000, requestsPerMonth: 1_000_000 }
        const slug = `${name}-${round}`
        const key = await makeAgencyByPortal(service, { slug, scopes: ['write:bookings'], plan })
        for (let i = 0; i < UNITS; i++)
          await service.portal(`/agencies/${slug}/units`, { slug: `unit-${i}`, name: 'x', basePrice: 1 })
        return key
      }),
    )
    /** By the reference of a booking: whether it was said to be made; null where nothing is claimed. */
    const outcomes = new Map<string, boolean | null>()
    const clients = keys.flatMap((token, agency) =>
      Array.from({ length: UNITS }, async (_, client) => {
        for (let i = 0; ; i++) {
          const arrival = addNights(night('2027-01-01'), i)
          const sourceRef = `${round}-${agency}-${client}-${i}`
          const json = {
            unit: `unit-${client}`,
            arrival: formatNight(arrival),
            departure: formatNight(addNights(arrival, 1)),
            sourceRef,
          }
          outcomes.set(sourceRef, null)
          const answer = await service.ask('/partner/v1/bookings', { token, json }).catch(() => null)
          if (answer === null) return
          const isUnknown = answer.body.title?.startsWith('The change may or may not have been made')
          if (!isUnknown) outcomes.set(sourceRef, answer.status === 201)
        }
      }),
    )
    await eventually('bookings are being made', () => outcomes.size > 300)
    await sql`
      update shard set epoch = epoch + 1, holder = 'another'
      where shard = (select shard_of(agency_id) from agency where slug = ${`lost-${round}`})`
    expect(await service.exited).toBe(1)
    await Promise.all(clients)
    const rows = await sql<
      { ref: string }[]
    >`select source_ref as ref from booking where source_ref like ${`${round}-%`}`
    const made = new Set(rows.map(({ ref }) => ref))
    expect(made.size).toBe(rows.length)
    expect([...outcomes].filter(([ref, isMade]) => isMade !== null && isMade !== made.has(ref))).toEqual([])
    reported += outcomes.size
  }
  console.log(`${reported} bookings attempted`)
  await expectNothingLost(sql, new Load(() => ''))
})

test('J5: a portal write that finds the fence ends the process, though nothing is booked on it', async () => {
  const service = await startServiceOn(database.url)
  await sql`update shard set epoch = epoch + 1, holder = 'another'`
  const agency = { slug: 'stale', name: 'Stale', currency: 'EUR', timezone: 'Europe/Lisbon' }
  expect((await service.portal('/agencies', agency)).status).toBe(500)
  expect(await service.exited).toBe(1)
})

/** From 2083 to the last one. */
const NIGHTS = 6_000

describe('a deploy that overlaps', () => {
  test('with clients that retry what is safe to retry, no request fails', async () => {
    let current = await startServiceOn(database.url)
    let isStopping = false
    const failures: string[] = []
    let booked = 0
    const client = async (name: number) => {
      for (let i = 0; !isStopping; i++) {
        // A separate night of an agency for every request, after all nights that other tests sell.
        const arrival = addNights(night('2083-01-01'), i % NIGHTS)
        const stay = {
          unit: `unit-${name}`,
          arrival: formatNight(arrival),
          departure: formatNight(addNights(arrival, 1)),
        }
        const load = new Load(() => current.baseUrl)
        for (let attempt = 0; ; attempt++) {
          try {
            const key = { 'idempotency-key': `deploy-${name}-${i}` }
            // By the next agency when the nights are sold out.
            const response = await load.post('/bookings', stay, key, Math.floor(i / NIGHTS))
            const text = await response.text()
            if (response.status === 201) booked += 1
            else if (response.status === 500 && attempt < 200) {
              await Bun.sleep(20)
              continue
            } else failures.push(`${response.status} ${text}`)
            break
          } catch {
            // The connection was cut: safe to retry, because the key identifies the same request.
            await Bun.sleep(20)
          }
        }
      }
    }
    const clients = Array.from({ length: 8 }, (_, name) => client(name))
    for (let deploy = 0; deploy < 5; deploy++) {
      await Bun.sleep(200)
      const older = current
      current = await startServiceOn(database.url, {}, { takesOver: true })
      older.kill('SIGTERM')
      await older.exited
    }
    await eventually('there was traffic', () => booked > 100 || failures.length > 0)
    isStopping = true
    await Promise.all(clients)
    expect(failures.slice(0, 3)).toEqual([])
    const rows = await sql`select count(*)::int as n from booking where arrival >= '2083-01-01'`
    expect(rows[0]?.['n']).toBe(booked)
    await expectNothingLost(sql, new Load(() => current.baseUrl))
    await stop(current)
  })
})
