/** `journal archive` as a process that is killed on its way: nothing is lost, and running it again completes it. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Ledger } from '../../src/app/ledger.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { MONTH_TABLES, partitionOf, tablesOf } from '../../src/postgres/stores/month-tables.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import { runCliProcess } from '../support/cli-process.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../support/past-months.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { CALLER, requestFor, sampleUnit } from '../support/samples.ts'
import { TEST_SECRET_KEY } from '../support/service-process.ts'
import { verifyDatabase } from '../support/verify-database.ts'
import { bookedId } from '../verify/support/lived-ledger.ts'

const OLDEST = monthsAgo(2)

let database: TestDatabase
let ledger: Ledger
let agency: Agency
let unit: Unit
let out: string
let now = 0

beforeEach(async () => {
  database = await testDatabase()
  await haveMonthsSince(database.sql, OLDEST)
  out = mkdtempSync(join(tmpdir(), 'killed-archive-'))
  now = Date.parse(`${OLDEST}T12:00:00Z`)
  ledger = await openTestDatabaseLedger(database.url, { clock: clockAt(() => now) })
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  await book(1)
  await book(2)
  now = Date.now()
  await book(3)
  await makeCheckpoints(database.sql)
})
afterEach(async () => {
  await ledger.close()
  await database.drop()
  rmSync(out, { recursive: true })
})

async function book(day: number): Promise<void> {
  const night = (n: number) => `2030-01-${String(n).padStart(2, '0')}`
  bookedId(await ledger.commands.book(agency, requestFor(unit, night(day), night(day + 1)), CALLER))
}

const archive = (killedBy?: AbortSignal) =>
  runCliProcess(['journal', 'archive', '--month', OLDEST.slice(0, 7), '--out', out], {
    env: { DATABASE_URL: database.url, SECRET_KEY: TEST_SECRET_KEY },
    ...(killedBy && { killedBy }),
  })

/** Runs the command, and kills it where it waits for a lock: as if its host had stopped, the server ends its session. */
async function killedWaitingFor(lock: string): Promise<void> {
  const release = await holding(database.url, lock)
  const kill = new AbortController()
  const run = archive(kill.signal)
  const waiting = () => database.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually('the archive waits', async () => (await waiting()).length > 0)
  kill.abort()
  expect((await run).code).not.toBe(0)
  for (const { pid } of await waiting()) await database.sql`select pg_terminate_backend(${pid}, 10000)`
  await release()
}

const folder = () => join(out, OLDEST.slice(0, 7))
const journal = () =>
  gunzipSync(readFileSync(join(folder(), 'journal.ndjson.gz')))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).seq)
const findings = async () => (await verifyDatabase(database.sql)).differences
const oldest = async () => (await database.sql`select oldest_month::text as oldest from ledger`)[0]?.['oldest']

const POINTS = {
  'while it writes the files': {
    lock: `lock table ${partitionOf('webhook_delivery', OLDEST)}`,
    leaves: { manifest: false, oldest: OLDEST },
  },
  'between writing the files and retiring the month': {
    lock: 'lock table snapshot in exclusive mode',
    leaves: { manifest: true, oldest: OLDEST },
  },
  'between retiring the month and dropping its tables': {
    lock: 'select pg_advisory_xact_lock(1)',
    leaves: { manifest: true, oldest: monthsAgo(1) },
  },
}

test.each(Object.entries(POINTS))(
  'an archive that is killed %s loses nothing, and the next run completes it',
  async (_, { lock, leaves }) => {
    await database.sql
      .unsafe(`
      create function wait_for_test() returns event_trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); end $$;
      create event trigger wait_for_test on ddl_command_start when tag in ('DROP TABLE') execute function wait_for_test()`)
      .simple()
    await killedWaitingFor(lock)
    expect(existsSync(join(folder(), 'manifest.json'))).toBe(leaves.manifest)
    expect(await oldest()).toBe(leaves.oldest)
    expect(await tablesOf(database.sql, OLDEST)).toEqual(MONTH_TABLES)
    const rows = await database.sql.unsafe(`select seq from ${partitionOf('journal', OLDEST)}`)
    expect(rows).toHaveLength(3)
    expect(await findings()).toEqual([])
    await book(4)

    const { code, stderr } = await archive()
    expect([code, stderr]).toEqual([0, ''])
    expect(await tablesOf(database.sql, OLDEST)).toEqual([])
    expect(await oldest()).toBe(monthsAgo(1))
    expect(journal()).toEqual([1, 2, 3])
    expect(readdirSync(folder()).filter((name) => name.endsWith('.tmp'))).toEqual([])
    expect(await findings()).toEqual([])
    await book(5)
    expect((await archive()).stderr).toStartWith('Nothing to archive: ')
  },
)
