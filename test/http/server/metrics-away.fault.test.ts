/** Metrics while the database is away: they are still served, and say so. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eventually } from '../../support/eventually.ts'
import { heartbeatAnswered } from '../../support/heartbeat-answered.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { scrape } from '../../support/scrape.ts'
import { type ServiceProcess, startServiceOn } from '../../support/service-process.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let service: ServiceProcess
beforeAll(async () => {
  database = await testDatabase()
  const url = new URL(database.url)
  proxy = await TcpProxy.start(Number(url.port))
  url.port = String(proxy.port)
  // Long enough for what is made while the database is there, however busy the machine.
  service = await startServiceOn(url.href, { HELD_MS_MAX: '3000' })
})
afterAll(async () => {
  service.kill('SIGKILL')
  await service.exited
  proxy.stop()
  await database.drop()
})

test('database_up is 0, what only the database knows is missing, and a write that could not wait any longer is counted', async () => {
  await service.portal('/agencies', { slug: 'harbour', name: 'Harbour', currency: 'EUR', timezone: 'Europe/Lisbon' })
  await service.portal('/agencies/harbour/units', { slug: 'sea-view', name: 'Sea View', basePrice: 10_000 })
  expect((await scrape(service.baseUrl)).value('nightledger_database_up')).toBe(1)
  await heartbeatAnswered(database.sql)
  proxy.stop()
  // The service has met the lost connections: a write that was on one of them would wait for its outcome.
  await eventually(
    'the database is away',
    async () => (await scrape(service.baseUrl)).value('nightledger_database_up') === 0,
  )
  const stay = { unit: 'sea-view', arrival: '2027-05-01', departure: '2027-05-04', type: 'block' }
  const refused = service.portal('/agencies/harbour/bookings', stay)
  const away = await scrape(service.baseUrl)
  expect(away.value('nightledger_database_up')).toBe(0)
  for (const unknown of [
    'nightledger_fence_epoch',
    'nightledger_webhook_deliveries_pending',
    'nightledger_webhook_oldest_due_seconds',
  ])
    expect(away.samplesOf(unknown)).toEqual([])
  expect(away.value('nightledger_writer_epoch')).toBe(1)
  expect((await refused).status).toBe(500)
  const after = await scrape(service.baseUrl)
  expect(after.value('nightledger_journal_records_refused_total', { reason: 'held_too_long' })).toBeGreaterThanOrEqual(
    1,
  )
  expect(after.value('nightledger_journal_batches_resent_total')).toBeGreaterThan(0)
  const bookings = { surface: 'portal', method: 'POST', route: '/portal/v1/agencies/{agencySlug}/bookings' }
  expect(after.value('nightledger_http_requests_total', { ...bookings, status: '500' })).toBe(1)
})

test('at level info there is no line per request, and one for the request that failed, with its id', async () => {
  const lines = () =>
    service
      .log()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  await eventually('the failure is logged', () => lines().some(({ msg }) => msg === 'request failed'))
  expect(lines().filter(({ msg }) => msg === 'request answered')).toEqual([])
  expect(lines().find(({ msg }) => msg === 'request failed')).toMatchObject({
    requestId: expect.stringMatching(/^req_/),
    route: 'POST /portal/v1/agencies/{agencySlug}/bookings',
  })
})
