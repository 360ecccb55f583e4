import { expect, test } from 'bun:test'
import { unanswered } from '../../../src/cluster/forward/entry-answers.ts'
import { HELD_MAX, HELD_OF_SHARD_MAX, HOLD_MS_MAX, Holding } from '../../../src/cluster/forward/holding.ts'
import { ShardOwners } from '../../../src/cluster/shard-owners.ts'
import { sleep } from '../../../src/lib/clock.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Its client stays. */
const ASKED = { shard: 1, client: new AbortController().signal }

function holdingOn(clock: FakeClock) {
  return new Holding({ changed: (_, ms) => sleep(clock, ms) }, clock)
}

test('a request waits for the hold time in all, however often it waits', async () => {
  const clock = new FakeClock()
  const holding = holdingOn(clock)
  const patience = holding.patience()
  for (let waited = 0; waited < HOLD_MS_MAX; waited += 1_000) {
    const outcome = holding.wait(ASKED, patience, 1_000)
    await clock.advance(1_000)
    expect(await outcome).toBe('waited')
  }
  expect(await holding.wait(ASKED, patience, 1_000)).toBe('no_owner')
  expect([holding.held, holding.heldEver]).toEqual([0, 1])
})

test('no more requests wait at the same time than there is room for', async () => {
  const clock = new FakeClock()
  const holding = holdingOn(clock)
  const ofShard = (shard: number) => holding.wait({ ...ASKED, shard }, holding.patience(), 500)
  const all = Array.from({ length: HELD_MAX }, (_, i) => ofShard(i % 4))
  expect(holding.held).toBe(HELD_MAX)
  expect(await ofShard(5)).toBe('full')
  await clock.advance(500)
  await Promise.all(all)
  expect(holding.held).toBe(0)
})

test('requests of one shard leave room for those of others, and for the database', async () => {
  const clock = new FakeClock()
  const holding = holdingOn(clock)
  const wait = (shard: number | null) => holding.wait({ ...ASKED, shard }, holding.patience(), 500)
  const all = Array.from({ length: HELD_OF_SHARD_MAX }, () => wait(1))
  expect(await wait(1)).toBe('full')
  const others = [wait(2), wait(null)]
  await clock.advance(500)
  expect(new Set(await Promise.all([...all, ...others]))).toEqual(new Set(['waited']))
  // All of its room is free again.
  const again = Array.from({ length: HELD_OF_SHARD_MAX }, () => wait(1))
  await clock.advance(500)
  expect(new Set(await Promise.all(again))).toEqual(new Set(['waited']))
})

test('a wait that is told of changes without end comes to an end', async () => {
  const holding = new Holding({ changed: async () => {} }, new FakeClock())
  const patience = holding.patience()
  let waits = 0
  while ((await holding.wait(ASKED, patience, HOLD_MS_MAX)) === 'waited') waits += 1
  expect(waits).toBe(HOLD_MS_MAX)
})

test.each([
  ['an owner', 1],
  ['the database', null],
])('a client that goes away while it waits for %s is not waited for, and its place is free', async (_, shard) => {
  const clock = new FakeClock()
  const owners = new ShardOwners({
    self: { id: 'a', url: 'http://a' },
    clock,
    isConfirmed: () => true,
    isServed: () => false,
    claimOf: () => null,
    addressOf: () => null,
    guess: () => null,
  })
  const holding = new Holding(owners, clock)
  const client = new AbortController()
  const waiting = Array.from({ length: HELD_OF_SHARD_MAX }, () =>
    holding.wait({ shard, client: client.signal }, holding.patience(), HOLD_MS_MAX),
  )
  client.abort()
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['no_owner']))
  expect([holding.held, clock.nextTimerIn]).toEqual([0, null])
  expect(await holding.wait({ shard, client: client.signal }, holding.patience(), HOLD_MS_MAX)).toBe('no_owner')
})

test.each([
  ['no_owner', /not handled/],
  ['full', /not handled/],
  ['database', /not handled/],
  ['refused', /not handled/],
  ['unknown', /may or may not/],
] as const)('%s is answered with 500 INTERNAL, when to retry, and what is known', async (why, title) => {
  const response = unanswered(why, 'req_1', new Request('http://localhost/'))
  expect(response.status).toBe(500)
  expect(response.headers.get('retry-after')).toBe('2')
  const body = (await response.json()) as Record<string, string>
  expect(body).toMatchObject({ code: 'INTERNAL', requestId: 'req_1' })
  expect(body['title']).toMatch(title)
})
