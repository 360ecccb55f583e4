import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { eventually } from '../support/eventually.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { Load, prepareForLoad } from '../support/load.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

let postgres: FaultPostgres
let service: ServiceProcess
let sql: Sql

beforeEach(async () => {
  postgres = await FaultPostgres.start()
  await prepareForLoad(postgres.url)
  service = await startServiceOn(postgres.url)
  sql = postgres.direct()
})
afterEach(async () => {
  service.kill('SIGKILL')
  await sql.end({ timeout: 0 })
  await postgres.stop()
})

test('J5: a fenced process that looks for a batch in doubt serves nothing from its memory meanwhile', async () => {
  const load = new Load(() => service.baseUrl)
  await load.book()
  const calendar = () => load.get('/availability?unit=unit-1&from=2035-01-01&to=2035-02-01')
  expect((await calendar()).status).toBe(200)

  // The batch commits, its reply is lost, and nothing can be sent again until another writer has the fence.
  const port = postgres.proxy.target
  postgres.proxy.losesReplyTo = 'in doubt'
  const body = { unit: 'unit-1', arrival: '2035-01-05', departure: '2035-01-06', sourceRef: 'in doubt' }
  const write = load.post('/bookings', body)
  await eventually('the reply is lost', () => {
    if (postgres.proxy.lost === 0) return false
    postgres.proxy.target = 1
    return true
  })
  postgres.proxy.cutAll()
  await sql`update shard set epoch = epoch + 1, holder = 'the new writer'`
  // The look-up of the batch has to wait.
  const locker = postgres.direct()
  await locker.unsafe('begin; lock table journal in access exclusive mode')
  postgres.proxy.target = port

  await eventually('it has found the fence', () => service.log().includes('fenced by another writer'))
  const read = await calendar()
  expect([read.status, await read.json()]).toMatchObject([500, { code: 'INTERNAL' }])
  expect(read.headers.get('retry-after')).toBe('1')
  const ready = await fetch(`${service.baseUrl}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([503, { faults: ['fence: another writer has taken over'] }])

  await locker.unsafe('commit')

  // It had been written: its caller learns that before the process ends, or, if the look-up takes too long, that the outcome is unknown.
  const answer = await write
  const { title = '' } = (await answer.json()) as { title?: string }
  expect(answer.status === 201 || title.startsWith('The change may or may not have been made')).toBe(true)
  expect(await service.exited).toBe(1)
  expect(service.log()).not.toContain('after-restore')
  await locker.end({ timeout: 1 })
})

test('S3: a process whose database has lost entries says what to run, refuses the write, and stops', async () => {
  const load = new Load(() => service.baseUrl)
  // In the shard that is written to again: nothing shows the loss in any other.
  const lost = { unit: 'unit-1', arrival: '2035-02-05', departure: '2035-02-06' }
  expect((await load.post('/bookings', lost)).status).toBe(201)
  // As by a fail-over to an asynchronous standby.
  await sql`with lost as (delete from booking returning booking_id)
            delete from journal using lost where journal.booking_id = lost.booking_id`
  const body = { unit: 'unit-1', arrival: '2035-01-05', departure: '2035-01-06' }
  expect((await load.post('/bookings', body)).status).toBe(500)
  expect(await service.exited).toBe(1)
  expect(service.log()).toContain('the database has lost entries: stop every process and run nightledger after-restore')
  expect(await sql`select from booking where arrival = '2035-01-05'`).toHaveLength(0)
})
