import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Sql } from '../../src/postgres/client/connect.ts'
import { findCluster, SERVICE_ROLE } from '../../src/postgres/embedded/cluster.ts'
import { FaultPostgres } from '../support/fault-postgres.ts'
import { OperatorPostgres } from '../support/operator-postgres.ts'
import { startService, startServiceOn } from '../support/service-process.ts'

/** What the service says when it does not start. */
async function refusalOf(starting: Promise<{ kill(signal: NodeJS.Signals): void }>): Promise<string> {
  try {
    const started = await starting
    started.kill('SIGKILL')
    return 'it started'
  } catch (error) {
    return (error as Error).message
  }
}

describe('the service refuses to start, and says what to do,', () => {
  let postgres: FaultPostgres
  let sql: Sql
  beforeAll(async () => {
    postgres = await FaultPostgres.start()
    sql = postgres.direct()
  })
  afterAll(async () => {
    await sql.end({ timeout: 1 })
    await postgres.stop()
  })

  test('when the server may lose what it has acknowledged', async () => {
    await sql.unsafe('alter system set synchronous_commit = off')
    await sql`select pg_reload_conf()`
    // The command line of our own server outranks the file; a role's setting outranks both, as an operator's would.
    await sql.unsafe(`alter role ${SERVICE_ROLE} set synchronous_commit = off`)
    expect(await refusalOf(startServiceOn(postgres.url))).toContain('set synchronous_commit = on')
    await sql.unsafe(`alter role ${SERVICE_ROLE} reset synchronous_commit`)
  })

  test('when the schema is too new for it', async () => {
    await sql`
      insert into schema_migration (version, name, checksum, runs_from)
      select max(version) + 1, 'later', 'x', max(version) + 1 from schema_migration`
    expect(await refusalOf(startServiceOn(postgres.url))).toContain('Start the newer program')
    await sql`delete from schema_migration where name = 'later'`
  })

  test('when another build made the database', async () => {
    await sql`update schema_migration set checksum = 'x' || checksum`
    const refusal = await refusalOf(startServiceOn(postgres.url))
    expect(refusal).toContain('Cannot use this database: another build of nightledger made its schema')
    await sql`update schema_migration set checksum = substr(checksum, 2)`
  })

  test('when nothing listens where DATABASE_URL points', async () => {
    const refusal = await refusalOf(startServiceOn('postgres://nobody:secret@127.0.0.1:9/none'))
    expect(refusal).toContain('Cannot reach the database none on 127.0.0.1:9')
    expect(refusal).not.toContain('secret')
  })

  test('and starts once all is well', async () => {
    const service = await startServiceOn(postgres.url)
    service.kill('SIGTERM')
    expect(await service.exited).toBe(0)
  })
})

describe('the service refuses a server that is set up to lose what it has acknowledged:', () => {
  const FSYNC = 'The setting fsync is off, so a power failure can lose bookings: set fsync = on.'
  const COMMIT = 'The setting synchronous_commit is off, so a crash can lose bookings: set synchronous_commit = on.'
  let server: OperatorPostgres
  beforeAll(async () => {
    server = await OperatorPostgres.make()
  })
  afterAll(() => server.remove())

  test.each([
    [{ fsync: 'off' }, FSYNC],
    [{ synchronous_commit: 'off' }, COMMIT],
    [{ fsync: 'off', synchronous_commit: 'off' }, `${FSYNC} ${COMMIT}`],
  ])('one started with %j', async (settings, advice) => {
    const refusal = await server.run(settings, (url) => refusalOf(startServiceOn(url)))
    expect(refusal).toContain(`Cannot use this database server: ${advice}`)
    // Non-zero, so that the supervisor knows.
    expect(refusal).toStartWith('The service ended with 1 before it was up')
  })

  test('and takes the same server once it is set up as the sentence says', async () => {
    const exitCode = await server.run({ fsync: 'on', synchronous_commit: 'on' }, async (url) => {
      const service = await startServiceOn(url)
      service.kill('SIGTERM')
      return service.exited
    })
    expect(exitCode).toBe(0)
  })
})

test('the service refuses a torn data folder, and says what to do', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-test-torn-'))
  const first = await startService({ DATA_DIR: dataDir })
  first.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  const cluster = findCluster(dataDir)
  if (cluster === null) throw new Error('The data folder has no cluster')
  truncateSync(join(cluster, 'global', 'pg_control'), 100)
  const refusal = await refusalOf(startService({ DATA_DIR: dataDir }))
  expect(refusal).toContain('pg_control')
  expect(refusal).toMatch(/backup/i)
  rmSync(dataDir, { recursive: true, force: true })
})

test('the service refuses a kept secret that was damaged, and says what to do', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-test-secret-'))
  writeFileSync(join(dataDir, 'secret-key'), 'short\n', { mode: 0o600 })
  expect(await refusalOf(startService({ DATA_DIR: dataDir }))).toContain('Restore the file')
  expect(readdirSync(dataDir)).toContain('secret-key')
  rmSync(dataDir, { recursive: true, force: true })
})
