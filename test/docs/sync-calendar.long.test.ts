/** What the sample client of the partner guide does when it is refused, and while it begins. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { addNights, asNight, formatNight } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { Cursors } from '../../src/events/changes/cursor.ts'
import { eventually } from '../support/eventually.ts'
import { CALLER } from '../support/samples.ts'
import { copyAndOriginal, SyncClient } from '../support/sync-client.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
/** Between the client and the service. */
let front: Bun.Server<undefined>
/** Asked for each request: an answer of its own, or null to pass it on. */
let answer: (path: string) => Response | null | Promise<Response | null> = () => null
let agency: Agency
let key: string
let units: readonly Unit[]
let client: SyncClient

beforeAll(async () => {
  service = await startTestService()
  front = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // As the service: a stream on which nothing happens is not cut.
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const own = await answer(pathname.replace('/partner/v1', '') + search)
      if (own !== null) return own
      const { headers, signal } = request
      return fetch(service.url + pathname + search, { headers, signal })
    },
  })
})
afterAll(async () => {
  await front.stop(true)
  await service.close()
})
beforeEach(async () => {
  answer = () => null
  agency = await service.agency()
  key = (await service.key(agency)).secret
  units = [await service.unit(agency, { slug: 'sea-view' }), await service.unit(agency, { slug: 'garden' })]
  client = new SyncClient({ baseUrl: `http://127.0.0.1:${front.port}`, key })
})
afterEach(() => client.close())

/** An answer whose connection is lost after its first bytes. */
function cutOff(): Response {
  const first = new TextEncoder().encode('{"bookings":[')
  const pull = async (body: ReadableStreamDefaultController<Uint8Array>) => {
    await Bun.sleep(20)
    body.error(new Error('cut off by the test'))
  }
  return new Response(new ReadableStream({ start: (body) => body.enqueue(first), pull }))
}

/** In the future: the copy has no bookings that had ended when it began. */
const FIRST = asNight(Math.floor(Date.now() / 86_400_000) + 98)
/** The n-th of many stays that are all free. */
const stay = (n: number) => [formatNight(addNights(FIRST, 2 * n)), formatNight(addNights(FIRST, 2 * n + 1))] as const
const book = (n: number, unit = units[n % 2]) => {
  if (unit === undefined) throw new Error('No such unit')
  return service.book(agency, unit, ...stay(n))
}
async function expectEqual(): Promise<void> {
  const [copy, original] = await copyAndOriginal(client, service.url, key)
  expect(copy).toEqual(original)
}

test('it waits as long as Retry-After says, and tries again after 429, 500, 503 and lost connections', async () => {
  for (let n = 0; n < 5; n++) await book(n)
  const pending = new Map<string, number[]>()
  const answers = [
    () => new Response('{}', { status: 429, headers: { 'retry-after': '2' } }),
    () => new Response('{}', { status: 503, headers: { 'retry-after': '1' } }),
    () => new Response('{}', { status: 500 }),
    cutOff,
  ]
  answer = (path) => {
    const [name = ''] = path.split('?')
    const before = pending.get(name) ?? []
    pending.set(name, [...before, performance.now()])
    return answers[before.length]?.() ?? null
  }
  client.start()
  await expectEqual()
  await book(5)
  await expectEqual()
  expect([...pending.keys()].toSorted()).toEqual(['/bookings', '/calendar', '/changes'])
  for (const [first = 0, second = 0, third = 0] of pending.values()) {
    expect(second - first).toBeGreaterThanOrEqual(1_900)
    expect(third - second).toBeGreaterThanOrEqual(900)
  }
})

test('after 410 it begins again: what is not there any more is gone, and what it had missed is there', async () => {
  for (let n = 0; n < 3; n++) await book(n)
  client.start()
  await expectEqual()
  await client.stop()
  const ofAnotherHistory = new Cursors('99999999-9999-4999-8999-999999999999', agency.id, 'partner')
  client.withFile((db) => {
    const cursor = ofAnotherHistory.write({ seq: 1, fingerprint: '00'.repeat(8) })
    db.run('update position set cursor = ?', [cursor])
    db.run(`insert into booking select 'bkg_gone', unit, status, arrival, departure, body from booking limit 1`)
    db.run(`delete from booking where id in (select id from booking where id <> 'bkg_gone' limit 1)`)
  })
  client.start()
  await eventually('it has begun again', () =>
    client.withFile((db) => db.query(`select 1 from booking where id = 'bkg_gone'`).all().length === 0),
  )
  await expectEqual()
  await book(3)
  await expectEqual()
})

