/** A start while another process serves: it loses nothing until the new one can serve. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadSecrets } from '../../src/app/secrets.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { findCluster } from '../../src/postgres/embedded/cluster.ts'
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { readPostmaster } from '../../src/postgres/embedded/postmaster.ts'
import { eventually } from '../support/eventually.ts'
import { expectReady } from '../support/expect-ready.ts'
import { Load, prepareForLoad } from '../support/load.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import {
  credentialsFor,
  type ServiceProcess,
  startListening,
  startService,
  startServiceOn,
} from '../support/service-process.ts'
import { unlessGone } from '../support/unless-gone.ts'

/** As in src/app/service.ts: how long a step of the start is awaited. */
const STEP_MS_MAX = 5_000

/** As in src/postgres/schema/migrate.ts. */
const MIGRATION_LOCK = '7310577216190001'

let database: TestDatabase
let first: ServiceProcess
async function startFirst(): Promise<void> {
  database = await testDatabase()
  await prepareForLoad(database.url)
  first = await startServiceOn(database.url)
}
async function endFirst(): Promise<void> {
  first.kill('SIGKILL')
  await first.exited
  await database.drop()
}

async function epoch(): Promise<number> {
  const [row] = await database.sql`select max(epoch)::int as epoch from shard`
  return row?.['epoch']
}

async function bookOn(service: { baseUrl: string }, arrival: string): Promise<number> {
  const departure = arrival.replace(/-01$/, '-02')
  return (await new Load(() => service.baseUrl).post('/bookings', { unit: 'unit-0', arrival, departure })).status
}

/** A session of its own that may hold locks. */
async function holding(lock: string, work: (session: Sql) => Promise<void>): Promise<void> {
  const session = connect(database.url, { purpose: 'admin' })
  try {
    await session.unsafe(lock)
    await work(session)
  } finally {
    await session.end({ timeout: 0 })
  }
}

describe('a process that cannot serve ends, and the one that serves continues:', () => {
  // One for all: nothing of what happens here may change it.
  beforeAll(startFirst)
  afterAll(endFirst)
  let month = 0

  async function expectLeftAlone(env: Record<string, string>, reason: string): Promise<void> {
    const before = await epoch()
    const refusal = await startServiceOn(database.url, env).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    expect(refusal).toContain('The service ended with 1')
    expect(refusal).toContain(reason)
    expect(await epoch()).toBe(before)
    month += 1
    expect(await bookOn(first, `2030-0${month}-01`)).toBe(201)
  }

  test('its port is taken', () =>
    expectLeftAlone({ PORT: new URL(first.baseUrl).port }, 'another program is listening there'))

  test('the machine does not have its address', () =>
    expectLeftAlone({ HOST: '192.0.2.1' }, 'this machine does not have that address'))

  test('its SECRET_KEY is another one', () =>
    expectLeftAlone({ SECRET_KEY: 'ee'.repeat(32) }, 'SECRET_KEY does not match this database'))

  test('a setting is wrong', () => expectLeftAlone({ MAILBOX_MAX: 'many' }, 'MAILBOX_MAX'))

  test('there are too few connections for it', async () => {
    const limit = (n: number) =>
      database.sql.unsafe(
        `do $$ begin execute format('alter database %I connection limit ${n}', current_database()); end $$`,
      )
    const [row] =
      await database.sql`select count(*)::int as open from pg_stat_activity where datname = current_database()`
    await limit(row?.['open'] + 2)
    try {
      await expectLeftAlone({}, 'Cannot start: the database refuses further connections (too many connections')
    } finally {
      await limit(-1)
    }
  })

  test('its user may not read what it needs', async () => {
    await database.sql.unsafe(`
      create role second_${process.pid} login password 'second';
      grant all on all tables in schema public to second_${process.pid};
      grant execute on all functions in schema public to second_${process.pid};
      revoke select on usage_month from second_${process.pid}`)
    const url = new URL(database.url)
    url.username = `second_${process.pid}`
    url.password = 'second'
    const env = { DATABASE_URL: url.href, MIGRATION_DATABASE_URL: '' }
    await expectLeftAlone(env, 'permission denied for table usage_month')
    await database.sql.unsafe(`revoke execute on function ensure_months from second_${process.pid}`)
    await expectLeftAlone(env, `the role second_${process.pid} has no rights on the tables of the ledger`)
    await database.sql.unsafe(`drop owned by second_${process.pid}; drop role second_${process.pid}`)
  })
})

