import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Ledger } from '../../src/app/ledger.ts'
import type { MonthManifest } from '../../src/app/month-archive.ts'
import { runCli } from '../../src/cli/run-cli.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { stateHash } from '../../src/core/journal/snapshot-codec.ts'
import { makeCheckpoints } from '../support/checkpoints.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../support/past-months.ts'
import { copyOf, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { insertEndpoint } from '../support/sample-rows.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../support/samples.ts'
import { TEST_SECRET_KEY } from '../support/service-process.ts'
import { sectionOf, shellBlocksOf } from '../support/shell-blocks.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/** As docs/operating.md tells operators to run it. */
const COMMAND =
  shellBlocksOf(sectionOf(readFileSync('docs/operating.md', 'utf8'), 'Archiving old months'))[0]?.script ?? ''
// The last month can be archived from the second day of this one.
const [OLDEST, NEXT] = [monthsAgo(3), monthsAgo(2)]

/** What each test begins with a copy of. */
let prepared: TestDatabase
let database: TestDatabase
let ledger: Ledger
let agency: Agency
let unit: Unit
let out: string
let now = 0

/** Two entries and a refusal in each of two months. */
beforeAll(async () => {
  prepared = await testDatabase()
  database = prepared
  const { sql } = prepared
  await haveMonthsSince(sql, OLDEST)
  now = Date.parse(`${OLDEST}T12:00:00Z`)
  ledger = await open()
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
  await book(1)
  await book(1)
  now = Date.parse(`${NEXT}T12:00:00Z`)
  await book(2)
  await book(2)
  now = Date.now()
  await book(3)
  await ledger.refusals.flush()
  await makeCheckpoints(sql)
  // Writes a snapshot of the unit as it is now.
  await ledger.close()
})
afterAll(() => prepared.drop())
beforeEach(async () => {
  now = Date.now()
  out = mkdtempSync(join(tmpdir(), 'archive-'))
  database = await copyOf(prepared)
  ledger = await open()
})
afterEach(async () => {
  await ledger.close()
  await database.drop()
  rmSync(out, { recursive: true })
})

const open = () => openTestDatabaseLedger(database.url, { clock: clockAt(() => now) })

const tableOf = (table: string, month: string) => `${table}_${month.slice(0, 7).replace('-', '_')}`

const nightOf = (day: number) => new Date(Date.UTC(2030, 0, day)).toISOString().slice(0, 10)

/** The second one of a night is refused. */
function book(day: number) {
  return ledger.commands.book(agency, requestFor(unit, nightOf(day), nightOf(day + 1)), CALLER)
}

async function archive(month: string, env: Record<string, string> = {}) {
  let output = ''
  const write = (text: string) => {
    output += text
  }
  const line = COMMAND.trim().replace('2026-01', month.slice(0, 7)).replace('"$ARCHIVE_DIR"', out)
  const [program, ...args] = line.split(' ')
  expect(program).toBe('nightledger')
  const terminal = { isTty: false, out: write, err: write, readInput: async () => '' }
  const code = await runCli(args, {
    ...terminal,
    env: { DATABASE_URL: database.url, SECRET_KEY: TEST_SECRET_KEY, ...env },
  })
  return { code, output }
}

const path = (month: string, file: string) => join(out, month.slice(0, 7), file)
const manifestOf = (month: string): MonthManifest => JSON.parse(readFileSync(path(month, 'manifest.json'), 'utf8'))
const linesOf = (month: string, table: string) =>
  gunzipSync(readFileSync(path(month, `${table}.ndjson.gz`)))
    .toString()
    .split('\n')
    .filter((line) => line !== '')

/** As one JSON array. */
const recordsOf = (month: string, table: string) => `[${linesOf(month, table).join()}]`

async function tables(month: string): Promise<string[]> {
  const rows = await database.sql<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relname like ${`%${month.slice(0, 7).replace('-', '_')}`}`
  return rows.map(({ name }) => name)
}

const findings = async () => (await verifyDatabase(database.sql)).differences

test('an archived month is in files with every row as it was, its tables are gone, and what is left verifies', async () => {
  const rows = await database.sql.unsafe(`select * from ${tableOf('journal', OLDEST)} order by shard, seq`)
  const lines = await database.sql.unsafe(`select * from ${tableOf('audit_line', OLDEST)}`)
  expect([rows.length, lines.length]).toEqual([2, 2])
  const { code, output } = await archive(OLDEST)
  expect([code, output]).toEqual([0, output])
  expect(output).toContain('2 rows of journal, 2 rows of audit_line, 0 rows of webhook_delivery')
  expect(await tables(OLDEST)).toEqual([])
  expect(await findings()).toEqual([])
  const read = await database.sql`
    select * from jsonb_populate_recordset(null::journal, ${recordsOf(OLDEST, 'journal')}::text::jsonb) order by shard, seq`
  expect([...read]).toEqual([...rows])
})

test('a unit is still shown as it was after the month, though its snapshots are all newer', async () => {
  const at = Date.parse(`${NEXT}T06:00:00Z`)
  const asOf = async () => {
    const past = await ledger.unitsAsOf.read({ agencyId: agency.id, unitId: unit.id }, at)
    return past.kind === 'found' ? stateHash(past.state) : past.kind
  }
  const before = await asOf()
  expect([...(await database.sql`select seq <= 2 as "isOlder" from snapshot`)]).toEqual([{ isOlder: false }])
  expect((await archive(OLDEST)).code).toBe(0)
  expect(await asOf()).toBe(before)
  expect(await findings()).toEqual([])
})

test('a damaged snapshot of its end is replaced by what the entries say', async () => {
  await database.sql`update snapshot set seq = 2, hash = 'damaged'`
  expect((await archive(OLDEST)).code).toBe(0)
  expect(await findings()).toEqual([])
  // It is all that is left of the month.
  const [{ seq, hash } = {}] = await database.sql`select seq::int as seq, hash from snapshot where is_base`
  expect([seq, hash === 'damaged']).toEqual([2, false])
})

test('the manifest has the sums of the files, and its links continue from one month to the next', async () => {
  expect((await archive(OLDEST)).code).toBe(0)
  expect((await archive(NEXT)).code).toBe(0)
  const [first, second] = [manifestOf(OLDEST), manifestOf(NEXT)]
  const checkpoints = await database.sql`
    select * from jsonb_populate_recordset(null::checkpoint, ${recordsOf(OLDEST, 'checkpoint')}::text::jsonb)`
  expect(checkpoints).toHaveLength(1)
  expect([...checkpoints]).toEqual([...(await database.sql`select * from checkpoint`)])
  expect(first.shards).toMatchObject([{ first: 1, last: 2, previousLink: '' }])
  expect(second.shards).toMatchObject([{ first: 3, last: 3, previousLink: first.shards[0]?.lastLink }])
  for (const { file, sha256, contentSha256, rows } of second.tables) {
    const whole = readFileSync(path(NEXT, file))
    const content = gunzipSync(whole)
    const digest = (of: Buffer) => new Bun.CryptoHasher('sha256').update(of).digest('hex')
    expect([digest(whole), digest(content)]).toEqual([sha256, contentSha256])
    expect(content.toString().split('\n').length - 1).toBe(rows)
  }
  expect(await findings()).toEqual([])
})

test('a month is not archived when a unit has no intact snapshot in the place of its earlier entries', async () => {
  expect((await archive(OLDEST)).code).toBe(0)
  await database.sql`update snapshot set state = state || ' '`
  const { code, output } = await archive(NEXT)
  expect([code, output]).toEqual([1, expect.stringContaining(`unit ${unit.id} has no intact snapshot from before it`)])
  expect(await tables(NEXT)).toHaveLength(4)
})

test('the archive of a month asks again for locks that it does not get while a transaction reads its tables', async () => {
  const release = await holding(database.url, `select from ${tableOf('audit_line', OLDEST)}`)
  const archived = archive(OLDEST)
  const isWaiting = async () =>
    (await database.sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%retire_month%'`)
      .length > 0
  await eventually('it waits', isWaiting)
  await eventually('it has given up', async () => !(await isWaiting()))
  await release()
  expect((await archived).code).toBe(0)
})

