import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { DeadlineError, withDeadline } from '../../../src/lib/deadline.ts'
import { pooled, poolStats, WAITING_MAX } from '../../../src/postgres/client/client-pool.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { classifyDatabaseError } from '../../../src/postgres/client/database-error.ts'
import { eventually } from '../../support/eventually.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let sql: Sql
beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  proxy = await TcpProxy.start(Number(new URL(database.url).port))
  sql = connectThroughProxy(3)
})
afterEach(async () => {
  await sql.end({ timeout: 0 })
  proxy.stop()
  await database.drop()
})

function connectThroughProxy(max: number, onLost?: () => void): Sql {
  const url = new URL(database.url)
  url.port = String(proxy.port)
  return connect(url.href, { purpose: 'queries', max, ...(onLost === undefined ? {} : { onLost }) })
}

/** Ends backends of the pool under test, each with this probability. */
async function endBackends(probability: number): Promise<void> {
  await database.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'nightledger queries'
      and pid <> pg_backend_pid() and query not like '%application_name%' and random() < ${probability}`
}

async function backends(): Promise<number> {
  const [row] = await database.sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'nightledger queries'
      and query not like '%application_name%'`
  return row?.count ?? -1
}

const succeeds = (statement: PromiseLike<unknown>) =>
  Promise.resolve(statement).then(
    () => true,
    () => false,
  )

type Outcome = 'own rows' | 'other rows' | 'no answer' | 'connection' | 'error'

