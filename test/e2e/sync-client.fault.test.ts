/** The sample client of the partner guide (docs/partner-guide.md#keep-a-copy-of-the-calendar-in-sync) over the ends of processes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { eventually } from '../support/eventually.ts'
import { rounds } from '../support/long-run.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { RandomChanges } from '../support/random-changes.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'
import { byId, copyAndOriginal, SyncClient } from '../support/sync-client.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'

const CHANGES = rounds({ push: 800, long: 10_000 })
const CLIENTS = 16
const SEED = Number(process.env['SYNC_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

let database: TestDatabase
let service: ServiceProcess
let proxy: TcpProxy
let client: SyncClient
let key: string
const changes = new RandomChanges(() => service.baseUrl, new SeededRandom(SEED))
/** What the client had stored when it was ended. */
const positions: SyncClient['position'][] = []

const portOf = ({ baseUrl }: ServiceProcess) => Number(new URL(baseUrl).port)
beforeAll(async () => {
  database = await testDatabase()
  service = await startServiceOn(database.url)
  key = await changes.prepare()
  proxy = await TcpProxy.start(portOf(service))
  client = new SyncClient({ baseUrl: `http://127.0.0.1:${proxy.port}`, key })
  console.log(`SYNC_SEED=${SEED}`)
})
afterAll(async () => {
  await client.close()
  proxy.stop()
  service.kill('SIGTERM')
  await service.exited
  await database.drop()
})

async function endService(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  service.kill(signal)
  await service.exited
  service = await startServiceOn(database.url)
  proxy.target = portOf(service)
}

async function endClient(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  await client.stop(signal)
  positions.push(client.position)
  client.start()
}

async function takeOver(): Promise<void> {
  const previous = service
  service = await startServiceOn(database.url, {}, { takesOver: true })
  proxy.target = portOf(service)
  previous.kill('SIGTERM')
  await previous.exited
}

async function beginAgain(): Promise<void> {
  await client.stop('SIGKILL')
  client.forget()
  client.start()
}

const INTERRUPTIONS: (() => Promise<unknown>)[] = [
  () => endClient('SIGKILL'),
  () => endService('SIGKILL'),
  () => endClient('SIGTERM'),
  () => endService('SIGTERM'),
  () => endClient('SIGKILL'),
  takeOver,
  async () => proxy.cutAll(),
  () => Promise.all([endService('SIGKILL'), endClient('SIGKILL')]),
  () => Promise.all([endService('SIGTERM'), endClient('SIGTERM')]),
  beginAgain,
]

async function expectEqual(): Promise<void> {
  const [copy, original] = await copyAndOriginal(client, service.baseUrl, key)
  expect(copy).toEqual(original)
}

test(`the copy stays equal to the service through ${CHANGES} random changes, with restarts and kills of both`, async () => {
  const perRound = CHANGES / INTERRUPTIONS.length
  // There is something to begin with.
  await changes.makeUpTo(300, { clients: CLIENTS })
  client.start()
  await expectEqual()
  for (const [i, interrupt] of INTERRUPTIONS.entries()) {
    const upTo = (i + 1) * perRound
    const changing = changes.makeUpTo(upTo, { clients: CLIENTS })
    await eventually('half of the changes are made', () => changes.count >= upTo - perRound / 2)
    await interrupt()
    await changing
    await expectEqual()
  }
  expect(changes.count).toBeGreaterThanOrEqual(CHANGES)
  expect(Math.min(changes.made.prices, Object.keys(client.copied.bookings).length)).toBeGreaterThan(CHANGES / 100)
}, 600_000)

test('whenever the client was ended, its bookings were exactly those of the changes up to its cursor', async () => {
  const shown: { seq: number; data: Record<string, unknown> }[] = []
  const ask = async (query: string) =>
    (await service.ask(`/partner/v1/changes?${query}`, { token: key })).body as {
      changes: typeof shown
      cursor: string
      hasMore: boolean
    }
  for (let [after, hasMore] = ['start', true]; hasMore; ) {
    const page = await ask(`after=${after}&limit=500`)
    shown.push(...page.changes)
    after = page.cursor
    hasMore = page.hasMore
  }
  // Some were made whose answer was lost.
  expect(shown.length).toBeGreaterThanOrEqual(changes.made.bookings)
  expect(positions.length).toBeGreaterThanOrEqual(5)
  for (const { cursor, bookings } of positions) {
    const next = (await ask(`after=${cursor}&limit=1`)).changes[0]?.seq ?? Number.POSITIVE_INFINITY
    const before = shown.filter(({ seq }) => seq < next).map(({ data }) => data)
    expect(bookings).toEqual(byId(before))
  }
})
