import { afterAll, afterEach, expect, test } from 'bun:test'
import { SHARDS } from '../../../src/core/journal/shard.ts'
import { PostgresShards } from '../../../src/postgres/stores/postgres-shards.ts'
import { PostgresWriters, workerNode } from '../../../src/postgres/stores/postgres-writers.ts'
import { eventually } from '../../support/eventually.ts'
import { holding } from '../../support/held-lock.ts'
import { testDatabase } from '../../support/postgres.ts'

const opened: PostgresShards[] = []
const database = await testDatabase()
afterEach(async () => {
  for (const shards of opened.splice(0)) await shards.close()
})
afterAll(() => database.drop())

function nodeNamed(node: string, parentId: string | null = null): PostgresShards {
  const shards = new PostgresShards(
    database.url,
    { writerId: crypto.randomUUID(), holder: `${node} 1`, run: null, node, parentId },
    null,
  )
  opened.push(shards)
  return shards
}

const beatOf = async (name: string) =>
  (await new PostgresWriters(database.sql).list()).find(({ node }) => node === name)?.beatAt ?? 0

test('a node that asks learns exactly which of its shards another one has taken, and shows that it is alive', async () => {
  const [a, b] = [nodeNamed('a'), nodeNamed('b')]
  const own = (await a.take([3, 4, 5])).shards
  const beatAt = await beatOf('a')
  expect(await a.lost(own)).toEqual([])
  expect(await beatOf('a')).toBeGreaterThan(beatAt)
  const taken = (await b.take([4])).shards
  expect(await a.lost(own)).toEqual([4])
  expect(await b.lost(taken)).toEqual([])
})

test('nodes that take the same shards lock them in one order, so that none of them waits for the other in a circle', async () => {
  const [first, held] = [0, 100]
  // Not where it was: a scan of the table would come to it after the others.
  await database.sql`update shard set taken_at = clock_timestamp() where shard = ${first}`
  const release = await holding(database.url, `select from shard where shard = ${held} for update`)
  const taken = nodeNamed('a').take(Array.from({ length: SHARDS }, (_, shard) => shard))
  await eventually('it waits for the shard that is held', async () => {
    const [row] = await database.sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return row?.waiting === 1
  })
  const free = await database.sql<{ shard: number }[]>`select shard from shard order by shard for update skip locked`
  await release()
  await taken
  expect(free.map(({ shard }) => shard)).toEqual(Array.from({ length: SHARDS - held - 1 }, (_, n) => held + 1 + n))
})

test('the connection of a take-over that failed is closed', async () => {
  const orphan = nodeNamed('orphan', crypto.randomUUID())
  await orphan.open()
  await expect(orphan.take([1])).rejects.toMatchObject({ code: 'NL005' })
  await eventually('only the connection that confirms is left', async () => {
    const open = await database.sql`
      select from pg_stat_activity where datname = current_database() and application_name = 'nightledger journal'`
    return open.length === 1
  })
})

test('a worker takes shards from its parent and from other workers, until another process has taken over from the parent (C11)', async () => {
  const writers = new PostgresWriters(database.sql)
  const parent = { writerId: crypto.randomUUID(), holder: 'host 1', run: null }
  const [first, second] = [1, 2].map((worker) => nodeNamed(workerNode(parent.writerId, worker), parent.writerId))
  await expect(first?.take([1, 2])).rejects.toMatchObject({ code: 'NL005' })
  await writers.takeOverAsParent(parent, null)
  await first?.take([1, 2])
  await second?.take([2])
  // It has no shard of its own by now, and is not forgotten for that.
  expect(await writers.beat(parent.writerId)).toEqual({ isAwaited: false })
  const gone = (await writers.list()).map(({ writerId }) => writerId)
  const other = { ...parent, writerId: crypto.randomUUID() }
  await expect(writers.takeOverAsParent(other, gone.slice(1))).rejects.toMatchObject({ code: 'NL005' })
  await writers.takeOverAsParent(other, gone)
  await expect(first?.take([1])).rejects.toMatchObject({ code: 'NL005' })
  expect(await writers.beat(parent.writerId)).toBeNull()
  expect(await writers.list()).toMatchObject([{ writerId: other.writerId, shards: SHARDS }])
})
