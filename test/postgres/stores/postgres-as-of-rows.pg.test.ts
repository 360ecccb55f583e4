/** The log of a unit up to a moment, as PostgreSQL reads it. Answers made from it are tested in test/contract/known-when.pg.test.ts. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { keepMonthEnds } from '../../../src/app/month-archive.ts'
import type { AsOfRows } from '../../../src/core/bookings/units-as-of.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import type { StoredEntry } from '../../../src/core/journal/entry-codec.ts'
import { entryOf } from '../../../src/postgres/stores/loaded-rows.ts'
import { PostgresAsOfRows } from '../../../src/postgres/stores/postgres-as-of-rows.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { MemoryAsOfRows } from '../../support/memory-as-of-rows.ts'
import { type JournalRow, MemoryJournalStore } from '../../support/memory-journal-store.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../../support/past-months.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { bookedId } from '../../verify/support/lived-ledger.ts'

// The last month can be retired from the second day of this one.
const OLDEST = monthsAgo(2)

let database: TestDatabase
let ledger: Awaited<ReturnType<typeof openTestDatabaseLedger>>
let rows: AsOfRows
let agency: Agency
let units: Unit[]
let now = Date.parse(`${OLDEST}T12:00:00Z`)

/** Two units that bookings are moved between, over two months and a clock that is set back. */
beforeAll(async () => {
  database = await testDatabase()
  await haveMonthsSince(database.sql, OLDEST)
  ledger = await openTestDatabaseLedger(database.url, { clock: clockAt(() => now), limits: { snapshotEvery: 3 } })
  agency = await addAgency(ledger)
  const unit = (label: string) => addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', label), slug: label }))
  units = [await unit('a'), await unit('b')]
  const [a, b] = units as [Unit, Unit]
  const night = (day: number) => `2030-01-${String(day).padStart(2, '0')}`
  const book = async (of: Unit, day: number) => {
    now += 1_000
    return bookedId(await ledger.commands.book(agency, requestFor(of, night(day), night(day + 1)), CALLER))
  }
  const rename = (of: Unit, name: string) =>
    ledger.commands.setUnit(agency, of.id, (current) => sampleUnit({ ...current, name }), CALLER)
  for (let day = 1; day < 9; day += 2) {
    const id = await book(a, day)
    now += 1_000
    await ledger.commands.change(agency, { bookingId: id, change: { unitId: b.id } }, CALLER)
    await rename(day % 4 === 1 ? a : b, `Name ${day}`)
  }
  now -= 3_500
  await book(a, 20)
  await book(b, 20)
  now = Date.now() - 60_000
  await book(a, 22)
  await rename(a, 'Last')
  await book(b, 24)
  // The end waits for snapshots that are being written: what is compared below must not change meanwhile.
  await ledger.close()
  ledger = await openTestDatabaseLedger(database.url, { clock: clockAt(() => now) })
  rows = new PostgresAsOfRows(ledger.lists)
})
afterAll(async () => {
  await ledger.close()
  await database.drop()
})

/** The same log in memory. */
async function copied(): Promise<MemoryAsOfRows> {
  const store = new MemoryJournalStore()
  const journal = await database.sql<(StoredEntry & { at: Date })[]>`
    select seq::float8 as "seq", at, unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload,
           checksum::text as "checksum" from journal order by seq`
  store.journal.push(...journal.map((row) => ({ ...entryOf(row), at: row.at.getTime() }) as unknown as JournalRow))
  const stored = new PostgresJournalStore({ url: database.url, queries: database.sql })
  for (const { id } of units) store.snapshots.push(...(await stored.loadUnit(agency.id, id)).snapshots)
  return new MemoryAsOfRows(store)
}

/** The time of every entry, and a millisecond before it. */
async function moments(): Promise<number[]> {
  const times = await database.sql<{ at: Date }[]>`select distinct at from journal`
  return times.flatMap(({ at }) => [at.getTime() - 1, at.getTime()])
}

async function expectSame(memory: MemoryAsOfRows): Promise<void> {
  for (const { id: unitId } of units) {
    const unit = { agencyId: agency.id, unitId }
    for (const at of await moments()) {
      const place = await rows.find(unit, at)
      expect(place).toEqual(await memory.find(unit, at))
      for (const after of [0, place.snapshots[0]?.seq ?? 3])
        for (const limit of [2, 100]) {
          const page = await rows.entries(unit, { after, place, limit })
          const same = await memory.entries(unit, { after, place, limit })
          expect(page).toEqual(same)
        }
    }
  }
}

test('the place at every moment, and its entries, are the same as in memory', async () => {
  await expectSame(await copied())
})

test('the same holds after a month was archived, and what was found before is read again', async () => {
  const [unit] = units as [Unit]
  const address = { agencyId: agency.id, unitId: unit.id }
  const found = await rows.find(address, now)
  const gone = await database.sql<{ unitId: string; seq: number }[]>`
    select unit_id as "unitId", max(seq)::float8 as "seq" from (
      select unit_id, seq from journal where month = ${OLDEST}::text::date
      union all select other_unit_id, seq from journal where month = ${OLDEST}::text::date and other_unit_id is not null) e
    group by unit_id`
  const archivedAt = await moments()
  await makeCheckpoints(database.sql)
  await keepMonthEnds(database.sql, OLDEST)
  await database.sql`select retire_month(${OLDEST}::text::date)`
  expect(await rows.entries(address, { after: 0, place: found, limit: 100 })).toBeNull()
  const kept = await copied()
  for (const { unitId, seq } of gone) kept.archived.set(`unt_${unitId.replaceAll('-', '')}`, seq)
  kept.oldestAt = Date.parse(`${monthsAgo(1)}T00:00:00Z`)
  await expectSame(kept)
  for (const { id: unitId } of units)
    for (const at of [...archivedAt, kept.oldestAt - 1, kept.oldestAt])
      expect(await rows.find({ agencyId: agency.id, unitId }, at)).toEqual(
        await kept.find({ agencyId: agency.id, unitId }, at),
      )
})
