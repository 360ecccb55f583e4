import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LIMITS, readConfig } from '../../src/app/config.ts'
import { idOf } from '../../src/lib/ids.ts'
import { connect } from '../../src/postgres/client/connect.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { readStages } from '../support/dockerfile.ts'
import { eventually } from '../support/eventually.ts'
import { expectNothingLost, Load, prepareForLoad } from '../support/load.ts'
import { asService, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { credentialsFor, startService, startServiceOn, TEST_SECRET_KEY } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'
import { startSystemPostgres, systemPostgres } from '../support/system-postgres.ts'

/*
 * Runs what docs/operating.md tells operators to run, word for word, section by section.
 */

const DOCUMENT = readFileSync('docs/operating.md', 'utf8')
const MAIN = resolve('src/main.ts')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nightledger-operating-'))
  // The database server of a service that runs as root is another account's.
  chmodSync(folder, 0o711)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function blocksUnder(heading: string): string[] {
  return shellBlocksOf(sectionOf(DOCUMENT, heading)).map(({ script }) => script)
}

async function bash(script: string, env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', `nightledger() { "$BUN" run "$MAIN" "$@"; }\n${script}`], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', BUN: process.execPath, MAIN, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  if ((await child.exited) !== 0) throw new Error(`${script}\nended with ${child.exitCode}:\n${stdout}\n${stderr}`)
  return stdout
}

/** The cells of a table's rows, without their backticks. */
function rowsUnder(heading: string): string[][] {
  return [...sectionOf(DOCUMENT, heading).matchAll(/^\| `.*$/gm)].map(([row]) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

describe('the table of the environment', () => {
  /** Every variable that the service asks for. */
  function variables(): string[] {
    const seen = new Set<string>()
    readConfig(
      new Proxy({} as Record<string, undefined>, {
        get: (_, name) => {
          seen.add(String(name))
          // The others of traces are read only with it.
          return name === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? 'http://127.0.0.1:4318' : undefined
        },
      }),
    )
    return [...seen]
  }

  test('has every variable that is read, and no other', () => {
    const named = rowsUnder('Environment').map(([name]) => name)
    expect(named.toSorted()).toEqual(variables().toSorted())
  })

  test('has the defaults and bounds of the limits', () => {
    const rows = new Map(rowsUnder('Environment').map(([name = '', ...cells]) => [name, cells]))
    for (const { variable, fallback, min, max } of Object.values(LIMITS)) {
      expect(rows.get(variable)?.slice(0, 2)).toEqual([String(fallback), `${min}–${max}`])
    }
  })

  test('has the other defaults', () => {
    const rows = new Map(rowsUnder('Environment').map(([name = '', fallback = '']) => [name, fallback]))
    const { host, port, dataDir, logLevel, environment } = readConfig({})
    for (const [name, value] of Object.entries({
      HOST: host,
      PORT: String(port),
      DATA_DIR: dataDir,
      LOG_LEVEL: logLevel,
      NODE_ENV: environment,
    }))
      expect([name, rows.get(name)]).toEqual([name, value])
  })
})

test('the secrets for the containers are what the service takes, and nobody else can read them', async () => {
  const [make = ''] = blocksUnder('With containers')
  await bash(make)
  const file = join(folder, 'secrets/nightledger.env')
  const env = Object.fromEntries(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  expect(readConfig({ ...env, NODE_ENV: 'production' }).secretKey).toHaveLength(32)
  const [password, service, migration] = ['postgres-password', 'postgres.env', 'migration.env'].map((name) =>
    readFileSync(join(folder, 'secrets', name), 'utf8').trim(),
  )
  expect(env['DATABASE_URL']).toContain(`nightledger_service:${service?.split('=')[1]}@`)
  expect(env['DATABASE_URL']).not.toContain(password)
  expect(migration).toBe(
    `DATABASE_URL=${env['DATABASE_URL']}\nMIGRATION_DATABASE_URL=postgres://nightledger:${password}@postgres:5432/nightledger`,
  )
  for (const name of readdirSync(join(folder, 'secrets')))
    expect(statSync(join(folder, 'secrets', name)).mode & 0o077).toBe(0)
})

test('the binary is built as the Dockerfile builds it', () => {
  const [build = ''] = blocksUnder('Without containers')
  const steps = readStages('Dockerfile')[0]
    ?.steps.filter(({ keyword }) => keyword === 'RUN')
    .map(({ text }) => text)
  expect(steps).toEqual(expect.arrayContaining(build.trim().split('\n')))
})

test('the list of what a binary contains', async () => {
  for (const script of blocksUnder('Verifying a download')) await bash(script)
  const { specVersion } = JSON.parse(readFileSync(join(folder, 'nightledger.cdx.json'), 'utf8'))
  expect(specVersion).toBe('1.6')
})

describe('on a database of its own', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await testDatabase()
    await prepareForLoad(database.url)
  })
  afterAll(() => database.drop())

  test('the steps to a new version, and the change of SECRET_KEY', async () => {
    const env = credentialsFor(database.url)
    const [migrateTwice = ''] = blocksUnder('Upgrading')
    expect(await bash(migrateTwice, env)).toContain('"applied":[]')
    const [rotate = ''] = blocksUnder('SECRET_KEY')
    expect(await bash(rotate, env)).toBe('0 endpoints: 0 re-encrypted, 0 already up to date.\n')
  })
})

