import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { ShardEpoch } from '../../../src/core/journal/journal-store.ts'
import { SenderReplacedError } from '../../../src/events/webhooks/sender-store.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { PostgresSenderStore } from '../../../src/postgres/stores/postgres-sender-store.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'

/* What the senders of several nodes lock, and in which order. */

let database: TestDatabase
let stores: PostgresSenderStore[]
let others: Sql[]

beforeEach(async () => {
  database = await testDatabase()
  stores = Array.from({ length: 3 }, () => new PostgresSenderStore(database.url))
  others = []
})
afterEach(async () => {
  await Promise.all([...stores.map((store) => store.close()), ...others.map((sql) => sql.end({ timeout: 1 }))])
  await database.drop()
})

const of = (...shards: readonly number[]): ShardEpoch[] => shards.map((shard) => ({ shard, epoch: 0 }))

/** Holds the row of a shard as a claim does, until it is told to end. */
async function claimHolding(shard: number): Promise<() => Promise<void>> {
  const sql = connect(database.url, { purpose: 'admin' })
  others.push(sql)
  await sql.unsafe(`begin; select from sending where shard = ${shard} for share`)
  return async () => void (await sql.unsafe('commit'))
}

async function waiting(count: number): Promise<void> {
  for (;;) {
    const [row] = await database.sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    if (row?.waiting === count) return
    await Bun.sleep(10)
  }
}

test('two nodes that swap shards at the same time wait for each other, and neither is refused', async () => {
  const [one, two, three] = stores as [PostgresSenderStore, PostgresSenderStore, PostgresSenderStore]
  const [first, second, third] = [await one.join(), await two.join(), await three.join()]
  await one.sendFor(first, of(3))
  await two.sendFor(second, of(5))
  await three.sendFor(third, of(8, 9))
  // Both have begun when they wait for it, and each needs what the other has.
  const ends = [await claimHolding(8), await claimHolding(9)]
  const swaps = [one.sendFor(first, of(5, 8)), two.sendFor(second, of(3, 9))]
  await waiting(2)
  for (const end of ends) await end()
  expect(await Promise.all(swaps)).toEqual([
    [5, 8],
    [3, 9],
  ])
})

test('what stays as it is waits for no claim', async () => {
  const [one] = stores as [PostgresSenderStore, PostgresSenderStore]
  const term = await one.join()
  await one.sendFor(term, of(3, 4))
  const end = await claimHolding(3)
  expect(await one.sendFor(term, of(3, 4, 5))).toEqual([3, 4, 5])
  await end()
})

test('a shard that another node’s claim holds is not waited for by one that asks for others', async () => {
  const [one, two] = stores as [PostgresSenderStore, PostgresSenderStore]
  const [first, second] = [await one.join(), await two.join()]
  await one.sendFor(first, of(3, 4))
  const end = await claimHolding(3)
  expect(await two.sendFor(second, of(4, 5))).toEqual([4, 5])
  expect(await two.sendFor(second, of(4))).toEqual([4])
  await end()
})

test('a shard of an epoch that is not the node’s is left to whose it is, claims included', async () => {
  const [one, two] = stores as [PostgresSenderStore, PostgresSenderStore]
  const [first, second] = [await one.join(), await two.join()]
  await one.sendFor(first, of(3))
  const end = await claimHolding(3)
  expect(await two.sendFor(second, [{ shard: 3, epoch: 7 }])).toEqual([])
  await end()
})

test('a process that takes over all shards locks them in order, as claims do, so that neither waits for the other in a circle', async () => {
  const [one] = stores as [PostgresSenderStore]
  const term = await one.join()
  // A scan of the table would come to shard 3 last.
  await one.sendFor(term, of(5))
  await one.sendFor(term, of(3, 5))
  const end = await claimHolding(5)
  // Not by a store, whose statement waits for a lock no longer than two seconds.
  const sql = connect(database.url, { purpose: 'admin' })
  others.push(sql)
  const taken = sql`select take_over_sending(0)`.execute()
  await waiting(1)
  const free = await database.sql`select shard from sending for update skip locked`
  await end()
  await taken
  expect([...free]).toEqual([])
})

test('a process that takes over all shards leaves nothing of a node that asks at the same time', async () => {
  const [one, two] = stores as [PostgresSenderStore, PostgresSenderStore]
  const term = await one.join()
  await one.sendFor(term, of(3))
  const end = await claimHolding(3)
  const taken = two.takeOver(0)
  await waiting(1)
  const request = one.sendFor(term, of(3, 4)).catch((error) => error)
  await waiting(2)
  await end()
  await taken
  expect(await request).toBeInstanceOf(SenderReplacedError)
  expect([...(await database.sql`select * from sending`)]).toEqual([])
})
