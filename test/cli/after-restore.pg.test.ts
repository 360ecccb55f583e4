import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runCli } from '../../src/cli/run-cli.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import { openTestLedger } from '../support/ledger.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { copyOf, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { insertEndpoint } from '../support/sample-rows.ts'
import { CALLER, night, requestFor, sampleId, sampleUnit } from '../support/samples.ts'
import { verifyDatabase } from '../support/verify-database.ts'
import { bookedId } from '../verify/support/lived-ledger.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

const afterRestore = () => afterRestoreOf(database)

async function afterRestoreOf(database: TestDatabase, ...options: string[]): Promise<string> {
  let output = ''
  const write = (text: string) => {
    output += text
  }
  const env = { DATABASE_URL: database.url }
  const terminal = { env, isTty: false, out: write, err: write, readInput: async () => '' }
  expect([await runCli(['after-restore', '--no-erasures', ...options], terminal), output]).toEqual([0, output])
  return output
}

test('after-restore fences every writer, leaves a gap in the numbers, and switches active webhook endpoints off', async () => {
  const { sql } = database
  const ledger = await openTestDatabaseLedger(database.url)
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  const book = async (of: typeof ledger, day: number) =>
    bookedId(await of.commands.book(agency, requestFor(unit, `2030-01-0${day}`, `2030-01-0${day + 1}`), CALLER))
  await book(ledger, 1)
  await ledger.close()
  for (const status of ['active', 'deleted'])
    await insertEndpoint(sql, {
      agencyId: agency.id,
      endpointId: sampleId('whe', status),
      sealed: 'sealed',
      status,
    })
  const stateOf = async () =>
    (
      await sql`
      select history_id, (select sum(epoch)::int from shard) as epochs,
             (select count(*)::int from shard where writer_id is not null or renewal is not null) as held,
             (select max(seq)::float8 from journal) as last
      from ledger`
    )[0]
  await sql`update shard set renewal = gen_random_uuid()`
  const before = await stateOf()
  expect(await afterRestore()).toContain('1 webhook endpoints are switched off')
  const after = await stateOf()
  expect(after).toMatchObject({ epochs: before?.['epochs'] + 256, held: 0 })
  expect(after?.['history_id']).not.toBe(before?.['history_id'])
  const endpoints = await sql<{ id: string; status: string }[]>`select endpoint_id as id, status from webhook_endpoint`
  expect(new Map(endpoints.map(({ id, status }) => [idOf('whe', id), status]))).toEqual(
    new Map([
      [sampleId('whe', 'active'), 'disabled'],
      [sampleId('whe', 'deleted'), 'deleted'],
    ]),
  )
  const next = await openTestDatabaseLedger(database.url)
  await book(next, 5)
  await next.close()
  expect((await stateOf())?.['last']).toBeGreaterThan(before?.['last'] + 1_000_000)
  expect((await verifyDatabase(sql)).differences).toEqual([])
})

test('after-restore waits for an entry that is being written, and continues after it', async () => {
  const { sql } = database
  const endOf = async () =>
    (
      await sql`select shard, seq::float8, mark::float8 from journal join shard using (shard) order by seq desc limit 1`
    )[0]
  const before = await endOf()
  const written = await holding(
    database.url,
    `select from shard where shard = ${before?.['shard']} for share;
     insert into journal select (jsonb_populate_record(j, jsonb_build_object('seq', j.seq + 5, 'entry_id', gen_random_uuid()))).*
     from journal j where seq = ${before?.['seq']}`,
  )
  const prepared = afterRestore()
  await eventually('it waits', async () => {
    const [row] = await sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return row?.waiting === 1
  })
  await written()
  await prepared
  const seq = before?.['seq'] + 5
  const end = await endOf()
  expect(end?.['seq']).toBe(seq)
  expect(end?.['mark']).toBeGreaterThanOrEqual(seq + 1_000_000)
})

test('says how many keys and tokens can be used, and revokes all if asked: those revoked since the restored moment are among them', async () => {
  const restored = await openTestLedger()
  const agency = await restored.agency()
  const { key } = await restored.key(agency)
  await restored.key(agency, { revokedAt: Date.now() })
  const { token } = await restored.accessToken(agency, 'owner')
  expect(await afterRestoreOf(restored.database)).toContain('1 API keys and 1 access tokens can be used')
  expect(await afterRestoreOf(restored.database, '--revoke-access')).toContain(
    '0 API keys and 0 access tokens can be used',
  )
  const rows = await restored.database.sql`
    select count(*)::int as n from api_key where revoked_at is null and key_id = ${uuidOf(key.id)}::text::uuid
    union all select count(*)::int from access_token where revoked_at is null and token_id = ${uuidOf(token.id)}::text::uuid`
  expect(rows.map(({ n }) => n)).toEqual([0, 0])
  await restored.close()
})

test('no number and no version is given twice, also if the same moment is restored again (S3)', async () => {
  const source = await testDatabase()
  const ledger = await openTestDatabaseLedger(source.url)
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  const bookingId = bookedId(await ledger.commands.book(agency, requestFor(unit, '2030-02-01', '2030-02-03'), CALLER))
  await ledger.close()

  const secondsSince2026 = () => Math.floor((Date.now() - Date.UTC(2026)) / 1_000)
  const given = new Set<string>()
  let lastVersion = 0
  for (let restore = 0; restore < 3; restore++) {
    const restored = await copyOf(source)
    expect(await afterRestoreOf(restored)).toContain('new history')
    const again = await openTestDatabaseLedger(restored.url)
    for (const departure of ['2030-02-04', '2030-02-05']) {
      const changed = await again.commands.change(
        agency,
        { bookingId, change: { departure: night(departure) } },
        CALLER,
      )
      expect(changed.kind).toBe('done')
      const [row] = await restored.sql`select version, seq::float8 as "seq" from booking`
      lastVersion = row?.['version']
      expect(lastVersion).toBeGreaterThan(1)
      for (const number of [`version ${lastVersion}`, `entry ${row?.['seq']}`]) {
        expect([...given]).not.toContain(number)
        given.add(number)
      }
    }
    await again.close()
    expect((await verifyDatabase(restored.sql)).differences).toEqual([])
    await restored.drop()
    // Versions continue from the second of the restore. Here a booking changed twice at once; on average none changes every second.
    while (secondsSince2026() <= lastVersion) await Bun.sleep(50)
  }
  await source.drop()
})
