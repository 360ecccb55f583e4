import { afterAll, expect, test } from 'bun:test'
import { runCli } from '../../src/cli/run-cli.ts'
import { idOf, uuidOf } from '../../src/lib/ids.ts'
import { cliWith } from '../support/cli-terminal.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import { openTestLedger } from '../support/ledger.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { copyOf, type TestDatabase, testDatabase } from '../support/postgres.ts'
import { insertEndpoint } from '../support/sample-rows.ts'
import { CALLER, night, requestFor, sampleId, sampleUnit } from '../support/samples.ts'
import { verifyDatabase } from '../support/verify-database.ts'
import { bookedId } from '../verify/support/lived-ledger.ts'

const database = await testDatabase()
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

test('the moment of the newest entry is not that of a sandbox, whose clock may be ahead', async () => {
  const restored = await copyOf(database)
  const [newest] = await restored.sql<{ at: Date }[]>`select max(at) as at from journal`
  await restored.sql`
    insert into agency select (jsonb_populate_record(a, jsonb_build_object('slug', 'sandbox', 'sandbox_of', a.agency_id,
      'clock_now', '2040-01-01T00:00:00Z', 'clock_target', '2040-01-01T00:00:00Z', 'agency_id', (
        select id from (select gen_random_uuid() as id from generate_series(1, 10000)) g
        where shard_of(id) = shard_of(a.agency_id) limit 1)))).* from agency a`
  await restored.sql`
    insert into journal select (jsonb_populate_record(j, jsonb_build_object('seq', j.seq + 1, 'entry_id', gen_random_uuid(),
      'at', '2040-01-01T00:00:00Z', 'agency_id', (select agency_id from agency where sandbox_of is not null)))).*
    from journal j order by seq desc limit 1`
  expect(await afterRestoreOf(restored)).toContain(`Its newest entry is of ${newest?.at.toISOString()}. `)
})

test('each kind of what a restore gives up is named with what was done about it, in text and as JSON', async () => {
  const restored = await testDatabase()
  const outcome = JSON.parse(await afterRestoreOf(restored, '--json'))
  expect(outcome).toMatchObject({ endpoints: 0, sessions: 0, keys: 0, tokens: 0, restoredTo: null, erasures: null })
  expect(outcome.report.map(({ kind }: { kind: string }) => kind)).toEqual([
    ...['bookings and guests', 'sequence numbers', 'booking versions', 'cursors and history'],
    ...['webhooks', 'webhook secrets', 'sessions', 'API keys', 'access tokens', 'people'],
    ...[
      'calendar addresses',
      'suspended agencies',
      'kept answers',
      'counted requests',
      'erased guests',
      'erased texts',
    ],
  ])
  const text = await afterRestoreOf(restored)
  expect(text).toContain('Its log is empty')
  for (const { kind, did } of outcome.report) expect(text).toMatch(new RegExp(`^${kind} +${RegExp.escape(did)}$`, 'm'))
  await restored.drop()
})

test('lists the keys and tokens that can be used, and revokes all if asked: those revoked since the restored moment are among them', async () => {
  const restored = await openTestLedger()
  const agency = await restored.agency()
  const { key } = await restored.key(agency, { name: 'Channel' })
  const { key: revoked } = await restored.key(agency, { revokedAt: Date.now() })
  const { token } = await restored.accessToken(agency, 'owner')
  const text = await afterRestoreOf(restored.database)
  expect(text).toContain('1 API keys can be used, those that were revoked since among them')
  expect(text).toContain('1 access tokens can be used')
  expect(text).toMatch(new RegExp(`^API key +${agency.slug} +${key.prefix} +Channel `, 'm'))
  expect(text).toMatch(new RegExp(`^access token +${agency.slug} +${token.prefix} `, 'm'))
  expect(text.split(revoked.prefix)).toHaveLength(revoked.prefix === key.prefix ? 2 : 1)
  const after = await afterRestoreOf(restored.database, '--revoke-access')
  expect(after).toContain('all were revoked: 0 API keys can be used')
  expect(after).toContain('all were revoked: 0 access tokens can be used')
  expect(after).not.toContain('These can be used')
  const rows = await restored.database.sql`
    select count(*)::int as n from api_key where revoked_at is null and key_id = ${uuidOf(key.id)}::text::uuid
    union all select count(*)::int from access_token where revoked_at is null and token_id = ${uuidOf(token.id)}::text::uuid`
  expect(rows.map(({ n }) => n)).toEqual([0, 0])
  await restored.close()
})