test('it misses no booking when others are moved between the pages of its first read', async () => {
  const made: string[] = []
  for (let n = 0; n < 420; n++) made.push((await book(n)).id)
  let reads = 0
  answer = async (path) => {
    // After the first page and after the second, the booking with the latest arrival goes to the end of the list.
    if (path.startsWith('/bookings') && ++reads > 1 && reads < 4) {
      const bookingId = made.at(1 - reads) ?? ''
      const arrival = addNights(FIRST, -2 * reads)
      const change = { arrival, departure: addNights(arrival, 1) }
      expect(await service.ledger.commands.change(agency, { bookingId, change }, CALLER)).toMatchObject({
        kind: 'done',
      })
    }
    return null
  }
  client.start()
  await expectEqual()
  expect(reads).toBeGreaterThanOrEqual(3)
})

test('it reads days on which more than a page arrive', async () => {
  for (let n = 0; n < 230; n++) {
    const unit = await service.unit(agency, { slug: `unit-${n}` })
    await book(0, unit)
    if (n % 10 === 0) await book(1, unit)
  }
  client.start()
  await expectEqual()
})

/** Records the paths that the client requests from now on. */
function asked(): string[] {
  const paths: string[] = []
  answer = (path) => {
    paths.push(path)
    return null
  }
  return paths
}
const of = (slug: string) => `/agencies/${agency.slug}/units/${slug}`
async function setRates(from: string, to: string): Promise<void> {
  const seasons = [{ name: 'Season', from, to, nightlyPrice: 77 }]
  expect((await service.put(`${of('sea-view')}/rates`, { seasons })).status).toBe(200)
}

test('a change of rates or of a booking costs one request for its units; one outside the copied dates costs none', async () => {
  client.start()
  await expectEqual()
  await Bun.sleep(2_000)
  const paths = asked()
  await setRates('2099-01-01', '2099-02-01')
  await Bun.sleep(2_000)
  expect(paths).toEqual([])
  const [from, to] = stay(0)
  await setRates(from, to)
  await expectEqual()
  expect(paths).toEqual([expect.stringMatching(/^\/calendar\?.*&units=sea-view&page=1$/)])
  await Bun.sleep(2_000)
  paths.length = 0
  await book(0)
  await expectEqual()
  expect(paths).toEqual([expect.stringMatching(/&units=sea-view&page=1$/)])
})

test('a unit that is added, gets a new slug or is archived is the same in the copy as in the calendar', async () => {
  client.start()
  await expectEqual()
  await service.unit(agency, { slug: 'new-unit' })
  await expectUnits('garden', 'new-unit', 'sea-view')
  await service.patch(of('new-unit'), { slug: 'renamed' })
  await expectUnits('garden', 'renamed', 'sea-view')
  await service.patch(of('garden'), { status: 'archived' })
  await expectUnits('renamed', 'sea-view')
  await book(0)
  await expectEqual()
})

async function expectUnits(...slugs: string[]): Promise<void> {
  await eventually('it has these units', () => Bun.deepEquals(Object.keys(client.copied.calendar).toSorted(), slugs))
  await expectEqual()
}

test('a copy of 1,000 units needs fewer than 1,000 requests in 30 days when nothing changes', async () => {
  for (let n = units.length; n < 1_000; n++) await service.unit(agency, { slug: `unit-${n}` })
  client.start()
  await expectEqual()
  await Bun.sleep(2_000)
  const paths = asked()
  await Bun.sleep(5_000)
  expect(paths).toEqual([])
  // As after a day.
  await client.stop()
  client.start()
  await eventually('it has read all calendars', () => paths.filter((path) => path.startsWith('/calendar')).length >= 5)
  await Bun.sleep(2_000)
  const aDay = paths.filter((path) => path.startsWith('/calendar')).length
  expect(paths.length).toBe(aDay + 1)
  const streamsConnectedAgainEveryHour = 24
  expect(30 * (aDay + streamsConnectedAgainEveryHour)).toBeLessThan(1_000)
  await expectEqual()
})

test('a key that is revoked ends it with code 1 and the reason', async () => {
  const made = await service.key(agency)
  const revoked = new SyncClient({ baseUrl: service.url, key: made.secret })
  revoked.start()
  await eventually('it follows', () => service.ledger.changes.stats.waiting.streams > 0)
  service.ledger.catalogue.putKey({ ...made.key, revokedAt: Date.now() })
  expect(await revoked.ended()).toEqual({
    code: 1,
    said: expect.stringMatching(/Cannot continue: .* \(UNAUTHORIZED\)/),
  })
  await revoked.close()
})

test('a file of another agency ends it with code 1 and the reason, and is left as it is', async () => {
  client.start()
  await expectEqual()
  await client.stop()
  const stored = client.position
  const other = await service.key(await service.agency())
  const stranger = new SyncClient({ baseUrl: service.url, key: other.secret, file: client.file })
  stranger.start()
  expect(await stranger.ended()).toEqual({
    code: 1,
    said: expect.stringMatching(/Cannot continue: .* \(VALIDATION\)/),
  })
  await stranger.close()
  expect(client.position).toEqual(stored)
})
