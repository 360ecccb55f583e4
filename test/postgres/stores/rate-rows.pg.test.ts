import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { RateLimiter } from '../../../src/accounts/rate-limit.ts'
import type { RateSlot, RateSlotsToKeep } from '../../../src/accounts/rate-slots.ts'
import { ANY_SHARD, admittedRequests } from '../../../src/accounts/rate-slots.ts'
import type { Ledger } from '../../../src/app/ledger.ts'
import { PostgresRateRows } from '../../../src/postgres/stores/postgres-rate-rows.ts'
import { PostgresUsageRows } from '../../../src/postgres/stores/postgres-usage-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { sampleId } from '../../support/samples.ts'

const KEY_A = sampleId('key', 'a')
const KEY_B = sampleId('key', 'b')
const KEY_Z = sampleId('key', 'z')

let database: TestDatabase
let ledger: Ledger & { reports: { fenced: unknown[] } }
let rows: PostgresRateRows

beforeEach(async () => {
  database = await testDatabase()
  ledger = await openTestDatabaseLedger(database.url)
  rows = new PostgresRateRows(ledger.sql)
})

afterEach(async () => {
  await ledger.close()
  await database.drop()
})

function slot(number: number, counts: Record<string, number>, change: Partial<RateSlot> = {}): RateSlot {
  const total = Object.values(counts).reduce((sum, n) => sum + n, 0)
  return { slot: number, shard: ANY_SHARD, ageMs: 0, wallMs: 0, bootId: null, bootMs: null, total, counts, ...change }
}

function keep(
  slots: RateSlot[],
  change: Partial<RateSlotsToKeep> = {},
  { epoch = ledger.epoch, term = ledger.epoch } = {},
): Promise<void> {
  return rows.keep({ epoch, term }, { slots, keepFrom: 0, dropEarlier: false, ...change })
}

const counts = async () => (await rows.load()).map((stored) => stored.counts)

test('what was kept is read again, with its age by the clock of the database', async () => {
  await keep([slot(7, { [KEY_A]: 3, [KEY_B]: 1 }, { ageMs: 20_000, wallMs: 5, bootId: 'boot', bootMs: 6.5 })])
  const [stored] = await rows.load()
  expect(stored).toMatchObject({ wallMs: 5, bootId: 'boot', bootMs: 6.5, counts: { [KEY_A]: 3, [KEY_B]: 1 } })
  expect(stored?.ageMs).toBeGreaterThanOrEqual(20_000)
  expect(stored?.ageMs).toBeLessThan(60_000)
})

test('a slot only grows: an older send that comes late takes nothing back', async () => {
  await keep([slot(1, { [KEY_A]: 5 })])
  await keep([slot(1, { [KEY_A]: 2 })])
  expect(await counts()).toEqual([{ [KEY_A]: 5 }])
  await keep([slot(1, { [KEY_A]: 6 })])
  expect(await counts()).toEqual([{ [KEY_A]: 6 }])
})

test('slots of a minute ago are deleted by the next write; those of earlier writers once they are as old', async () => {
  await keep([slot(1, { [KEY_A]: 1 })])
  await ledger.sql`
    insert into rate_slot (term, slot, ended_at, wall_ms, total, counts)
    values (0, 900, now(), 0, 1, ${`{"${KEY_Z}":1}`})`
  await keep([slot(130, { [KEY_A]: 2 })], { keepFrom: 9 })
  expect((await counts()).map((of) => Object.keys(of)[0]).sort()).toEqual([KEY_A, KEY_Z])
  await keep([slot(131, { [KEY_A]: 3 })], { keepFrom: 10, dropEarlier: true })
  expect(await counts()).toEqual([{ [KEY_A]: 2 }, { [KEY_A]: 3 }])
})

test('slots outlive a rise of their own writer’s epoch: only those of earlier writers are dropped', async () => {
  const term = ledger.epoch
  await keep([slot(1, { [KEY_A]: 4 })], {}, { term })
  await ledger.sql`
    select renew_epochs('{0}'::smallint[], array[${term}::text::bigint], ${Bun.randomUUIDv7()}::text::uuid)`
  await keep([slot(2, { [KEY_A]: 1 })], { dropEarlier: true }, { epoch: term + 1, term })
  expect((await rows.load()).map(({ counts }) => counts)).toEqual([{ [KEY_A]: 4 }, { [KEY_A]: 1 }])
})

