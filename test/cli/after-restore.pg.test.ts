import { afterAll, beforeAll, expect, test } from 'bun:test'
import { runCli } from '../../src/cli/run-cli.ts'
import { idOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { holding } from '../support/held-lock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { insertEndpoint } from '../support/sample-rows.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../support/samples.ts'
import { verifyDatabase } from '../support/verify-database.ts'
import { bookedId } from '../verify/support/lived-ledger.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())

async function afterRestore(): Promise<string> {
  let output = ''
  const write = (text: string) => {
    output += text
  }
  const env = { DATABASE_URL: database.url }
  const terminal = { env, isTty: false, out: write, err: write, readInput: async () => '' }
  expect([await runCli(['after-restore'], terminal), output]).toEqual([0, output])
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
      ...{ agencyId: agency.id, endpointId: sampleId('whe', status), sealed: 'sealed', status },
    })
  const stateOf = async () =>
    (
      await sql`
      select history_id, (select sum(epoch)::int from shard) as epochs,
             (select count(*)::int from shard where writer_id is not null or renewal is not null) as held,
             (select max(seq)::int from journal) as last
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
  expect((await stateOf())?.['last']).toBe(before?.['last'] + 1_000_001)
  expect((await verifyDatabase(sql)).differences).toEqual([])
})

test('after-restore waits for an entry that is being written, and continues after it', async () => {
  const { sql } = database
  const endOf = async () =>
    (await sql`select shard, seq::int, mark::int from journal join shard using (shard) order by seq desc limit 1`)[0]
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
  expect(await endOf()).toMatchObject({ seq, mark: seq + 1_000_000 })
})