describe('while it starts,', () => {
  beforeEach(startFirst)
  afterEach(endFirst)

  test('a process answers 503, the older one serves; afterwards it is the other way round', () =>
    holding(`select pg_advisory_lock(${MIGRATION_LOCK})`, async (session) => {
      const second = await startListening(credentialsFor(database.url), { takesOver: true })
      const ask = (path: string) => fetch(`${second.baseUrl}${path}`)
      expect((await ask('/healthz')).status).toBe(200)
      const ready = await ask('/readyz')
      expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', faults: ['starting'] }])
      expect((await ask('/portal/v1/agencies')).status).toBe(503)
      expect(await bookOn(second, '2030-01-01')).toBe(503)
      expect(await bookOn(first, '2030-01-01')).toBe(201)
      await session.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`)
      await eventually('it is ready', async () => (await ask('/readyz')).status === 200)
      expect(await bookOn(second, '2030-02-01')).toBe(201)
      expect(await unlessGone(bookOn(first, '2030-03-01'))).toBeOneOf([null, 500])
      expect(await first.exited).toBe(1)
      second.kill('SIGTERM')
      expect(await second.exited).toBe(0)
    }))

  test('SIGTERM ends a process with 0, and it takes nothing over any more', () =>
    holding(`select pg_advisory_lock(${MIGRATION_LOCK})`, async (session) => {
      const before = await epoch()
      const second = await startListening(credentialsFor(database.url), { takesOver: true })
      second.kill('SIGTERM')
      await eventually('it drains', () => second.log().includes('draining'))
      await session.unsafe(`select pg_advisory_unlock(${MIGRATION_LOCK})`)
      expect(await second.exited).toBe(0)
      expect(await epoch()).toBe(before)
      expect(await bookOn(first, '2030-01-01')).toBe(201)
    }))

  test('a process that has taken over waits for a database that is busy, for nobody else serves', () =>
    holding('begin; select from shard order by shard for update', (fence) =>
      holding('begin; lock table api_key in share mode', async (keys) => {
        const before = await epoch()
        const second = await startListening(credentialsFor(database.url), { takesOver: true })
        await eventually('the take-over waits', () => second.log().includes('take-over is waiting for the database'))
        await keys.unsafe('commit; begin; lock table api_key in access exclusive mode')
        const waited = () => second.log().split('take-over is waiting for the database').length
        const waitedBefore = waited()
        await fence.unsafe('commit')
        await eventually('it has taken over', async () => (await epoch()) > before)
        await eventually('what it reads then waits', () => waited() > waitedBefore)
        await keys.unsafe('commit')
        await eventually('it is ready', async () => (await fetch(`${second.baseUrl}/readyz`)).status === 200)
        expect(await bookOn(second, '2030-01-01')).toBe(201)
        second.kill('SIGTERM')
        expect(await second.exited).toBe(0)
      }),
    ))
})

describe('SIGTERM while it starts a PostgreSQL of its own', () => {
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'nightledger-test-start-'))
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

  const postmaster = () => {
    const cluster = findCluster(dataDir)
    return cluster === null ? null : readPostmaster(cluster)
  }

  /** A start whose current step takes longer, on a busy machine, is left as it is; the next start deals with it. */
  const expectStopped = (log: string): void => {
    const at = (message: string) =>
      Date.parse(JSON.parse(log.split('\n').find((line) => line.includes(`"${message}"`)) ?? '{}').time)
    const tookMs = at('stopped') - at('draining')
    expect(tookMs).toBeGreaterThanOrEqual(0)
    if (tookMs < STEP_MS_MAX) expect(postmaster()).toBeNull()
  }

  test('for the first time leaves none behind, and the next start continues', async () => {
    const starting = await startListening({ DATA_DIR: dataDir })
    starting.kill('SIGTERM')
    expect(await starting.exited).toBe(0)
    expectStopped(starting.log())
    const next = await startService({ DATA_DIR: dataDir })
    await expectReady(next)
    next.kill('SIGTERM')
    expect(await next.exited).toBe(0)
  })

  test('stops the one that runs already, though the database is not ready yet', async () => {
    loadSecrets({ dataDir, portalTokens: null, secretKey: null })
    const server = await startEmbedded({ dataDir, onStep: () => {} })
    const sql = connect(server.ownerUrl, { purpose: 'admin' })
    // Every login to the database waits: the server runs, but the service has not connected yet.
    await sql.unsafe(`
      create function wait_at_login() returns event_trigger language plpgsql as 'begin perform pg_sleep(1); end';
      create event trigger wait_at_login on login execute function wait_at_login()`)
    await sql.end({ timeout: 1 })
    await server.stop()
    const starting = await startListening({ DATA_DIR: dataDir })
    await eventually('the server runs', () => postmaster()?.status === 'ready')
    starting.kill('SIGTERM')
    expect(await starting.exited).toBe(0)
    expectStopped(starting.log())
  })
})
