/** One agency's lists leave room: for its own and others' writes and look-ups, for others' lists, and for the probes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import {
  LISTS_PER_AGENCY_MAX,
  LISTS_RUNNING_MAX,
  LISTS_WAITING_PER_AGENCY_MAX,
} from '../../../src/postgres/stores/list-reads.ts'
import { eventually } from '../../support/eventually.ts'
import { expectReady } from '../../support/expect-ready.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { scrape } from '../../support/scrape.ts'
import {
  makeAgencyByPortal,
  type ServiceProcess,
  startServiceOn,
  TEST_PORTAL_TOKEN,
} from '../../support/service-process.ts'

const BUSY = 'Cannot read the list: this agency has too many list requests in progress. Try again'

let database: TestDatabase
let service: ServiceProcess
/** One connection, whose session holds a lock. */
let holder: Sql
beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url)
  holder = connect(database.url, { purpose: 'admin' })
})
afterAll(async () => {
  service.kill('SIGKILL')
  await service.exited
  await holder.end({ timeout: 0 })
  await database.drop()
})

const ask = (path: string, token: string, json?: unknown, headers = {}) =>
  service.ask(path, { token, headers, ...(json === undefined ? {} : { json }) })
const addAgency = (slug: string) =>
  makeAgencyByPortal(service, { slug, scopes: ['read:bookings', 'read:guests', 'write:bookings'] })

/** Connections of the pool whose statement waits for the lock. */
async function heldUp(pool: string): Promise<number> {
  const [row] = await database.sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = ${`nightledger ${pool}`} and wait_event_type = 'Lock'`
  return row?.count ?? -1
}

test('40 searches of one agency that do not end leave the other agencies unaffected', async () => {
  expect(LISTS_PER_AGENCY_MAX).toBeLessThan(LISTS_RUNNING_MAX)
  const noisy = await addAgency('noisy')
  const quiet = await addAgency('quiet')
  const stay = (arrival: string, departure: string) => ({ unit: 'sea-view', arrival, departure })
  const first = await ask('/partner/v1/bookings', quiet, stay('2031-01-01', '2031-01-02'))
  expect(first.status).toBe(201)

  await holder.unsafe('begin; lock table guest in access exclusive mode').simple()
  const searches = Array.from({ length: 40 }, () => ask('/partner/v1/guests?search=silva', noisy))
  // A search waits for its lock for 2 s, and for a place for little longer: on a slow machine the first have ended.
  let done = 0
  for (const search of searches) void search.then(({ body }) => (done += body.title === BUSY ? 0 : 1))
  await eventually('the share is in use', async () => (await heldUp('lists')) === LISTS_PER_AGENCY_MAX || done > 0)
  await eventually('all others have come', async () => {
    const page = await scrape(service.baseUrl)
    const count = (name: string) => page.value(`nightledger_database_statements_${name}`, { pool: 'lists' }) ?? 0
    return count('waiting') + count('refused_total') + done >= 40 - LISTS_PER_AGENCY_MAX
  })

  const key = { 'idempotency-key': 'k1' }
  const ready = expectReady(service)
  const answers = await Promise.all([
    ask('/partner/v1/bookings', quiet, stay('2031-02-01', '2031-02-02'), key),
    ask(`/partner/v1/bookings/${first.body.booking.id}`, quiet),
    ask('/partner/v1/bookings', quiet),
    ask('/partner/v1/bookings', noisy, stay('2031-02-01', '2031-02-02'), key),
    ask('/portal/v1/agencies/quiet/audit', TEST_PORTAL_TOKEN),
  ])
  await ready
  const stillHeldUp = await heldUp('lists')
  const doneBefore = done
  await holder.unsafe('commit').simple()
  expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 201, 200])
  expect(stillHeldUp).toBeLessThanOrEqual(LISTS_PER_AGENCY_MAX)

  const ended = await Promise.all(searches)
  expect(ended.map(({ status }) => status).filter((status) => status !== 200 && status !== 500)).toEqual([])
  expect((await ask('/partner/v1/guests?search=silva', noisy)).status).toBe(200)
  const busy = ended.filter(({ body }) => body.title === BUSY)
  // Those beyond the queue were refused at once; on a machine that stalled, some of the queue as well, or fewer, because others had ended.
  expect(busy.length).toBeGreaterThanOrEqual(40 - LISTS_PER_AGENCY_MAX - LISTS_WAITING_PER_AGENCY_MAX - doneBefore)
  for (const { status, headers, body } of busy) {
    expect([status, body.code]).toEqual([500, 'INTERNAL'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  const page = await scrape(service.baseUrl)
  expect(page.value('nightledger_database_statements_refused_total', { pool: 'lists' })).toBe(busy.length)
})

test('the readiness probe is answered while no look-up is', async () => {
  const key = await addAgency('third')
  await holder.unsafe('begin; lock table booking in access exclusive mode').simple()
  const reads = Array.from({ length: 40 }, () => ask(`/partner/v1/bookings/bkg_${'0'.repeat(32)}`, key))
  await eventually('every connection behind look-ups is held up', async () => (await heldUp('queries')) >= 8)
  await expectReady(service)
  expect(await heldUp('queries')).toBeGreaterThan(0)
  await holder.unsafe('commit').simple()
  await Promise.all(reads)
})