test('the write of a replaced writer is refused, and ends it', async () => {
  ledger.access.admit(null)
  await keep([slot(1, { [KEY_A]: 1 })])
  await ledger.sql`select take_over('another')`
  const codeOf = (write: Promise<void>) =>
    write.then(
      () => 'written',
      (error: { code: string }) => error.code,
    )
  expect(await codeOf(keep([slot(2, { [KEY_A]: 9 })]))).toBe('NL001')
  const total = { agencyId: sampleId('agc', 'a'), month: '2027-03', used: 1 }
  expect(await codeOf(new PostgresUsageRows(ledger.sql).keep(ledger.epochOf, [total]))).toBe('NL001')
  expect(await counts()).toEqual([{ [KEY_A]: 1 }])

  ledger.usage.take(sampleId('agc', 'a'), 10)
  expect(await codeOf(ledger.usage.flush())).toBe('NL001')
  await eventually('the process learns of the fence', () => ledger.reports.fenced.length === 1)
})

test('a limiter that starts from it refuses what the one before would have refused', async () => {
  const clock = new FakeClock()
  await keep([slot(1, { [KEY_A]: 58 }, { ageMs: 10_000, wallMs: clock.now() - 10_000 })])
  const limiter = new RateLimiter(clock)
  limiter.restore(admittedRequests(await rows.load(), { wallMs: clock.now(), boot: null }))
  expect([1, 2, 3].map(() => limiter.take(KEY_A, 60).allowed)).toEqual([true, true, false])
  const decision = limiter.take(KEY_A, 60)
  expect(decision).toMatchObject({ remaining: 0, retryAfterS: 50 })
  expect(limiter.take(KEY_B, 60).remaining).toBe(59)
})

describe('of several nodes', () => {
  const keepOfNode = (term: number, slots: RateSlot[], keepFrom = 0) =>
    rows.keepOfNode(term, { slots, keepFrom, dropEarlier: false })
  const countsOf = async (shards: readonly number[]) =>
    (await rows.loadOf(shards))
      .map((stored) => stored.counts)
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

  test('the requests of a shard are read with it, and those of others are not; those of a process that had all always are', async () => {
    const term = await rows.newNodeTerm()
    await keepOfNode(term, [slot(1, { [KEY_A]: 3 }, { shard: 7 }), slot(1, { [KEY_B]: 1 }, { shard: 8 })])
    expect(await countsOf([7])).toEqual([{ [KEY_A]: 3 }])
    expect(await countsOf([9])).toEqual([])
    expect(await counts()).toHaveLength(2)
    await keep([slot(1, { [KEY_Z]: 2 })])
    expect(await countsOf([8])).toEqual([{ [KEY_B]: 1 }, { [KEY_Z]: 2 }])
  })

  test('each part of a slot only grows', async () => {
    const term = await rows.newNodeTerm()
    await keepOfNode(term, [slot(1, { [KEY_A]: 3 }, { shard: 7 }), slot(1, { [KEY_B]: 5 }, { shard: 8 })])
    await keepOfNode(term, [slot(1, { [KEY_A]: 4 }, { shard: 7 }), slot(1, { [KEY_B]: 2 }, { shard: 8 })])
    expect([await countsOf([7]), await countsOf([8])]).toEqual([[{ [KEY_A]: 4 }], [{ [KEY_B]: 5 }]])
  })

  test('what is a minute old is deleted, and after ten minutes what a node that is gone has left of the shards in use', async () => {
    const [gone, here] = [await rows.newNodeTerm(), await rows.newNodeTerm()]
    const old = { ageMs: 11 * 60_000 }
    await keepOfNode(gone, [slot(1, { [KEY_A]: 1 }, { ...old, shard: 7 }), slot(2, { [KEY_A]: 2 }, { shard: 7 })])
    await keepOfNode(here, [slot(1, { [KEY_A]: 3 }, { shard: 7 })])
    expect(await countsOf([7])).toEqual([{ [KEY_A]: 2 }, { [KEY_A]: 3 }])
    await keepOfNode(here, [slot(130, { [KEY_A]: 4 }, { shard: 7 })], 9)
    expect(await countsOf([7])).toEqual([{ [KEY_A]: 2 }, { [KEY_A]: 4 }])
  })
})

test('a node deletes what earlier senders left of its shards ten minutes ago, and nothing of its own', async () => {
  const [term, earlier, shard] = [40, 39, 7]
  const store = (of: number, number: number, ended: string, inShard = shard) => ledger.sql`
    insert into rate_slot (term, slot, shard, ended_at, wall_ms, total, counts)
    values (${of}, ${number}, ${inShard}, now() - ${ended}::text::interval, 0, 1, ${`{"${KEY_Z}":1}`})`
  await store(term, 1, '11 minutes')
  await store(earlier, 2, '11 minutes')
  await store(earlier, 3, '9 minutes')
  await store(earlier, 4, '11 minutes', shard + 1)
  await rows.keepOfNode(term, { slots: [slot(5, { [KEY_A]: 1 }, { shard })], keepFrom: 0, dropEarlier: false })
  const left = await ledger.sql<{ slot: number }[]>`select slot::int from rate_slot order by slot`
  expect(left.map(({ slot: number }) => number)).toEqual([1, 3, 4, 5])
})