test('a data folder is copied while its service is stopped, and a service on the copy has everything', async () => {
  const dataDir = join(folder, 'data')
  const first = await startService({ DATA_DIR: dataDir })
  const key = readFileSync(join(dataDir, 'demo-api-key'), 'utf8').trim()
  const bookings = async (baseUrl: string) => {
    const response = await fetch(`${baseUrl}/partner/v1/bookings`, { headers: { authorization: `Bearer ${key}` } })
    return (await response.json()) as { totalItems: number }
  }
  const before = await bookings(first.baseUrl)
  first.kill('SIGTERM')
  expect(await first.exited).toBe(0)
  const copies = blocksUnder('Backup and restore').filter((script) => script.includes('DATA_DIR'))
  await bash(copies.join('\n'), { DATA_DIR: dataDir })
  rmSync(dataDir, { recursive: true })

  const copy = await startService({ DATA_DIR: `${dataDir}.backup` })
  const after = await bookings(copy.baseUrl)
  expect(after.totalItems).toBe(before.totalItems)
  copy.kill('SIGTERM')
  expect(await copy.exited).toBe(0)
}, 60_000)

const programs = systemPostgres()
if (programs === null)
  console.log('Backup and restore are not tried here: there is no pg_dump with a server of its version')

describe.skipIf(programs === null)('backup and restore', () => {
  test('dumped under load, restored on another server, verified, served and sold on', async () => {
    const server = await startSystemPostgres(programs ?? '')
    const restored = await testDatabase({ template: 'empty' })
    try {
      const sql = connect(server.url, { purpose: 'admin' })
      await migrate(sql)
      await prepareForLoad(server.url)
      const service = await startServiceOn(server.url)
      const load = new Load(() => service.baseUrl)
      load.start(8)
      await eventually('bookings are being made', () => load.booked.size > 50)
      const reported = new Map(load.booked)

      const [dump = '', restore = ''] = blocksUnder('Backup and restore')
      const env = {
        MIGRATION_DATABASE_URL: server.url,
        ERASURES: '--no-erasures',
        RESTORED_OWNER_URL: restored.url,
        RESTORED_URL: asService(restored.url),
        SECRET_KEY: TEST_SECRET_KEY,
        PATH: `${programs}:${process.env['PATH']}`,
      }
      await bash(dump, env)
      await load.stop()
      // The dump is of a moment under load.
      expect(load.booked.size).toBeGreaterThan(reported.size)
      service.kill('SIGTERM')
      expect(await service.exited).toBe(0)
      await sql.end()

      expect(await bash(restore, env)).toContain('Everything agrees with the journal.')
      // Whatever was acknowledged before the dump began is in it.
      const rows = await restored.sql<{ id: string }[]>`select booking_id as id from booking`
      const ids = new Set(rows.map(({ id }) => idOf('bkg', id)))
      expect([...reported.keys()].filter((id) => !ids.has(id))).toEqual([])

      const successor = await startServiceOn(restored.url)
      const later = new Load(() => successor.baseUrl)
      later.start(8)
      await eventually('bookings are being made', () => later.booked.size > 10)
      await later.stop()
      successor.kill('SIGTERM')
      expect(await successor.exited).toBe(0)
      await expectNothingLost(restored.sql, later)
    } finally {
      await restored.drop()
      await server.stop()
    }
  }, 90_000)
})
