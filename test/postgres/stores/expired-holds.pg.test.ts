import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { shardOf } from '../../../src/core/journal/shard.ts'
import type { ExpiredHold } from '../../../src/core/units/hold-timer.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { PostgresBookingRows } from '../../../src/postgres/stores/postgres-booking-rows.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger, type Reports } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'

const AGENCY_BAD = sampleId('agc', 'bad')
const AGENCY_GOOD = sampleId('agc', 'good')
const UNIT_BAD = sampleId('unt', 'bad')

let database: TestDatabase
let ledger: Ledger & { reports: Reports }

beforeAll(async () => {
  database = await testDatabase()
  ledger = await openTestDatabaseLedger(database.url)
})
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

test('holds that expired within the same microsecond are each on one page, and those that expire later on none', async () => {
  const agency = await addAgency(ledger)
  const unit = await addUnit(ledger, agency, sampleUnit())
  for (let day = 10; day < 18; day++)
    await ledger.commands.book(
      agency,
      requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`, { status: 'draft' }),
      CALLER,
    )
  // Beyond a Date's milliseconds, in the future: the hold timer of the ledger leaves them alone.
  const found = await database.sql<{ id: string }[]>`select booking_id as id from booking order by booking_id`
  const all = found.map(({ id }) => idOf('bkg', id))
  await database.sql`update booking set hold_expires_at = '2090-01-01T00:00:00.123456Z'`
  await database.sql`update booking set hold_expires_at = '2090-01-01T00:00:00.123457Z' where booking_id = ${uuidOf(all[0] ?? '')}`
  await database.sql`update booking set hold_expires_at = '2090-01-01T00:00:01Z' where booking_id = ${uuidOf(all[7] ?? '')}`
  const rows = new PostgresBookingRows(database.sql)
  const at = Date.parse('2090-01-01T00:00:00.124Z')
  const seen: ExpiredHold[] = []
  for (
    let page = await rows.expiredHolds(at, null, 3);
    page.length > 0;
    page = await rows.expiredHolds(at, seen.at(-1) ?? null, 3)
  ) {
    expect(page.length).toBeLessThanOrEqual(3)
    seen.push(...page)
    expect(seen.length).toBeLessThanOrEqual(all.length)
  }
  expect(seen.map(({ bookingId }) => bookingId)).toEqual([...all.slice(1, 7), all[0] ?? ''])
  expect(seen[0]).toMatchObject({ agencyId: agency.id, unitId: unit.id })
  expect(await rows.nextExpiry(at)).toBe(Date.parse('2090-01-01T00:00:01Z'))
  expect(await rows.nextExpiry(Date.parse('2091-01-01T00:00:00Z'))).toBeNull()

  // Of a node of several: those of its shards.
  const own = shardOf(agency.id)
  const of = (shards: readonly number[]) => new PostgresBookingRows(database.sql, () => shards)
  expect(await of([own]).expiredHolds(at, null, 100)).toHaveLength(7)
  for (const shards of [[], [own === 0 ? 1 : 0]]) {
    expect(await of(shards).expiredHolds(at, null, 100)).toEqual([])
    expect(await of(shards).nextExpiry(at)).toBeNull()
  }
})

test("a unit whose journal is damaged does not keep another agency's hold beyond its end, and is reported once", async () => {
  await ledger.close()
  await emptyTables(database.sql)
  ledger = await openTestDatabaseLedger(database.url)
  const bad = await addAgency(ledger, { id: AGENCY_BAD, slug: 'damaged' })
  const good = await addAgency(ledger, { id: AGENCY_GOOD, slug: 'healthy' })
  const damaged = await addUnit(ledger, bad, sampleUnit({ id: UNIT_BAD }))
  const healthy = await addUnit(ledger, good, sampleUnit({ id: sampleId('unt', 'good') }))
  const first = Date.UTC(2030, 0, 1)
  const date = (day: number) => new Date(first + day * DAY_MS).toISOString().slice(0, 10)
  for (let day = 0; day < 101; day++)
    await ledger.commands.book(bad, requestFor(damaged, date(day), date(day + 1), { status: 'draft' }), CALLER)
  await ledger.commands.book(good, requestFor(healthy, date(0), date(1), { status: 'draft' }), CALLER)
  await ledger.close()
  await database.sql`truncate snapshot`
  await database.sql`update booking set hold_expires_at = now() - interval '2 hours' where agency_id = ${uuidOf(AGENCY_BAD)}`
  await database.sql`update booking set hold_expires_at = now() - interval '1 hour' where agency_id = ${uuidOf(AGENCY_GOOD)}`
  await database.sql`update journal set payload = payload || ' ' where unit_id = ${uuidOf(UNIT_BAD)} and kind = 'unit_set'`
  ledger = await openTestDatabaseLedger(database.url)
  const statusOf = async (agencyId: string) => {
    const rows = await database.sql<
      { status: string }[]
    >`select distinct status from booking where agency_id = ${uuidOf(agencyId)}`
    return rows.map(({ status }) => status)
  }
  await eventually('the healthy hold is released', async () => (await statusOf(AGENCY_GOOD)).join() === 'cancelled')
  expect(await statusOf(AGENCY_BAD)).toEqual(['draft'])
  await eventually('the others rest', async () => ledger.holdTimer.failing === 101)
  const damagedUnit = { agencyId: AGENCY_BAD, unitId: UNIT_BAD }
  expect(ledger.reports.failures).toMatchObject([damagedUnit])
  expect(ledger.reports.damaged).toMatchObject([damagedUnit])
  await database.sql`update journal set payload = rtrim(payload) where unit_id = ${uuidOf(UNIT_BAD)} and kind = 'unit_set'`
  await eventually('the repaired ones are released', async () => (await statusOf(AGENCY_BAD)).join() === 'cancelled')
  expect([ledger.reports.failures, ledger.reports.damaged].map(({ length }) => length)).toEqual([1, 1])
})
