import { afterEach, beforeEach, expect, test } from 'bun:test'
import { openWebhookCommands } from '../../../src/app/open-webhooks.ts'
import { successLine } from '../../../src/core/bookings/durable-writes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { systemIds } from '../../../src/lib/ids.ts'
import { probeFence } from '../../../src/postgres/stores/audited-write.ts'
import { ListReads } from '../../../src/postgres/stores/list-reads.ts'
import { eventually } from '../../support/eventually.ts'
import { LOAD_AGENCY_IDS, Load, prepareForLoad } from '../../support/load.ts'
import { rounds } from '../../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER } from '../../support/samples.ts'
import { type ServiceProcess, startServiceOn, TEST_SECRET_KEY } from '../../support/service-process.ts'
import { type Receiver, startReceiver } from './support/receiver.ts'

/* Kills the real service and its sender. Receivers use plain http on loopback, which WEBHOOK_ALLOW_HOSTS permits. */

/** Each round kills at another moment after the answer. */
const COUNT = rounds({ push: 1, long: 3 })

let database: TestDatabase
let receiver: Receiver
let running: ServiceProcess | null

beforeEach(async () => {
  database = await testDatabase()
  await prepareForLoad(database.url)
  receiver = startReceiver(null)
  const { sql } = database
  // The service is not running, so every shard has the epoch of shard 0.
  const { epoch } = await probeFence(sql)
  const commands = openWebhookCommands(
    {
      sql,
      lists: new ListReads(sql),
      clock: systemClock,
      newId: systemIds,
      catalogue: { agencyById: () => null },
      epochOf: () => epoch,
    },
    { secretKey: Uint8Array.fromHex(TEST_SECRET_KEY), allowHosts: [`127.0.0.1:${receiver.port}`] },
  )
  for (const agencyId of LOAD_AGENCY_IDS) {
    const outcome = await commands.register(
      agencyId,
      { url: `http://127.0.0.1:${receiver.port}/in`, description: null },
      successLine({ clock: systemClock, newId: systemIds }, CALLER),
    )
    expect(outcome.kind).toBe('registered')
  }
})
afterEach(async () => {
  running?.kill('SIGKILL')
  await running?.exited
  await receiver.stop()
  await database.drop()
})

async function start(): Promise<ServiceProcess> {
  running = await startServiceOn(database.url, { WEBHOOK_ALLOW_HOSTS: `127.0.0.1:${receiver.port}` })
  return running
}

/** The process ids of the senders so far, in order. */
function senderPids(service: ServiceProcess): number[] {
  return service
    .log()
    .split('\n')
    .filter((line) => line.includes('"webhook sender up"'))
    .map((line) => JSON.parse(line).pid)
}

/** Events that no delivery has brought to the receiver yet. */
async function unfinished(): Promise<number> {
  const [row] = await database.sql<{ n: number }[]>`
    select (select count(*) from journal where is_announced and booking_id is not null)::int
         - (select count(*) from webhook_delivery where status = 'delivered')::int as n`
  return row?.n ?? 0
}

function timesReceived(): Map<string, number> {
  const times = new Map<string, number>()
  for (const { headers } of receiver.received) {
    const id = headers.get('webhook-id') ?? ''
    times.set(id, (times.get(id) ?? 0) + 1)
  }
  return times
}

