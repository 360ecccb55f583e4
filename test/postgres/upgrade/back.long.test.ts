import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import type { Caller } from '../../../src/core/journal/record.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { migrate } from '../../../src/postgres/schema/migrate.ts'
import { OLD_MIGRATIONS } from '../../../src/postgres/schema/migrations.ts'
import { dumpSchema } from '../../../src/postgres/schema/schema-dump.ts'
import { goBack } from '../../../src/postgres/upgrade/back.ts'
import { finishUpgrade, reportUpgrade } from '../../../src/postgres/upgrade/finish.ts'
import { decodeOldEvent, type OldEntry } from '../../../src/postgres/upgrade/old-entries.ts'
import { upgradeState } from '../../../src/postgres/upgrade/old-ledger.ts'
import { copyAhead, copyAndSwitch, type UpgradeOptions } from '../../../src/postgres/upgrade/upgrade.ts'
import {
  auditTrail,
  oldAuditTrail,
  readOldColumns,
  rowsInOldTerms,
  type ShownLine,
} from '../../support/both-layouts.ts'
import { makeAccessToken } from '../../support/fixtures.ts'
import { fillOldLedger, makeOldDatabase, OLD_SECRET_KEY, type OldWorld, OldWriter } from '../../support/old-ledger.ts'
import { openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, night, requestFor } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

let database: TestDatabase
let sql: Sql
let writer: OldWriter
let world: OldWorld
let oldSchema: string
let options: UpgradeOptions

beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  await makeOldDatabase(database.url)
  sql = connect(database.url, { purpose: 'admin' })
  await readOldColumns(sql)
  oldSchema = await dumpSchema(sql)
  writer = new OldWriter(sql)
  await writer.takeOver()
  world = await fillOldLedger(sql, writer)
  options = { databaseUrl: database.url, secretKey: OLD_SECRET_KEY, onStep: () => {} }
})

afterEach(async () => {
  await sql.end({ timeout: 0 })
  await database.drop()
})

function inventory(place: number): { agency: Agency; sea: Unit; hill: Unit } {
  const [agency, [sea, hill]] = [world.agencies[place], world.units[place] ?? []]
  if (agency === undefined || sea === undefined || hill === undefined) throw new Error('The old ledger is too small')
  return { agency, sea, hill }
}

/** What the present version does after the switch: of every kind something. */
async function live(): Promise<void> {
  const ledger = await openTestDatabaseLedger(database.url)
  for (const place of [0, 1, 2]) {
    const { agency, sea, hill } = inventory(place)
    const guest = { firstName: 'Ida', lastName: 'Lund', email: 'ZOE@example.com', phone: null, nationality: null }
    const request = requestFor(sea, '2027-08-01', '2027-08-04', { guest, sourceRef: 'NEW-1', notes: 'quiet' })
    const booked = await ledger.commands.book(agency, request, CALLER)
    if (booked.kind !== 'done') throw new Error('Cannot book in a test')
    const { id } = booked.booking
    await ledger.commands.change(agency, { bookingId: id, change: { unitId: hill.id } }, CALLER)
    await ledger.commands.book(agency, requestFor(sea, '2027-08-01', '2027-08-04'), CALLER)
    await ledger.commands.change(agency, { bookingId: id, change: { status: 'checked_in' } }, CALLER)
    await ledger.commands.change(agency, { bookingId: id, change: { expectedUntil: night('2027-08-06') } }, CALLER)
    await ledger.commands.cancel(agency, { bookingId: id, reason: 'storm' }, CALLER)
    await ledger.commands.book(agency, requestFor(hill, '2027-08-01', '2027-08-03'), CALLER)
    await ledger.commands.book(agency, requestFor(hill, '2027-08-01', '2027-08-03'), CALLER)
    await ledger.commands.setUnit(agency, sea.id, () => ({ ...sea, name: 'Sea again' }), CALLER)
  }
  // Of people whom the previous version does not know.
  const { agency, sea } = inventory(0)
  const { token } = await makeAccessToken(ledger, agency, 'desk')
  const person: Caller = { ...CALLER, actor: { kind: 'access_token', id: token.id } }
  await ledger.commands.setUnit(agency, sea.id, () => ({ ...sea, name: 'Sea, by hand' }), person)
  await ledger.commands.auditRefusal(agency, person, 'ROLE_MISSING', null)
  await ledger.close()
}

/** A trail as the previous version can tell it. */
function withoutTokens(lines: readonly ShownLine[]): readonly ShownLine[] {
  return lines.map((line) =>
    line.actor.kind === 'access_token' ? { ...line, actor: { kind: 'portal', id: null } } : line,
  )
}

