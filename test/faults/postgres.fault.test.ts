import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { heartbeatAnswered } from '../support/heartbeat-answered.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

let postgres: FaultPostgres
let service: ServiceProcess
let load: Load

beforeEach(async () => {
  postgres = await FaultPostgres.start()
  await prepareForLoad(postgres.url)
  service = await startServiceOn(postgres.url)
  load = new Load(() => service.baseUrl)
})
afterEach(async () => {
  await load.stop()
  service.kill('SIGKILL')
  await postgres.stop()
})

async function expectAllWell(): Promise<void> {
  await load.stop()
  const sql = postgres.direct()
  await expectNothingLost(sql, load)
  await expectCalendarOfRows(sql, load)
  await sql.end({ timeout: 1 })
}

/** Books until a booking is made; how long that took, in milliseconds. */
async function msUntilBooked(): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < 60_000) {
    try {
      if ((await load.bookOnce()) !== null) return performance.now() - since
    } catch {
      // No answer yet.
    }
    await Bun.sleep(10)
  }
  const state = await fetch(`${service.baseUrl}/readyz`).then(
    (response) => response.text(),
    (error: Error) => error.message,
  )
  throw new Error(`The service did not sell again within 20 s: ${state}\n${service.log().slice(-2_000)}`)
}

describe('under load, Postgres', () => {
  for (const [signal, how] of [
    ['SIGINT', 'is stopped'],
    ['SIGQUIT', 'is stopped at once'],
    ['SIGKILL', 'is killed'],
  ] as const) {
    test(`${how} and started again: the service lives on, sells again, and nothing is lost`, async () => {
      const backMs: number[] = []
      for (let round = 0; round < rounds({ push: 1, long: 3 }); round++) {
        const before = load.booked.size
        load.start(32)
        await Bun.sleep(400)
        await eventually('bookings are being made', () => load.booked.size > before + 15)
        postgres.signal(signal)
        await Bun.sleep(300)
        await postgres.restart()
        backMs.push(await msUntilBooked())
        await load.stop()
      }
      await expectAllWell()
      console.log(`sells again ${backMs.map((ms) => ms.toFixed(0)).join(', ')} ms after the database is back`)
      service.kill('SIGTERM')
      expect(await service.exited).toBe(0)
    })
  }

  test('loses its backends again and again: every write is made once or refused', async () => {
    load.start(32)
    const sql = postgres.direct()
    for (let i = 0; i < 60; i++) {
      await Bun.sleep(50)
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
                where application_name like 'nightledger%' and pid <> pg_backend_pid()
                  and datname = current_database() and random() < 0.5`.catch(() => null)
    }
    await sql.end({ timeout: 1 })
    await msUntilBooked()
    await expectAllWell()
  })

  test('commits while its replies are lost: an identical batch is found, never written twice', async () => {
    load.start(32)
    let replies = 0
    postgres.proxy.losesReply = () => ++replies % 50 === 0
    await Bun.sleep(4_000)
    await eventually('replies are lost', () => postgres.proxy.lost > 20, 60_000)
    postgres.proxy.losesReply = () => false
    await msUntilBooked()
    await expectAllWell()
    console.log(`${postgres.proxy.lost} replies lost, ${load.booked.size} bookings acknowledged`)
  })
})

describe('while Postgres is away', () => {
  async function readiness(): Promise<number> {
    const response = await fetch(`${service.baseUrl}/readyz`)
    await response.arrayBuffer()
    return response.status
  }

  test('reads from memory continue, writes are refused after 5 s as not written, those with a key at once as unknown, and /readyz says so', async () => {
    // Touched once, so that unit and inventory are in memory.
    expect((await load.get('/availability?unit=unit-1&from=2030-01-01&to=2030-02-01')).status).toBe(200)
    expect(await readiness()).toBe(200)
    const before = postgres.direct()
    await heartbeatAnswered(before)
    await before.end({ timeout: 1 })
    await postgres.shutDown()
    await eventually('it is away', async () => (await readiness()) === 503)

    const since = performance.now()
    const body = { unit: 'unit-1', arrival: '2031-01-01', departure: '2031-01-02', sourceRef: 'while away' }
    const write = load.post('/bookings', body)
    for (let i = 0; i < 20; i++) {
      expect((await load.get('/availability?unit=unit-1&from=2030-01-01&to=2030-02-01')).status).toBe(200)
    }
    expect(await readiness()).toBe(503)
    const refused = await write
    expect(performance.now() - since).toBeGreaterThanOrEqual(4_900)
    expect(refused.status).toBe(500)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await refused.json()).toMatchObject({
      code: 'INTERNAL',
      title: expect.stringContaining('othing was changed'),
    })
    const repeated = await load.post(
      '/bookings',
      { ...body, arrival: '2030-12-31' },
      { 'idempotency-key': 'while-away' },
    )
    expect([repeated.status, repeated.headers.has('retry-after'), await repeated.json()]).toMatchObject([
      500,
      true,
      { title: expect.stringMatching(/may or may not have been made.* same Idempotency-Key/) },
    ])

    await postgres.restart()
    const backMs = await msUntilBooked()
    console.log(`sells again ${backMs.toFixed(0)} ms after the database is back`)
    expect(await readiness()).toBe(200)
    const sql = postgres.direct()
    expect(await sql`select from booking where source_ref = 'while away'`).toHaveLength(0)
    await sql.end({ timeout: 1 })
    await expectAllWell()
  })

  test('a write that may have been made waits until that is known, and is then answered as made', async () => {
    await load.book()
    // The commit's reply is lost, and so is every later one until the database is gone for a while.
    postgres.proxy.losesReply = () => true
    const body = { unit: 'unit-2', arrival: '2031-01-01', departure: '2031-01-02', sourceRef: 'held' }
    const write = load.post('/bookings', body)
    await Bun.sleep(6_500)
    postgres.proxy.losesReply = () => false
    const answer = await write
    // Made once, or not at all: never a guess.
    const sql = postgres.direct()
    const rows = await sql`select from booking where source_ref = 'held'`
    expect([answer.status, rows.length]).toEqual(answer.status === 201 ? [201, 1] : [500, 0])
    await answer.arrayBuffer()
    await sql.end({ timeout: 1 })
    // Until its heartbeat is confirmed again, it refuses everything: another process may have taken over (P3).
    await eventually('it is ready again', async () => (await readiness()) === 200)
    await expectAllWell()
  })
})
