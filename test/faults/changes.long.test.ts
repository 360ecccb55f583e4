/** Streams of changes over the time that Bun leaves an idle connection open: one that has nothing to say, and one that nobody reads. */
import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { SERVE_OPTIONS } from '../../src/http/server/listener.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { LOAD_SECRET, Load, prepareForLoad } from '../support/load.ts'
import { testDatabase } from '../support/postgres.ts'
import { RandomChanges } from '../support/random-changes.ts'
import { scrape } from '../support/scrape.ts'
import { startServiceOn } from '../support/service-process.ts'

const database = await testDatabase()
await prepareForLoad(database.url)
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

/** Several megabytes, more than the sockets take in. */
const HISTORY = 10_000

test('a stream that its client does not read is cut off, and its place is free again', async () => {
  const service = await startServiceOn(database.url)
  const changes = new RandomChanges(() => service.baseUrl, new SeededRandom(1))
  const key = await changes.prepare()
  await changes.makeUpTo(HISTORY, { clients: 16 })
  const socket = connect({ port: Number(new URL(service.baseUrl).port), host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.pause()
  const head = `Host: here\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\n`
  socket.write(`GET /partner/v1/changes?after=start HTTP/1.1\r\n${head}\r\n`)
  const open = async () => (await scrape(service.baseUrl)).value('nightledger_feed_streams_open')
  await eventually('it is open', async () => (await open()) === 1)
  await eventually('it is cut off', async () => (await open()) === 0)
  socket.destroy()
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
})
