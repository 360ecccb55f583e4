/** The vacuum after erasures: once for many, with the rights of the role that serves. What it leaves is searched in test/faults/. */
import { afterAll, beforeEach, expect, test } from 'bun:test'
import { connect } from '../../../src/postgres/client/connect.ts'
import { PostgresErasureRows } from '../../../src/postgres/stores/postgres-erasure-rows.ts'
import { vacuumErased } from '../../../src/postgres/stores/vacuum-erased.ts'
import { eventually } from '../../support/eventually.ts'
import { asService, testDatabase } from '../../support/postgres.ts'

const database = await testDatabase()
const rows = new PostgresErasureRows(database.sql, { epochOf: () => 0, shards: () => 'all' })
afterAll(() => database.drop())
beforeEach(async () => void (await database.sql`delete from guest_erasure`))

/** Guests that were erased so many seconds ago. */
async function erasedAgo(...seconds: number[]): Promise<void> {
  for (const ago of seconds)
    await database.sql`
      insert into guest_erasure (at, erased_at, agency_id, guest_id)
      values (now(), now() - ${ago}::float8 * interval '1 second', gen_random_uuid(), gen_random_uuid())`
}

/** An autovacuum may hold a snapshot for a moment. */
const eventuallyDue = (isDue: boolean) =>
  eventually(`it is ${isDue ? '' : 'not '}due`, async () => (await rows.isVacuumDue()) === isDue)

/** An autovacuum may hold a snapshot between the question and the vacuum, too: then nothing is marked, and it is due again. */
const vacuumedUntil = (isDone: () => Promise<boolean>) =>
  eventually('the erasures are marked as vacuumed', async () => {
    await eventuallyDue(true)
    await vacuumErased(asService(database.url))
    return isDone()
  })

test.each([
  [[], false],
  [[30], false],
  [[90], true],
  [[30, 90, 300], false],
  [[30, 90, 660], true],
] as [number[], boolean][])('with guests erased %p seconds ago, whether it is due: %p', async (seconds, isDue) => {
  await erasedAgo(...seconds)
  await eventuallyDue(isDue)
})

test('an erasure that is not complete is not vacuumed for, and one that is complete is not completed again', async () => {
  await database.sql`
    insert into guest_erasure (at, agency_id, guest_id) values (now() - interval '1 hour', gen_random_uuid(), gen_random_uuid())`
  expect(await rows.isVacuumDue()).toBe(false)
  await erasedAgo(90)
  expect(await rows.begun()).toMatchObject([{ isComplete: false }])
})

test('the role that serves may vacuum, and notes what is done', async () => {
  await erasedAgo(90, 600)
  const count = async () => {
    const [row] = await database.sql`
      select count(*)::int as n, (select sum(vacuum_count)::int from pg_stat_user_tables where relname in ('guest', 'booking', 'idempotency')) as runs
      from guest_erasure where vacuumed_at is null`
    return row
  }
  const before = await count()
  let vacuums = 0
  await vacuumedUntil(async () => {
    vacuums++
    return (await count())?.['n'] === 0
  })
  await database.sql`select pg_stat_clear_snapshot()`
  expect(await count()).toEqual({ n: 0, runs: before?.['runs'] + 3 * vacuums })
  expect(await rows.isVacuumDue()).toBe(false)
})

test('an erasure whose rows an older snapshot still reads is vacuumed for once that is gone, and not marked before; earlier ones are', async () => {
  const unmarked = async () =>
    (await database.sql`select from guest_erasure where vacuumed_at is null and erased_at is not null`).length
  await erasedAgo(700)
  // Of another role than the one that vacuums, as a dump is.
  const dump = connect(database.url, { purpose: 'admin', max: 1 })
  // An autovacuum, whose snapshot is older, may be running.
  await eventually('the snapshot is younger than the first erasure', async () => {
    await dump.unsafe('rollback; begin isolation level repeatable read; select from guest').simple()
    return rows.isVacuumDue()
  })
  await erasedAgo(660)
  await vacuumedUntil(async () => (await unmarked()) === 1)
  expect(await rows.isVacuumDue()).toBe(false)
  await dump.unsafe('commit').simple()
  await dump.end()
  await vacuumedUntil(async () => (await unmarked()) === 0)
})

test('a role that may not vacuum is told so: the server itself would only warn', async () => {
  await erasedAgo(90)
  await database.sql`revoke maintain on guest from ${database.sql(new URL(asService(database.url)).username)}`
  await expect(vacuumErased(asService(database.url))).rejects.toThrow('needs the privilege MAINTAIN')
  await eventuallyDue(true)
})