describe('a month is not archived, and nothing changes,', () => {
  afterEach(async () => {
    expect(await tables(OLDEST)).toHaveLength(4)
    const [{ oldest } = {}] = await database.sql`select oldest_month::text as oldest from ledger`
    expect(oldest).toBe(OLDEST)
  })

  test('when an entry of it was changed', async () => {
    await database.sql`update journal set route = 'forged' where seq = 2`
    const { code, output } = await archive(OLDEST)
    expect(code).toBe(1)
    expect(output).toContain('its journal is not as it was written (1 differences). Run nightledger verify.')
    expect(output).toContain('/2: the chain is broken')
  })

  test('when its first entry was removed', async () => {
    await database.sql`delete from journal where seq = 1`
    expect((await archive(OLDEST)).output).toContain('/2: the chain is broken')
  })

  test('when it is not the oldest, or its events wait for an endpoint', async () => {
    expect((await archive(NEXT)).output).toBe(
      `Cannot archive ${NEXT.slice(0, 7)}: the oldest month is ${OLDEST.slice(0, 7)}\n`,
    )
    const endpointId = sampleId('whe', 'a')
    await insertEndpoint(database.sql, { agencyId: agency.id, endpointId, sealed: '', status: 'disabled' })
    expect((await archive(OLDEST)).output).toBe(
      `Cannot archive ${OLDEST}: webhook events of this month wait for endpoints: ${endpointId}. Switch the endpoints on, with "resend" or "drop", or delete them.\n`,
    )
  })

  test('with another SECRET_KEY, or a month that is none', async () => {
    await database.sql`delete from secret_key_check`
    expect((await archive(OLDEST, { SECRET_KEY: '77'.repeat(32) })).output).toContain('the chain cannot be checked')
    expect(await archive('2026-13-01')).toEqual({ code: 2, output: '--month must be a month, such as 2026-01.\n' })
  })

  test('when the folder has an archive of other entries, which may be their only copy', async () => {
    const file = path(OLDEST, 'manifest.json')
    const shard = shardOf(agency.id)
    // Another ledger's first month, too, continues no other one.
    const manifest = JSON.stringify({ shards: [{ shard, last: 2, lastLink: 'ff'.repeat(32), previousLink: '' }] })
    await Bun.write(file, manifest)
    const { code, output } = await archive(OLDEST)
    expect([code, output]).toEqual([1, expect.stringContaining('has an archive of entries that this ledger does not')])
    expect(readFileSync(file, 'utf8')).toBe(manifest)
  })
})