test('lists the people who can sign in, by a passkey or by their address, and lets in none of them if asked', async () => {
  const restored = await openTestLedger()
  const agency = await restored.agency()
  const { sql } = restored.database
  const draft = { agency_id: uuidOf(agency.id), role: 'desk', created_at: new Date(), revision: 0 }
  const people = ['Invited', 'Maria', 'Rui', 'Gone'].map((name) => ({
    ...draft,
    person_id: uuidOf(sampleId('per', name)),
    name,
    email: name === 'Maria' ? 'maria@example.com' : null,
    removed_at: name === 'Gone' ? new Date() : null,
  }))
  await sql`insert into person ${sql(people)}`
  for (const name of ['Rui', 'Gone'])
    await sql`
      insert into passkey (agency_id, passkey_id, person_id, credential_id, name, public_key, sign_count, transports, created_at, challenged_at)
      values (${uuidOf(agency.id)}, ${uuidOf(sampleId('pky', name))}, ${uuidOf(sampleId('per', name))}, ${name}, 'x', 'x', 0, '{}', now(), now())`
  const text = await afterRestoreOf(restored.database)
  expect(text).toContain('2 people can sign in, those who were removed or had another role since among them')
  for (const name of ['Maria', 'Rui']) expect(text).toMatch(new RegExp(`^person +${agency.slug} .*${name} `, 'm'))
  for (const name of ['Invited', 'Gone']) expect(text).not.toContain(name)
  const after = await afterRestoreOf(restored.database, '--revoke-access')
  expect(after).toContain('all passkeys and e-mail addresses were deleted: 0 people can sign in')
  expect(after).not.toContain('These can be used')
  const [left] =
    await sql`select (select count(*)::int from passkey) as passkeys, count(email)::int as emails from person`
  expect(left).toEqual({ passkeys: 0, emails: 0 })
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

test('commands that work on the database change nothing on a schema that is not that of this program, and say what to do', async () => {
  const [none, newer] = await Promise.all([testDatabase({ template: 'empty' }), testDatabase()])
  await newer.sql`insert into schema_migration (version, name, checksum, runs_from) values (2, 'later', 'x', 2)`
  const historyId = async () => (await newer.sql`select history_id, (select max(epoch) from shard) from ledger`)[0]
  const before = await historyId()
  for (const [command, code] of [
    [['after-restore', '--no-erasures'], 1],
    [['rotate-secret-key', '--old-key-lost'], 1],
    [['journal', 'archive', '--month', '2026-01', '--out', '/nowhere'], 1],
    [['audit', 'export', '--agency', 'harbour', '--out', '/nowhere'], 1],
    [['verify', '--database'], 4],
  ] as const) {
    const run = async ({ url }: TestDatabase) => {
      const { code, stderr } = await cliWith({ DATABASE_URL: url, SECRET_KEY: 'ab'.repeat(32) })(...command)
      return [code, stderr]
    }
    expect(await run(none)).toEqual([code, expect.stringMatching(/is at version 0, .* Run nightledger migrate first/)])
    expect(await run(newer)).toEqual([code, expect.stringContaining('only programs that know version 2 or newer')])
  }
  expect(await historyId()).toEqual(before)
  await Promise.all([none.drop(), newer.drop()])
})
