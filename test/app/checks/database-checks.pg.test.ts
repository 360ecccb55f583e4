import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Severity } from '../../../src/app/checks/check.ts'
import { type Machine, thisMachine } from '../../../src/app/checks/machine.ts'
import { type CheckFinding, runChecks } from '../../../src/app/checks/run-checks.ts'
import { readConfig } from '../../../src/app/config.ts'
import { openDatabase } from '../../../src/app/open-database.ts'
import { SHARDS } from '../../../src/core/journal/shard.ts'
import { ServerError } from '../../../src/postgres/client/check-server.ts'
import { connect } from '../../../src/postgres/client/connect.ts'
import { SERVICE_ROLE } from '../../../src/postgres/embedded/cluster.ts'
import { freePort } from '../../support/free-port.ts'
import { openTestLedger } from '../../support/ledger.ts'
import { asService, copyOf, serverUrl, type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { insertAgency, insertEndpoint } from '../../support/sample-rows.ts'
import { sampleId } from '../../support/samples.ts'
import { credentialsFor, TEST_SECRET_KEY } from '../../support/service-process.ts'

/*
 * Each check of the database in a world where it finds something. None of them has a service that runs.
 */

const NO_PORT = { PORT: '0' }
const OTHER_KEY = 'ff'.repeat(32)

/** Served until a moment ago, by a process that was not stopped. */
let served: TestDatabase
let database: TestDatabase
beforeAll(async () => {
  served = await testDatabase()
  const env = credentialsFor(served.url)
  await openDatabase(readConfig(env), { secretKey: Uint8Array.fromHex(TEST_SECRET_KEY), onStep: () => {} })
  const { ledger } = await openTestLedger({ on: served })
  await ledger.close()
  await served.sql`select count(*) from take_over('host1 4711', gen_random_uuid(), ${'{"namespace":"of host1","pid":4711}'})`
  // However slow the tests are.
  await served.sql`update writer set beat_at = clock_timestamp() + interval '1 hour'`
  database = served
})
afterAll(() => served.drop())

/** A test that changes a database of its own. */
function testOnCopy(claim: string, run: () => Promise<void>): void {
  test(claim, async () => {
    database = await copyOf(served)
    try {
      await run()
    } finally {
      await database.drop()
      database = served
    }
  })
}

async function findingsOf({
  env = {},
  machine = {},
  checkMsMax = 60_000,
}: {
  env?: Record<string, string>
  machine?: Partial<Machine>
  checkMsMax?: number
} = {}): Promise<readonly CheckFinding[]> {
  const given = { ...credentialsFor(database.url), ...NO_PORT, ...env }
  return runChecks(given, { machine: { ...thisMachine, ...machine }, checkMsMax })
}

/** What is not fine, as `check severity: found`. */
function faultsIn(findings: readonly CheckFinding[], ...of: Severity[]): readonly string[] {
  return findings
    .filter(({ severity }) => (of.length === 0 ? ['warning', 'error'] : of).includes(severity))
    .map(({ check, severity, found }) => `${check} ${severity}: ${found}`)
}

const faultsOf = async (...options: Parameters<typeof findingsOf>) => faultsIn(await findingsOf(...options))

test('where all is well, every check that can be made is ok', async () => {
  const findings = await findingsOf()
  expect(faultsIn(findings)).toEqual([])
  const made = new Set(findings.filter(({ severity }) => severity === 'ok').map(({ check }) => check))
  expect([...made].toSorted()).toEqual([
    ...['clock', 'configuration', 'connections', 'database', 'months', 'role', 'schema', 'secret-key'],
    ...['server-settings', 'standbys', 'webhooks', 'writer'],
  ])
  expect(faultsIn(findings, 'skipped').map((text) => text.split(' ')[0])).toEqual([
    ...['files', 'service', 'public-url', 'sign-in-provider', 'mail-server', 'etcd'],
  ])
  expect(findings.every(({ severity, fix }) => (fix === null) === ['ok', 'skipped'].includes(severity))).toBe(true)
})

describe('a database that cannot be used', () => {
  const atPort = (port: number) => Object.assign(new URL(asService(database.url)), { port: String(port) }).href

  /** The other checks of the database are not made. */
  async function onlyFault(env: Record<string, string>): Promise<string> {
    const findings = await findingsOf({ env: { MIGRATION_DATABASE_URL: '', ...env } })
    const skipped = findings.filter(({ found }) => found === 'The database cannot be used.')
    expect(skipped.map(({ check }) => check)).toEqual([
      ...['server-settings', 'connections', 'clock', 'standbys', 'schema', 'role', 'secret-key', 'months', 'writer'],
      'webhooks',
    ])
    const [fault = '', ...more] = faultsIn(findings)
    expect(more).toEqual([])
    return fault
  }

  test('because nothing listens', async () => {
    const fault = await onlyFault({ DATABASE_URL: atPort(freePort()) })
    expect(fault).toMatch(/^database error: Cannot reach the database test_\w+ on 127\.0\.0\.1:\d+: .*ECONNREFUSED/)
  })

  test('because the password is wrong, which is not repeated', async () => {
    const url = Object.assign(new URL(asService(database.url)), { password: 'hunter2' }).href
    const fault = await onlyFault({ DATABASE_URL: url })
    expect(fault).toMatch(/^database error: Cannot reach .*password authentication failed/)
    expect(fault).not.toContain('hunter2')
  })

  test('because it does not exist', async () => {
    expect(await onlyFault({ DATABASE_URL: asService(serverUrl('no_such_database')) })).toContain('does not exist')
  })

  test('because its encoding has no room for every name, which a start refuses as well', async () => {
    const name = `test_ascii_${crypto.randomUUID().replaceAll('-', '')}`
    const admin = connect(serverUrl(), { purpose: 'admin' })
    await admin.unsafe(
      `create database ${name} template template0 encoding 'SQL_ASCII' locale 'C' locale_provider libc`,
    )
    try {
      const url = serverUrl(name)
      expect(await onlyFault({ DATABASE_URL: url })).toContain('The database has the encoding SQL_ASCII')
      const config = readConfig({ ...credentialsFor(url), DATABASE_URL: url, MIGRATION_DATABASE_URL: '' })
      const start = openDatabase(config, { secretKey: Uint8Array.fromHex(TEST_SECRET_KEY), onStep: () => {} })
      await expect(start).rejects.toThrow(ServerError)
    } finally {
      await admin.unsafe(`drop database ${name} with (force)`)
      await admin.end({ timeout: 0 })
    }
  })

  test('because it accepts connections and never answers: the check ends all the same', async () => {
    const mute = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
    try {
      const findings = await findingsOf({
        env: { DATABASE_URL: atPort(mute.port), MIGRATION_DATABASE_URL: '' },
        checkMsMax: 200,
      })
      expect(faultsIn(findings)).toEqual([
        'database error: The check could not be completed: Cannot wait any longer: 200 ms have passed',
      ])
    } finally {
      mute.stop(true)
    }
  })
})

test('a standby is missed where one is required, and where several hosts are named, one of them that is down', async () => {
  expect(await faultsOf({ env: { REQUIRE_SYNCHRONOUS_STANDBY: 'true' } })).toEqual([
    expect.stringMatching(
      /^standbys error: .*its commits wait for no standby, but REQUIRE_SYNCHRONOUS_STANDBY is true/,
    ),
  ])
  const url = asService(database.url)
  const two = (text: string) => text.replace(/(:\d+)\//, `$1,127.0.0.1:${freePort()}/`)
  expect(await faultsOf({ env: { DATABASE_URL: two(url), MIGRATION_DATABASE_URL: '' } })).toEqual([
    expect.stringMatching(/^database warning: The host 127\.0\.0\.1:\d+ of DATABASE_URL accepts no connection: /),
    expect.stringMatching(/^standbys warning: DATABASE_URL names several hosts, but commits wait for no standby/),
  ])
})

testOnCopy('too few connections are left', async () => {
  const name = new URL(database.url).pathname.slice(1)
  await database.sql.unsafe(`alter database ${name} connection limit 20`)
  expect(await faultsOf()).toEqual([
    expect.stringMatching(/^connections error: The server has room for 20 connections, .* needs up to 25/),
  ])
  await database.sql.unsafe(`alter database ${name} connection limit -1`)
  expect(await faultsOf({ env: { WORKERS: '60' } })).toContainEqual(
    expect.stringMatching(/^connections error: .* needs up to 1525: some/),
  )
})

test('the clock of this machine is off by a little, or by much', async () => {
  const offBy = (ms: number) => faultsOf({ machine: { now: () => Date.now() + ms } })
  expect(await offBy(-30_000)).toEqual([
    expect.stringMatching(/^clock warning: The clock of the database is \d+\.\d s ahead of/),
  ])
  expect(await offBy(7_200_000)).toContainEqual(
    expect.stringMatching(/^clock error: .* s behind that of this machine: holds and sessions/),
  )
})

describe('the schema', () => {
  const MIGRATE = 'Run `nightledger migrate` with DATABASE_URL and the MIGRATION_DATABASE_URL of the owner.'

  test('is missing', async () => {
    const empty = await testDatabase({ template: 'empty' })
    try {
      const findings = await runChecks({ ...credentialsFor(empty.url), ...NO_PORT })
      expect(faultsIn(findings)).toEqual(['schema error: The database is empty: it has no schema yet.'])
      expect(findings.find(({ check }) => check === 'schema')?.fix).toBe(MIGRATE)
      expect(findings.find(({ check }) => check === 'role')?.found).toBe('The schema does not match this program.')
    } finally {
      await empty.drop()
    }
  })

  testOnCopy('is that of a newer program', async () => {
    const later = { version: 2, name: 'later', checksum: 'x' }
    await database.sql`insert into schema_migration ${database.sql({ ...later, runs_from: 1 })}`
    const findings = await findingsOf()
    expect(faultsIn(findings)).toEqual([])
    expect(findings.find(({ check }) => check === 'schema')?.found).toStartWith('The schema has version 2, newer than')
    await database.sql`update schema_migration set runs_from = 2 where version = 2`
    expect(await faultsOf()).toEqual([
      expect.stringMatching(/^schema error: Cannot start on this database: its schema is at version 2/),
    ])
  })

  testOnCopy('is that of another build', async () => {
    await database.sql`update schema_migration set checksum = 'x'`
    expect(await faultsOf()).toEqual([expect.stringMatching(/^schema error: Cannot use this database: another build/)])
  })
})

describe.skipIf(!asService(serverUrl()).includes(SERVICE_ROLE))('the role that serves', () => {
  const SERVICE = SERVICE_ROLE

  test('is the owner of the tables', async () => {
    expect(await faultsOf({ env: { DATABASE_URL: database.url } })).toEqual([
      expect.stringMatching(/^role warning: The role \w+ owns the tables of the ledger/),
    ])
  })

  testOnCopy('lacks a right, has one too many, or has none', async () => {
    await database.sql
      .unsafe(
        `revoke update on booking from ${SERVICE}; revoke update (shard) on shard from ${SERVICE}; revoke usage on node_term from ${SERVICE}`,
      )
      .simple()
    await database.sql.unsafe(`grant delete on journal to ${SERVICE}`)
    const differing = await faultsOf()
    expect(differing).toEqual([
      expect.stringMatching(/^role error: The role \w+ lacks rights: /),
      `role warning: The role ${SERVICE} has rights that the service does not need: delete on journal.`,
    ])
    for (const right of ['update on booking', 'update(shard) on shard', 'usage on node_term'])
      expect(differing[0]).toContain(right)
    await database.sql.unsafe(`revoke execute on function ensure_months(date) from ${SERVICE}`)
    expect(await faultsOf()).toEqual([
      expect.stringMatching(/^role error: Cannot start: the role \w+ has no rights on the tables/),
    ])
  })

  testOnCopy('may read nothing, as after a restore', async () => {
    await database.sql.unsafe(`revoke all on all tables in schema public from ${SERVICE}`)
    expect(await faultsOf()).toEqual([
      expect.stringMatching(/^schema error: The role of DATABASE_URL may not read the tables of the ledger/),
    ])
  })

  testOnCopy('is looked at with as many tables as the schema has', async () => {
    // Without any right, each of them is missed.
    await database.sql
      .unsafe(
        `revoke all on all tables in schema public from ${SERVICE}; grant select on schema_migration, ledger to ${SERVICE}`,
      )
      .simple()
    const tables = await database.sql<{ name: string }[]>`
      select relname::text as "name" from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and relname not in ('schema_migration', 'ledger')`
    const [fault = ''] = await faultsOf()
    expect(tables.length).toBeGreaterThan(25)
    for (const { name } of tables) expect(fault).toMatch(new RegExp(` on ${name}\\b`))
  })
})

testOnCopy('SECRET_KEY is another one, or a chain key was removed', async () => {
  expect(await faultsOf({ env: { SECRET_KEY: OTHER_KEY } })).toEqual([
    'secret-key error: SECRET_KEY does not match this database: it was encrypted with another key.',
  ])
  await database.sql`delete from shard_chain where shard in (3, 7)`
  expect(await faultsOf()).toEqual([
    'secret-key error: The chain keys of 2 shards are missing, or SECRET_KEY cannot decrypt them: 3, 7.',
  ])
})

testOnCopy('months of the log run out, or have', async () => {
  const newest = (months: number) =>
    database.sql`update ledger set newest_month = date_trunc('month', now() at time zone 'UTC') + ${months}::integer * interval '1 month'`
  await newest(1)
  expect(await faultsOf()).toEqual(['months warning: The log has partitions for 1 month after this one.'])
  await newest(-1)
  expect(await faultsOf()).toEqual([
    'months error: The log has no partition for this month: rows go into the last partition.',
  ])
})

describe('the writer', () => {
  testOnCopy('was stopped', async () => {
    await database.sql`update writer set released_at = now()`
    expect(await faultsOf()).toEqual([
      'writer warning: No process takes bookings: the last one was stopped, or none has been started.',
    ])
  })

  testOnCopy('is silent', async () => {
    await database.sql`update writer set beat_at = now() - interval '1 hour'`
    expect(await faultsOf()).toEqual([
      expect.stringMatching(/^writer error: host1 4711 has 256 of 256 shards, but has been silent for 36\d\d s/),
    ])
  })

  testOnCopy('does not have all shards', async () => {
    await database.sql`update shard set writer_id = null where shard < 10`
    expect(await faultsOf()).toEqual([
      `writer error: No process serves 10 of ${SHARDS} shards: the bookings of their agencies are refused.`,
    ])
  })

  testOnCopy('cannot read the boot ID', async () => {
    await database.sql`update writer set run = null`
    expect(await faultsOf()).toEqual([
      expect.stringMatching(/^writer warning: host1 4711 cannot read the boot ID: .* its standby waits 5 s/),
    ])
  })

  test('has a low open-file limit, if it runs on this machine', async () => {
    const openFilesMax = (pid: number) => (pid === 4711 ? 1_024 : null)
    const on = (host: string) =>
      faultsOf({ machine: { openFilesMax, ownRun: () => `{"namespace":"of ${host}","pid":1}` } })
    expect(await on('host1')).toEqual([
      expect.stringMatching(/^writer warning: host1 4711 has an open-file limit of 1024/),
    ])
    expect(await on('host2')).toEqual([])
  })
})

testOnCopy('webhook deliveries are late', async () => {
  const agencyId = sampleId('agc', 'a')
  await insertAgency(database.sql, agencyId)
  await insertEndpoint(database.sql, { agencyId, endpointId: sampleId('whe', 'a'), sealed: '' })
  await database.sql`
    insert into webhook_delivery (created_at, next_attempt_at, agency_id, endpoint_id, delivery_id, event_id, month, kind, status)
    select now(), now() - interval '1 hour', agency_id, endpoint_id, gen_random_uuid(), gen_random_uuid(),
           date_trunc('month', now() at time zone 'UTC'), 'ping', 'pending' from webhook_endpoint`
  expect(await faultsOf()).toEqual([
    expect.stringMatching(/^webhooks warning: The oldest webhook delivery is 6\d minutes overdue/),
  ])
})

test('the connection of the checks cannot change anything', async () => {
  const sql = connect(database.url, { purpose: 'doctor' })
  await expect(sql`delete from writer`.execute()).rejects.toThrow('read-only transaction')
  await sql.end({ timeout: 0 })
})