describe('the way back', () => {
  test('gives the previous version everything that was written before and after the switch', async () => {
    await copyAndSwitch(options)
    await live()
    const rows = await rowsInOldTerms(sql)
    const trails = await Promise.all(world.agencies.map(({ id }) => auditTrail(database.url, id)))
    expect(await goBack(database.url, () => {})).toEqual({ kind: 'back', entries: 25 })
    expect(await dumpSchema(sql)).toBe(oldSchema)
    expect(await upgradeState(sql)).toEqual({ stage: 'old', main: 'public' })
    const back = await rowsInOldTerms(sql)
    const numbersApart = (of: typeof rows) => ({
      ...of,
      booking: of['booking']?.map((row) => row.replace(/"seq":\d+,/, '')).sort(),
      webhook_delivery: of['webhook_delivery']?.length,
    })
    // Deliveries that were still to be made are there as pending ones.
    const made = 2 * 6
    expect(numbersApart(back)).toEqual({
      ...numbersApart(rows),
      webhook_delivery: (rows['webhook_delivery']?.length ?? 0) + made,
    })
    for (const [i, { id }] of world.agencies.entries())
      expect(await oldAuditTrail(sql, id)).toEqual([...withoutTokens(trails[i] ?? [])])
  })

  test('gives the entries numbers without a gap that the previous version can read, with reference and reason', async () => {
    await copyAndSwitch(options)
    await live()
    await goBack(database.url, () => {})
    const entries = await sql<OldEntry[]>`
      select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", kind, payload, checksum
      from journal order by seq`
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: writer.lastSeq + 25 }, (_, i) => i + 1))
    const events = entries.map(decodeOldEvent)
    const cancelled = events.filter(
      (event) => event.kind === 'booking_cancelled' && event.after.cancelReason === 'storm',
    )
    expect(cancelled).toHaveLength(3)
    for (const event of cancelled)
      expect(event).toMatchObject({ before: { sourceRef: 'NEW-1', cancelReason: null }, after: { sourceRef: 'NEW-1' } })
    const stray = await sql`
      select from booking b left join journal j on j.seq = b.seq and j.booking_id = b.booking_id where j.seq is null`
    expect(stray).toHaveLength(0)
    const bodies = await sql<{ seq: number; body: string }[]>`
      select seq::float8 as "seq", body from webhook_event where seq > ${writer.lastSeq}`
    expect(bodies).toHaveLength(18)
    for (const { seq, body } of bodies)
      expect(JSON.parse(body)).toMatchObject({ seq, data: { unitName: expect.any(String) } })
  })

  test('leads forward again: the second upgrade has everything, too', async () => {
    await copyAndSwitch(options)
    await live()
    const before = await rowsInOldTerms(sql)
    await goBack(database.url, () => {})
    await writer.takeOver()
    const outcome = await copyAndSwitch(options)
    expect(outcome).toEqual({ copiedSeq: writer.lastSeq, unknownCallers: 0, differentBodies: 0 })
    const { booking, webhook_delivery: _, ...rest } = await rowsInOldTerms(sql)
    expect(booking).toHaveLength(before['booking']?.length ?? 0)
    expect(before).toMatchObject(rest)
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('before the switch removes the copy, and nothing of the previous version', async () => {
    const before = await rowsInOldTerms(sql)
    await copyAhead(options)
    expect(await goBack(database.url, () => {})).toEqual({ kind: 'abandoned' })
    expect(await dumpSchema(sql)).toBe(oldSchema)
    expect(await rowsInOldTerms(sql)).toEqual(before)
    expect(await sql`select from pg_namespace where nspname like 'ledger_%'`).toHaveLength(0)
  })

  test('fences out the present version first', async () => {
    await copyAndSwitch(options)
    const ledger = await openTestDatabaseLedger(database.url)
    await goBack(database.url, () => {})
    const { agency, sea } = inventory(0)
    const late = ledger.commands.book(agency, requestFor(sea, '2027-09-01', '2027-09-04'), CALLER)
    await expect(late).rejects.toThrow()
    await ledger.close()
  })

  test('ends with `finish`, which leaves nothing of the old tables', async () => {
    await copyAndSwitch(options)
    expect(await reportUpgrade(sql)).toMatchObject({
      stage: 'switched',
      entries: { copied: writer.lastSeq, total: writer.lastSeq },
    })
    await finishUpgrade(sql)
    expect(await sql`select from pg_namespace where nspname like 'ledger_%'`).toHaveLength(0)
    expect(await upgradeState(sql)).toEqual({ stage: 'none', main: 'public' })
    await expect(goBack(database.url, () => {})).rejects.toThrow('Cannot go back: this database has no old tables')
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('is not ended under a view of the operator on an old table', async () => {
    await sql`create view arrivals as select arrival from booking`
    await copyAndSwitch(options)
    await expect(finishUpgrade(sql)).rejects.toThrow(
      'other objects use the old tables. Remove them first: view arrivals',
    )
    await sql`drop view arrivals`
    await finishUpgrade(sql)
  })

  test('is there until then for the previous version alone: it refuses the present layout', async () => {
    await copyAndSwitch(options)
    await expect(migrate(sql, { migrations: OLD_MIGRATIONS })).rejects.toThrow(
      'Cannot start on this database: its schema is at version',
    )
  })
})

test('an upgrade that is not switched yet cannot be finished', async () => {
  await expect(finishUpgrade(sql)).rejects.toThrow('Cannot finish: the old tables are still in use')
  await copyAhead(options)
  await expect(finishUpgrade(sql)).rejects.toThrow('Cannot finish: the old tables are still in use')
})