describe('an interrupted archive', () => {
  /** The files are written and the month is detached; then the process ends. */
  async function detached(): Promise<void> {
    await archive(OLDEST)
    const restored = manifestOf(OLDEST)
    for (const { table } of restored.tables) {
      // Checkpoints were never dropped.
      if (table === 'checkpoint') continue
      await database.sql.unsafe(`create table ${tableOf(table, OLDEST)} (like ${table})`)
      await database.sql.unsafe(
        `insert into ${tableOf(table, OLDEST)} select * from jsonb_populate_recordset(null::${table}, $1::text::jsonb)`,
        [recordsOf(OLDEST, table)],
      )
    }
  }

  test('is completed by running it again; after that there is nothing to archive', async () => {
    await detached()
    expect((await archive(OLDEST)).code).toBe(0)
    expect(await tables(OLDEST)).toEqual([])
    const [before, months] = [manifestOf(OLDEST), [OLDEST, NEXT].map((month) => month.slice(0, 7))]
    expect((await archive(OLDEST)).output).toBe(
      `Nothing to archive: the ledger has no tables of ${months[0]}. Its oldest month is ${months[1]}\n`,
    )
    expect(manifestOf(OLDEST)).toEqual(before)
  })

  test.each([
    ['is damaged', () => writeFileSync(path(OLDEST, 'audit_line.ndjson.gz'), 'damaged')],
    ['has other rows', () => writeFileSync(path(OLDEST, 'journal.ndjson.gz'), gzipSync('{}\n'))],
    ['is missing', () => rmSync(path(OLDEST, 'journal.ndjson.gz'))],
  ])('writes a file again that %s', async (_, damage) => {
    await detached()
    const before = manifestOf(OLDEST)
    damage()
    expect((await archive(OLDEST)).code).toBe(0)
    expect(manifestOf(OLDEST)).toEqual(before)
    expect(linesOf(OLDEST, 'journal')).toHaveLength(2)
    expect(await tables(OLDEST)).toEqual([])
  })

  test('adds rows that came after the files were written', async () => {
    await detached()
    await database.sql.unsafe(
      `insert into ${tableOf('audit_line', OLDEST)} select at, 1, agency_id, gen_random_uuid(), null, month, 'system', 'late', 'OK' from ${tableOf('audit_line', OLDEST)} limit 1`,
    )
    expect((await archive(OLDEST)).output).toContain('3 rows of audit_line')
    expect(linesOf(OLDEST, 'audit_line')).toHaveLength(3)
  })

  test('drops nothing when the folder has no archive', async () => {
    await detached()
    rmSync(join(out, OLDEST.slice(0, 7)), { recursive: true })
    expect((await archive(OLDEST)).output).toContain('Name the folder of the run that was interrupted')
    expect(await tables(OLDEST)).toHaveLength(4)
  })
})

test('bookings are made while a month is archived', async () => {
  let stop = false
  const booking = (async () => {
    for (let day = 4; !stop; day++) await book(day)
  })()
  expect((await archive(OLDEST)).code).toBe(0)
  stop = true
  await booking
  expect(await findings()).toEqual([])
})
