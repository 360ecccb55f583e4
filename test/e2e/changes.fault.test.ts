/** The feed over the ends of processes: a drain, kills, take-overs. */
import { afterAll, expect, test } from 'bun:test'
import { uuidOf } from '../../src/lib/ids.ts'
import { ChangeFollower } from '../support/change-followers.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { LOAD_AGENCY_IDS, LOAD_SECRET, Load, prepareForLoad } from '../support/load.ts'
import { rounds } from '../support/long-run.ts'
import { testDatabase } from '../support/postgres.ts'
import { type ServiceProcess, startServiceOn } from '../support/service-process.ts'

const database = await testDatabase()
await prepareForLoad(database.url)
afterAll(() => database.drop())

const waitingAt = async ({ baseUrl }: ServiceProcess) => {
  const page = await (await fetch(`${baseUrl}/metrics`)).text()
  const samples = [...page.matchAll(/^nightledger_feed_(?:requests_waiting|streams_open) (\d+)$/gm)]
  return samples.reduce((sum, [, value]) => sum + Number(value), 0)
}

test('on SIGTERM waiting requests end at once, empty, and streams end; the process exits with code 0', async () => {
  const service = await startServiceOn(database.url)
  const token = LOAD_SECRET
  const ask = (query: string) => service.ask(`/partner/v1/changes?${query}`, { token })
  const { cursor } = (await ask('')).body
  const polls = Array.from({ length: 10 }, () => ask(`after=${cursor}&wait=20`))
  const address = `${service.baseUrl}/partner/v1/changes`
  const streams = [
    await openStream(address, { authorization: `Bearer ${token}` }),
    await openStream(address, { authorization: `Bearer ${token}` }),
  ]
  await eventually('all wait', async () => (await waitingAt(service)) === 12)
  const since = performance.now()
  service.kill('SIGTERM')
  for (const poll of await Promise.all(polls))
    expect(poll).toMatchObject({ status: 200, body: { changes: [], hasMore: false } })
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(['complete', 'complete'])
  expect(streams.map(({ events }) => events)).toEqual([[], []])
  expect(await service.exited).toBe(0)
  // They would have waited for 20 s, and the drain at most 6.
  expect(service.log()).not.toContain('cut off')
  console.log(`ended after ${(performance.now() - since).toFixed(0)} ms`)
})

const ROUNDS = rounds({ push: 2, long: 6 })
const CLIENTS = 16
const LOAD_MS = 400

test(`kill -9 and take-overs under load, ${ROUNDS} of each: followers see every change once, in order, and every cursor continues after its change`, async () => {
  let service = await startServiceOn(database.url)
  const load = new Load(() => service.baseUrl)
  const followers = (['poll', 'poll', 'stream', 'stream'] as const).map((how) => {
    const follower = new ChangeFollower(() => service.baseUrl, LOAD_SECRET)
    follower.start(how)
    return follower
  })
  for (let round = 0; round < 2 * ROUNDS; round++) {
    const before = load.booked.size
    load.start(CLIENTS)
    await Bun.sleep(LOAD_MS)
    await eventually('bookings are being made', () => load.booked.size > before)
    const last = service
    if (round % 2 === 0) {
      last.kill('SIGKILL')
      await last.exited
      service = await startServiceOn(database.url)
    } else {
      // The previous writer learns of its end by its next write.
      service = await startServiceOn(database.url, {}, { takesOver: true })
      await eventually('bookings are being made', () => load.booked.size > before + 5)
      last.kill('SIGTERM')
      await last.exited
    }
    await load.stop()
  }
  const announced = await database.sql<{ seq: number }[]>`
    select seq::float8 as seq from journal
    where agency_id = ${uuidOf(LOAD_AGENCY_IDS[0] ?? '')} and is_announced and booking_id is not null order by seq`
  const seqs = announced.map(({ seq }) => seq)
  for (const follower of followers) {
    await eventually('a follower has caught up', () => (follower.shown.at(-1)?.seq ?? 0) >= (seqs.at(-1) ?? 0))
    await follower.stop()
    expect(follower.faults).toEqual([])
    expect(follower.shown.map(({ seq }) => seq)).toEqual(seqs)
    expect(follower.interruptions).toBeGreaterThanOrEqual(ROUNDS)
  }
  const [shown = []] = followers.map((follower) => follower.shown)
  for (const [i, { cursor }] of shown.entries()) {
    const { status, body } = await service.ask(`/partner/v1/changes?after=${cursor}&limit=1`, { token: LOAD_SECRET })
    expect([status, body.changes?.[0]?.seq ?? null]).toEqual([200, seqs[i + 1] ?? null])
  }
  expect(followers.map((follower) => follower.shown)).toEqual(followers.map(() => shown))
  service.kill('SIGTERM')
  expect(await service.exited).toBe(0)
  console.log(`${seqs.length} changes, each seen by ${followers.length} followers`)
}, 240_000)