test.each(['the sender', 'the service', 'both'] as const)(
  'kill -9 of %s after the receiver answered: the event arrives again at most once, with the same bytes',
  async (victim) => {
    const bodies = new Map<string, string>()
    for (let round = 0; round < COUNT; round++) {
      let service = await start()
      await eventually('the sender is up', () => senderPids(service).length === 1)
      const killed = Promise.withResolvers<void>()
      receiver.answer = () => {
        // The receiver has answered and nothing is recorded yet: the response is in transit when the process dies.
        setTimeout(() => {
          if (victim !== 'the service') kill(senderPids(service)[0])
          if (victim !== 'the sender') service.kill('SIGKILL')
          killed.resolve()
        }, round)
        receiver.answer = () => new Response(null, { status: 200 })
        return new Response(null, { status: 200 })
      }
      // The service may be killed before it can answer the booking. This test makes no claim about that.
      await new Load(() => service.baseUrl).book().catch(() => null)
      await killed.promise
      if (victim !== 'the sender') {
        await service.exited
        service = await start()
      } else await eventually('a new sender is up', () => senderPids(service).length === 2)
      await eventually('everything is delivered', async () => (await unfinished()) === 0)
      service.kill('SIGTERM')
      expect(await service.exited).toBe(0)
      running = null
    }
    const times = timesReceived()
    expect(times.size).toBe(COUNT)
    for (const [, count] of times) expect(count).toBeLessThanOrEqual(2)
    for (const { headers, body } of receiver.received) {
      const id = headers.get('webhook-id') ?? ''
      expect(bodies.get(id) ?? body).toBe(body)
      bodies.set(id, body)
    }
    // An interrupted attempt has no row; the attempt that finished has its number.
    const attempts = await database.sql`select attempt from webhook_attempt`
    expect(attempts.map(({ attempt }) => attempt)).toEqual(Array.from({ length: COUNT }, () => 1))
  },
)

test('kill -9 of service, sender or both under load: every change is delivered, and none more often than there were senders', async () => {
  let service = await start()
  const load = new Load(() => service.baseUrl)
  for (let round = 0; round < rounds({ push: 3, long: 6 }); round++) {
    const before = load.booked.size
    load.start(8)
    await Bun.sleep(400)
    await eventually('bookings are made', () => load.booked.size > before)
    const pid = senderPids(service).at(-1)
    if (round % 3 !== 0) kill(pid)
    if (round % 3 !== 1) service.kill('SIGKILL')
    await Bun.sleep(50)
    await load.stop()
    if (round % 3 !== 1) {
      await service.exited
      service = await start()
    }
  }
  await eventually('everything is delivered', async () => (await unfinished()) === 0, 60_000)
  const events = await database.sql<{ id: string }[]>`
    select 'evt_' || replace(entry_id::text, '-', '') as id from journal where is_announced and booking_id is not null`
  const times = timesReceived()
  const bodies = new Map<string, string>()
  for (const { headers, body } of receiver.received) {
    const id = headers.get('webhook-id') ?? ''
    expect(bodies.get(id) ?? body).toBe(body)
    bodies.set(id, body)
  }
  expect(load.booked.size).toBeGreaterThan(0)
  expect(events.length).toBeGreaterThanOrEqual(load.booked.size + load.cancelled.size)
  expect(events.filter(({ id }) => !times.has(id))).toEqual([])
  const deliveries = await database.sql`select from webhook_delivery`
  expect(deliveries.count).toBe(events.length)
  const [sum] = await database.sql<{ n: number }[]>`select sum(version)::int as n from booking`
  expect(events).toHaveLength(sum?.n ?? 0)
  const twice = [...times.values()].filter((count) => count > 1).length
  console.log(`${events.length} events, all delivered; ${twice} of them more than once after 6 kills`)
  // An attempt that a sender has not recorded is made again by the next one: at most once by each.
  expect(Math.max(...times.values())).toBeLessThanOrEqual(1 + 6)
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  running = null
})

test('a sender that ends is restarted, and drains with the service', async () => {
  const service = await start()
  await eventually('the sender is up', () => senderPids(service).length === 1)
  kill(senderPids(service)[0])
  await eventually('it is up again', () => senderPids(service).length === 2)
  expect(service.log()).toContain('"webhook sender ended"')
  const pid = senderPids(service)[1] ?? 0
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  running = null
  await eventually('the sender is gone', () => !isAlive(pid))
})

test('a sender exits on its own when its service is gone', async () => {
  const service = await start()
  await eventually('the sender is up', () => senderPids(service).length === 1)
  service.kill('SIGKILL')
  await service.exited
  running = null
  await eventually('the sender is gone', () => !isAlive(senderPids(service)[0] ?? 0))
})

/** Ignores a process that has not started yet or has ended. */
function kill(pid: number | undefined): void {
  if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGKILL')
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
