import { afterAll, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { expectCalendarOfRows, expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { testDatabase } from '../support/postgres.ts'
import { startServiceOn } from '../support/service-process.ts'

const ROUNDS = rounds({ push: 2, long: 20 })
const CLIENTS = 64
const LOAD_MS = 250

const database = await testDatabase()
await prepareForLoad(database.url)
afterAll(() => database.drop())

test(`kill -9 under load of ${CLIENTS} clients, ${ROUNDS} rounds: nothing acknowledged is lost, nothing is sold twice`, async () => {
  const readyMs: number[] = []
  let service = await startServiceOn(database.url)
  const load = new Load(() => service.baseUrl)
  for (let round = 0; round < ROUNDS; round++) {
    const before = load.booked.size
    load.start(CLIENTS)
    await Bun.sleep(LOAD_MS)
    await eventually('bookings are being made', () => load.booked.size > before)
    service.kill('SIGKILL')
    await service.exited
    await load.stop()
    service = await startServiceOn(database.url)
    readyMs.push(service.readyMs)
    await expectNothingLost(database.sql, load)
    await expectCalendarOfRows(database.sql, load)
  }
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  const median = readyMs.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN
  console.log(
    `${load.booked.size} bookings acknowledged, ${load.cancelled.size} cancelled; ready again after ${median.toFixed(0)} ms (median), ${Math.max(...readyMs).toFixed(0)} ms (most)`,
  )
}, 240_000)