/** Asks for numbers of its own without pause, and for the next one the moment the last one has failed. */
async function asksUntil(isOver: () => boolean, deadlineMs: number, outcomes: Map<Outcome, number>): Promise<void> {
  let requests = 0
  await Promise.all(
    Array.from({ length: 12 }, async () => {
      while (!isOver()) {
        const own = ++requests
        const pause = own % 3 === 0 ? 0.002 : 0
        const outcome = await withDeadline(sql`select ${own}::int as own, pg_sleep(${pause})`, deadlineMs).then(
          (rows): Outcome => (rows.length === 1 && rows[0]?.['own'] === own ? 'own rows' : 'other rows'),
          (error: Error): Outcome => {
            if (error.name === 'DeadlineError') return 'no answer'
            return classifyDatabaseError(error) === 'connection' ? 'connection' : 'error'
          },
        )
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }),
  )
}

describe('a pool whose connections are cut again and again', () => {
  for (const [how, cut] of [
    ['by the server', () => endBackends(0.5)],
    ['on the way', () => proxy.cutAll()],
  ] as const) {
    test(`${how} answers every statement with its own rows or refuses it, at once, and is whole afterwards`, async () => {
      let isOver = false
      const outcomes = new Map<Outcome, number>()
      const asking = asksUntil(() => isOver, 4_000, outcomes)
      // On a busy machine the first cuts may meet no statement.
      for (let i = 0; i < 60 || !outcomes.has('connection'); i++) {
        await Bun.sleep(20)
        await cut()
      }
      isOver = true
      await asking
      expect([...outcomes.keys()].sort()).toEqual(['connection', 'own rows'])

      // What was cut has left nothing behind: all three connections serve, and none is there that nobody uses.
      const ask = async (n: number) => (await sql`select ${n}::int as n, pg_sleep(0.1)`)[0]?.['n']
      // The last cut may reach the pool only now.
      await eventually('all three connections serve', async () => {
        const served = await Promise.all([1, 2, 3].map((n) => ask(n).catch(classifyDatabaseError)))
        expect(served.map((answer, i) => (answer === 'connection' ? i + 1 : answer))).toEqual([1, 2, 3])
        return !served.includes('connection')
      })
      await eventually('only the pool’s own connections are left', async () => (await backends()) === 3)
    })
  }
})

describe('a pool', () => {
  test('gives a statement that waits for a connection a new one when the one it waits for is lost', async () => {
    const single = connectThroughProxy(1)
    // What one connection takes at once shares its fate.
    const running = [30, 30, 30, 30].map((s) => single`select pg_sleep(${s})`.catch(classifyDatabaseError))
    const waiting = Promise.all([1, 2, 3].map((n) => single`select ${n}::int as n`))
    await eventually('it runs', async () => (await backends()) === 1)
    expect(poolStats(single)).toEqual({ running: 4, waiting: 3, lost: 0, refused: 0 })
    await endBackends(1)
    expect(await Promise.all(running)).toEqual(['connection', 'connection', 'connection', 'connection'])
    expect((await waiting).map(([row]) => row?.['n'])).toEqual([1, 2, 3])
    await eventually('a connection that nobody uses is closed', async () => (await backends()) === 1)
    await single.end()
  })

  test('spreads statements over its connections before it puts several on one', async () => {
    const since = performance.now()
    const pids = await Promise.all([1, 2, 3].map(() => sql`select pg_backend_pid() as pid, pg_sleep(0.1)`))
    expect(new Set(pids.map(([row]) => row?.['pid'])).size).toBe(3)
    const all = await Promise.all(Array.from({ length: 12 }, () => sql`select pg_backend_pid() as pid, pg_sleep(0.1)`))
    const counts = new Map<number, number>()
    for (const [row] of all) counts.set(row?.['pid'], (counts.get(row?.['pid']) ?? 0) + 1)
    expect([...counts.values()]).toEqual([4, 4, 4])
    expect(performance.now() - since).toBeGreaterThan(450)
  })

  test('tells that an idle connection was lost, and opens another for the next statement', async () => {
    let lost = 0
    const single = connectThroughProxy(1, () => lost++)
    const [before] = await single`select pg_backend_pid() as pid`
    await endBackends(1)
    await eventually('it is told', () => lost === 1)
    expect(poolStats(single)).toEqual({ running: 0, waiting: 0, lost: 1, refused: 0 })
    const [after] = await single`select pg_backend_pid() as pid`
    expect(after?.['pid']).not.toBe(before?.['pid'])
    await single.end()
    expect(lost).toBe(1)
  })

  test('refuses, at once, what it cannot connect for, which is no lost connection, and serves when it can again', async () => {
    const port = proxy.target
    proxy.target = 1
    for (let i = 0; i < 20; i++) expect(await sql`select 1`.catch(classifyDatabaseError)).toBe('connection')
    expect(poolStats(sql).lost).toBe(0)
    proxy.target = port
    expect((await sql`select 1 as n`)[0]?.['n']).toBe(1)
  })

  test('rejects at the deadline what got no answer, as a statement of unknown outcome, sent or not', async () => {
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const pool = pooled(({ onClose }) => postgres(url.href, { max: 1, fetch_types: false, onclose: onClose }), {
      size: 1,
      pipelined: 1,
      runMsMax: null,
      deadlineMs: 300,
    })
    await eventually('connected', () => succeeds(pool`select 1`))
    proxy.isSilent = true
    const failures = await Promise.all([1, 2].map((n) => pool`select ${n}::int`.catch((error: unknown) => error)))
    expect(failures.map((failure) => failure instanceof DeadlineError)).toEqual([true, true])
    await pool.end({ timeout: 0 })
  })

  test('gives a connection up that says nothing for longer than a statement may run', async () => {
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const impatient = pooled(({ onClose }) => postgres(url.href, { max: 1, fetch_types: false, onclose: onClose }), {
      size: 1,
      pipelined: 1,
      runMsMax: 300,
      deadlineMs: null,
    })
    await eventually('connected', () => succeeds(impatient`select 1`))
    proxy.isSilent = true
    expect(await impatient`select 2`.catch(classifyDatabaseError)).toBe('connection')
    proxy.isSilent = false
    await eventually('it serves again', () => succeeds(impatient`select 3 as n`))
    await impatient.end()
  })

  test('does not take statements for dead that wait for each other on one connection', async () => {
    const pool = pooled(({ onClose }) => postgres(database.url, { max: 1, fetch_types: false, onclose: onClose }), {
      // Together longer than that, each far from it on a machine that stands still for a moment.
      size: 1,
      pipelined: 4,
      runMsMax: 3_200,
      deadlineMs: null,
    })
    await Promise.all([1, 2, 3, 4].map(() => pool`select pg_sleep(1)`))
    expect(poolStats(pool)).toEqual({ running: 0, waiting: 0, lost: 0, refused: 0 })
    await pool.end()
  })

  test('refuses at once what is more than may wait', async () => {
    const running = [1, 2, 3].map(() => sql`select pg_sleep(30)`.catch(classifyDatabaseError))
    await eventually('they run', async () => (await backends()) === 3)
    const piled = Array.from({ length: 3 * 3 + WAITING_MAX }, () => sql`select 1`.catch(classifyDatabaseError))
    expect(await sql`select 1`.catch((error: Error & { code: string }) => error.code)).toBe('CONNECTION_QUEUE_FULL')
    expect(poolStats(sql)).toEqual({ running: 12, waiting: WAITING_MAX, lost: 0, refused: 1 })
    await sql.end({ timeout: 0 })
    expect(new Set(await Promise.all([...running, ...piled]))).toEqual(new Set(['connection']))
  })

  test('does not send, after an outage, what waited longer than its caller', async () => {
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const options = { max: 1, fetch_types: false }
    const pool = pooled(({ onClose }) => postgres(url.href, { ...options, onclose: onClose }), {
      size: 1,
      pipelined: 1,
      runMsMax: 1_200,
      deadlineMs: 800,
    })
    await database.sql`create table arrived (n int)`
    await eventually('connected', () => succeeds(pool`select 1`))
    proxy.isSilent = true
    const outcomes = Array.from({ length: 5 }, (_, n) =>
      pool`insert into arrived values (${n})`.catch(classifyDatabaseError),
    )
    expect(await Promise.all(outcomes)).toEqual(Array.from({ length: 5 }, () => 'connection'))
    await eventually('its connection is given up', () => poolStats(pool).lost === 1)
    expect(poolStats(pool)).toEqual({ running: 0, waiting: 0, lost: 1, refused: 4 })
    proxy.isSilent = false
    await eventually('it serves again', () => succeeds(pool`select 1`))
    await pool`insert into arrived values (5)`
    expect((await pool`select n from arrived`).map(({ n }) => n)).toEqual([5])
    await pool.end()
  })

  test('runs fragments, unsafe text and several statements at once as postgres.js does', async () => {
    const rows = await sql`select ${sql`7 as x, ${8}::int as y`}`
    expect(rows[0]).toEqual({ x: 7, y: 8 })
    expect((await sql.unsafe('select 9 as x'))[0]?.['x']).toBe(9)
    await sql.unsafe('create table made (n int); insert into made values (1), (2)').simple()
    expect((await sql`select from made`).count).toBe(2)
    expect(await sql`select nonsense`.catch((error: Error & { code: string }) => error.code)).toBe('42703')
    expect((await sql`select 1 as still`)[0]?.['still']).toBe(1)
  })

  test('has no begin and no reserve', () => {
    expect([sql.begin, sql.reserve]).toEqual([undefined, undefined] as never)
  })

  test('ends when what it has taken is done, and refuses what comes later', async () => {
    const taken = Array.from({ length: 7 }, (_, n) => sql`select ${n}::int as n, pg_sleep(0.02)`)
    const results = Promise.all(taken)
    await Bun.sleep(5)
    await sql.end()
    expect((await results).map((rows) => rows[0]?.['n'])).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(await sql`select 1`.catch(classifyDatabaseError)).toBe('connection')
    await eventually('its connections are closed', async () => (await backends()) === 0)
  })

  test('ends in time, and says of what it did not wait for that its outcome is unknown', async () => {
    const outcomes = Promise.all([1, 2, 3, 4].map(() => sql`select pg_sleep(30)`.catch(classifyDatabaseError)))
    await eventually('they run', async () => (await backends()) === 3)
    await sql.end({ timeout: 0.1 })
    expect(await outcomes).toEqual(['connection', 'connection', 'connection', 'connection'])
  })
})
