import { afterEach, beforeEach, expect, test } from 'bun:test'
import { RefusalCounter, type RefusedWrite } from '../../src/accounts/refusal-counter.ts'
import type { Ledger } from '../../src/app/ledger.ts'
import { PostgresRefusalRows } from '../../src/postgres/stores/postgres-refusal-rows.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { openTestDatabaseLedger } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { sampleId } from '../support/samples.ts'

const KEY_A = sampleId('key', 'a')

const REFUSED: RefusedWrite = {
  agencyId: sampleId('agc', 'a'),
  actor: { kind: 'key', id: KEY_A },
  code: 'RATE_LIMITED',
  route: 'POST /partner/v1/bookings',
  requestId: 'req_1',
  traceparent: null,
}

let database: TestDatabase
let ledger: Ledger
let clock: FakeClock

beforeEach(async () => {
  database = await testDatabase()
  ledger = await openTestDatabaseLedger(database.url)
  clock = new FakeClock(Date.UTC(2027, 0, 15, 12))
})

afterEach(async () => {
  await ledger.close()
  await database.drop()
})

function openCounter(): RefusalCounter {
  return new RefusalCounter({
    clock,
    persist: (lines) => new PostgresRefusalRows(ledger.sql).keep(lines),
    onFailure: () => {},
  })
}

async function count(counter: RefusalCounter, times: number): Promise<void> {
  for (let i = 0; i < times; i++) counter.count(REFUSED)
  await counter.flush()
}

const lines = () => ledger.sql`
  select actor_kind, 'key_' || replace(actor_id::text, '-', '') as actor_id, route, outcome, booking_id, request_id,
         count::float8 as count
  from audit_line order by at`

test('a burst of refused writes is one audit line with a count', async () => {
  const counter = openCounter()
  for (let i = 0; i < 10; i++) await count(counter, 500)
  expect([...(await lines())]).toEqual([
    {
      actor_kind: 'key',
      actor_id: KEY_A,
      route: 'POST /partner/v1/bookings',
      outcome: 'RATE_LIMITED',
      booking_id: null,
      request_id: 'req_1',
      count: 5_000,
    },
  ])
})

test('a restart within the minute adds no line and never reduces the count', async () => {
  await count(openCounter(), 40)
  const restarted = openCounter()
  await count(restarted, 3)
  expect((await lines()).map(({ count }) => count)).toEqual([40])
  await count(restarted, 50)
  expect((await lines()).map(({ count }) => count)).toEqual([53])
})

test('250 keys refused in the same minute have 250 lines', async () => {
  const counter = openCounter()
  for (let i = 0; i < 250; i++) counter.count({ ...REFUSED, actor: { kind: 'key', id: sampleId('key', i) } })
  await counter.stop()
  expect(await lines()).toHaveLength(250)
})

test('a line whose data the database rejects does not block the others', async () => {
  const counter = openCounter()
  counter.count(REFUSED)
  counter.count({ ...REFUSED, actor: { kind: 'key', id: sampleId('key', 'c') }, route: '\u0000' })
  counter.count({ ...REFUSED, actor: { kind: 'key', id: sampleId('key', 'b') } })
  expect(await counter.flush().catch((error: { code: string }) => error.code)).toBe('22021')
  expect((await lines()).map(({ actor_id }) => actor_id).sort()).toEqual([KEY_A, sampleId('key', 'b')])
})

test('a fenced process can still write its refusals', async () => {
  const counter = openCounter()
  await ledger.sql`select take_over('another')`
  await count(counter, 2)
  expect((await lines()).map(({ count }) => count)).toEqual([2])
})

test('of two lines, the one that the database rejects does not keep the other from being written', async () => {
  const line = (id: string, route: string) => ({
    auditId: sampleId('aud', id),
    at: clock.now(),
    count: 1,
    agencyId: REFUSED.agencyId,
    actor: REFUSED.actor,
    route,
    outcome: REFUSED.code,
    bookingId: null,
    requestId: REFUSED.requestId,
  })
  const keeping = new PostgresRefusalRows(ledger.sql).keep([line('1', 'POST \u0000'), line('2', REFUSED.route)])
  await expect(keeping).rejects.toThrow()
  expect((await lines()).map(({ route }) => route)).toEqual([REFUSED.route])
})
