/** Streams of changes over the time that Bun leaves an idle connection open. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SERVE_OPTIONS } from '../../src/api/server/serve-options.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { LOAD_SECRET, Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { startServiceOn } from '../support/service-process.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
  await prepareForLoad(database.url)
})
afterAll(() => database.drop())

test('a stream without changes outlives the idle timeout of connections, and then shows the next change', async () => {
  const service = await startServiceOn(database.url)
  const load = new Load(() => service.baseUrl)
  const stream = await openStream(`${service.baseUrl}/partner/v1/changes`, { authorization: `Bearer ${LOAD_SECRET}` })
  let hasEnded = false
  void stream.ended.then(() => {
    hasEnded = true
  })
  await Bun.sleep((SERVE_OPTIONS.idleTimeout + 12) * 1_000)
  expect(hasEnded).toBe(false)
  // One at the beginning, and one every 15 seconds.
  expect(stream.comments.length).toBeGreaterThanOrEqual(3)
  expect(stream.events).toEqual([])
  const stay = { unit: 'unit-0', arrival: '2027-03-01', departure: '2027-03-03' }
  const { booking } = (await (await load.post('/bookings', stay)).json()) as { booking: { id: string } }
  await eventually('the change is shown', () => stream.events.length === 1)
  expect(JSON.parse(stream.events[0]?.data ?? '').data.id).toBe(booking.id)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})
