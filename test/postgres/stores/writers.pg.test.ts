import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { PostgresWriters } from '../../../src/postgres/stores/postgres-writers.ts'
import { testDatabase } from '../../support/postgres.ts'

const WAIT_MS = 300
/** Of a wait that is cut short, however busy the machine is. */
const LONG_MS = 10_000

const database = await testDatabase()
const writers = new PostgresWriters(database.sql)
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`update shard set writer_id = null`
  await database.sql`delete from writer`
})

/** A node with these shards. @returns its writer id */
async function node(name: string, shards: readonly number[]): Promise<string> {
  const writerId = crypto.randomUUID()
  const text = `{${shards.join()}}`
  await database.sql`select take_shards(${text}::text::smallint[], ${`${name} 1`}, ${writerId}, null, ${name})`
  return writerId
}

/** Whether the wait lasts to its end. Postgres looks every 20 ms. */
async function waits(waitMs: number, isDrainingKnown = false): Promise<boolean> {
  const since = performance.now()
  await writers.change({ waitMs, isDrainingKnown })
  return performance.now() - since >= waitMs - 50
}

describe('P3: a heartbeat is answered', () => {
  const waitedAgo = (writerId: string, ago: string) =>
    database.sql`update writer set awaited_at = clock_timestamp() - ${ago}::text::interval where writer_id = ${writerId}`

  test('with whether somebody waits, or has within a minute, for as long as the process is the writer', async () => {
    const writer = await node('a', [0])
    expect(await writers.beat(writer)).toEqual({ isAwaited: false })
    await writers.await()
    expect(await writers.beat(writer)).toEqual({ isAwaited: true })
    await waitedAgo(writer, '50 s')
    expect(await writers.beat(writer)).toEqual({ isAwaited: true })
    await waitedAgo(writer, '61 s')
    expect(await writers.beat(writer)).toEqual({ isAwaited: false })
    await writers.await()
    expect(await writers.beat(writer)).toEqual({ isAwaited: true })
    await writers.release(writer)
    expect(await writers.beat(writer)).toBeNull()
    expect(await writers.beat(crypto.randomUUID())).toBeNull()
  })
})

describe('the wait for a change of the writers', () => {
  test('lasts while nobody who has a shard stops, and ends when one does, unless that is known', async () => {
    const draining = await node('a', [0, 1])
    await node('b', [2])
    expect(await waits(WAIT_MS)).toBe(true)
    await writers.drain(draining)
    expect(await waits(LONG_MS)).toBe(false)
    expect(await waits(WAIT_MS, true)).toBe(true)
  })

  test('is not cut short by a node that was killed while it drained, once others have its shards', async () => {
    const killed = await node('a', [0, 1])
    await writers.drain(killed)
    await node('b', [0, 1])
    expect((await writers.list()).map(({ node: id }) => id)).toEqual(['b'])
    expect(await waits(WAIT_MS)).toBe(true)
  })

  test('is over at once when nobody has a shard, whatever rows there are', async () => {
    const gone = await node('a', [0])
    await database.sql`select give_up_shards('{0}', ${gone})`
    expect(await waits(LONG_MS)).toBe(false)
  })
})

test('a node that takes shards forgets the process that had all, and nodes without shards that have ended or were silent for an hour', async () => {
  const named = async (name: string, shards: readonly number[], change = '') => {
    const id = await node(name, shards)
    if (change !== '') await database.sql.unsafe(`update writer set ${change} where writer_id = '${id}'`)
  }
  await database.sql`insert into writer (writer_id, name, run, node) values (${crypto.randomUUID()}, 'all', 'run', null)`
  await named('silent with a shard', [3], "beat_at = clock_timestamp() - interval '61 minutes'")
  await named('ended', [], 'released_at = clock_timestamp()')
  await named('silent', [], "beat_at = clock_timestamp() - interval '61 minutes'")
  await named('new', [])
  await node('taker', [5])
  const left = await database.sql<{ name: string }[]>`select node as name from writer order by node`
  expect(left.map(({ name }) => name)).toEqual(['new', 'silent with a shard', 'taker'])
})

describe('P3: of two processes that wait for the same turn, the second one takes over from nobody', () => {
  const takeOver = async (writerId: string, gone: readonly string[] | null) => {
    const taken = database.sql`
      select from take_over('one', ${writerId}::text::uuid, null, ${gone === null ? null : `{${gone.join()}}`}::text::uuid[])`
    return taken.then(
      () => 'taken',
      ({ code }: { code?: string }) => code,
    )
  }
  const [former, first, second] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]

  test('while the first one serves; it does once that has released, is seen to be gone, or if it is forced', async () => {
    expect(await takeOver(former, null)).toBe('taken')
    expect(await takeOver(first, [former])).toBe('taken')
    expect(await takeOver(second, [former])).toBe('NL005')
    expect(await takeOver(second, [])).toBe('NL005')
    // Its own answer was lost: it asks again.
    expect(await takeOver(first, [])).toBe('taken')
    await writers.release(first)
    expect(await takeOver(second, [])).toBe('taken')
    expect(await takeOver(first, [second])).toBe('taken')
    expect(await takeOver(second, null)).toBe('taken')
  })

  test('nodes count as well', async () => {
    const of = await node('a', [0])
    expect(await takeOver(first, [])).toBe('NL005')
    expect(await takeOver(first, [of])).toBe('taken')
  })
})
