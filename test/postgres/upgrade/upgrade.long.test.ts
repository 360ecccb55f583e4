import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { addNights } from '../../../src/core/domain/night.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { recoverUnit } from '../../../src/core/journal/recovery.ts'
import { SHARDS, shardOf } from '../../../src/core/journal/shard.ts'
import { encodeSnapshot } from '../../../src/core/journal/snapshot-codec.ts'
import { idOf, systemIds } from '../../../src/lib/ids.ts'
import { connect, type Sql } from '../../../src/postgres/client/connect.ts'
import { dumpSchema } from '../../../src/postgres/schema/schema-dump.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { goBack } from '../../../src/postgres/upgrade/back.ts'
import { decodeOldEvent, type OldEntry } from '../../../src/postgres/upgrade/old-entries.ts'
import { upgradeState } from '../../../src/postgres/upgrade/old-ledger.ts'
import { copyAhead, copyAndSwitch, type UpgradeOptions } from '../../../src/postgres/upgrade/upgrade.ts'
import { UpgradeError } from '../../../src/postgres/upgrade/upgrade-error.ts'
import { bodyOfEntry } from '../../../src/webhooks/envelope.ts'
import { auditTrail, oldAuditTrail, readOldColumns, rowsInOldTerms } from '../../support/both-layouts.ts'
import { eventually } from '../../support/eventually.ts'
import { fillOldLedger, makeOldDatabase, OLD_SECRET_KEY, type OldWorld, OldWriter } from '../../support/old-ledger.ts'
import { openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, night, requestFor, sampleBooking } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

let database: TestDatabase
let sql: Sql
let writer: OldWriter
let world: OldWorld
let steps: string[]
let options: UpgradeOptions

beforeEach(async () => {
  database = await testDatabase({ template: 'empty' })
  await makeOldDatabase(database.url)
  sql = connect(database.url, { purpose: 'admin' })
  await readOldColumns(sql)
  writer = new OldWriter(sql)
  await writer.takeOver()
  world = await fillOldLedger(sql, writer)
  steps = []
  options = { databaseUrl: database.url, secretKey: OLD_SECRET_KEY, onStep: (step) => steps.push(step) }
})

afterEach(async () => {
  await sql.end({ timeout: 0 })
  await database.drop()
})

/** The previous version books a stay of the first agency: the `place`-th of many. */
function oldBooking(place: number) {
  const [agency, unit, keyId] = [world.agencies[0], world.units[0]?.[0], world.keyIds[0]]
  if (agency === undefined || unit === undefined || keyId === undefined) throw new Error('The old ledger has no agency')
  const at = Date.UTC(2026, 10, 1)
  const arrival = addNights(night('2028-01-01'), 2 * place)
  const after = sampleBooking({
    ...{ id: systemIds('bkg'), unitId: unit.id, createdAt: at, updatedAt: at, sourceRef: `OLD-${place}` },
    ...{ arrival, departure: addNights(arrival, 2) },
  })
  const caller = {
    actor: { kind: 'key', id: keyId },
    route: 'POST /partner/v1/bookings',
    requestId: `req-${place}`,
  } as const
  return { agency, unit, event: { kind: 'booking_created', after }, at, caller } as const
}

describe('an upgrade from the layout before shards', () => {
  test('gives the schema of a new database', async () => {
    expect(await copyAndSwitch(options)).toEqual({ copiedSeq: writer.lastSeq, unknownCallers: 0, differentBodies: 0 })
    expect(await upgradeState(sql)).toEqual({ stage: 'switched', main: 'public' })
    const fresh = await testDatabase()
    expect(await dumpSchema(sql)).toBe(await dumpSchema(fresh.sql))
    await fresh.drop()
  })

  test('keeps every row that anybody is shown', async () => {
    const before = await rowsInOldTerms(sql)
    await copyAndSwitch(options)
    expect(await rowsInOldTerms(sql)).toEqual(before)
    expect(before['booking']).toHaveLength(12)
    expect(before['booking']?.join()).toContain('family (ill)')
  })

  test('keeps the audit trail of every agency', async () => {
    const before = await Promise.all(world.agencies.map(({ id }) => oldAuditTrail(sql, id)))
    await copyAndSwitch(options)
    for (const [i, { id }] of world.agencies.entries()) {
      expect(before[i]?.length).toBe(17)
      expect(await auditTrail(database.url, id)).toEqual(before[i] ?? [])
    }
    // Only what no entry tells has a line of its own.
    const [lines] =
      await sql`select count(*)::int as n, count(*) filter (where outcome = 'OK')::int as ok from audit_line`
    expect(lines).toEqual({ n: 18, ok: 6 } as never)
  })

  test('renders every webhook event with the body that was stored', async () => {
    const stored = await sql<{ id: string; seq: number; body: string }[]>`
      select event_id as "id", seq::float8 as "seq", body from webhook_event where seq is not null order by seq`
    const refs = await sql<
      { id: string; ref: string | null }[]
    >`select booking_id as "id", source_ref as "ref" from booking`
    await copyAndSwitch(options)
    const rows = await sql<
      { id: string; unitId: string; otherUnitId: string | null; bookingId: string; at: Date; seq: number }[]
    >`
      select entry_id as "id", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload,
             checksum::text as "checksum", at, seq::float8 as "seq"
      from journal where is_announced order by seq`
    const bodies = rows.map((row) => {
      const bookingId = idOf('bkg', row.bookingId)
      const entry = {
        ...{ ...(row as unknown as Parameters<typeof bodyOfEntry>[0]), id: idOf('evt', row.id), bookingId },
        ...{
          unitId: idOf('unt', row.unitId),
          otherUnitId: row.otherUnitId === null ? null : idOf('unt', row.otherUnitId),
        },
        at: row.at.getTime(),
      }
      const ref = bookingId === world.erasedId ? 'Ref, of "Zoë"' : refs.find(({ id }) => id === bookingId)?.ref
      return { id: entry.id, seq: row.seq, body: bodyOfEntry(entry, ref ?? null) }
    })
    expect(bodies).toEqual([...stored])
    expect(stored).toHaveLength(21)
  })

  test('leaves no free text in the journal', async () => {
    await copyAndSwitch(options)
    const rows = await sql`select payload from journal where payload ~ 'Zoë|family|sourceRef|cancelReason|hold_expired'`
    expect(rows).toHaveLength(0)
  })

  test('leaves a ledger that verifies, takes bookings, and continues the numbers of every shard', async () => {
    await copyAndSwitch(options)
    expect((await verifyDatabase(sql)).differences).toEqual([])
    const ledger = await openTestDatabaseLedger(database.url)
    const [agency, unit] = [world.agencies[1], world.units[1]?.[0]]
    if (agency === undefined || unit === undefined) throw new Error('The old ledger has no second agency')
    const outcome = await ledger.commands.book(agency, requestFor(unit, '2027-07-01', '2027-07-04'), CALLER)
    expect(outcome).toMatchObject({ kind: 'done', seq: writer.lastSeq + 1 })
    const taken = await ledger.commands.book(agency, requestFor(unit, '2027-04-03', '2027-04-04'), CALLER)
    expect(taken).toMatchObject({ kind: 'rejected', rejection: { code: 'BOOKING_CONFLICT' } })
    await ledger.close()
    expect((await verifyDatabase(sql)).differences).toEqual([])
    const shards = await sql`select from shard where mark = ${writer.lastSeq} and epoch > 1`
    expect(shards).toHaveLength(SHARDS)
    expect(new Set(world.agencies.map(({ id }) => shardOf(id))).size).toBeGreaterThan(1)
  })

  test('keeps the snapshots of units, so that a long history is not replayed', async () => {
    const [agencyId, unitId] = [world.agencies[0]?.id ?? '', world.units[0]?.[0]?.id ?? '']
    const entries = await sql<OldEntry[]>`
      select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", kind, payload, checksum from journal
      where unit_id = ${unitId} or other_unit_id = ${unitId} order by seq`
    const state = UnitState.empty(unitId)
    for (const entry of entries.slice(0, -1)) state.apply(decodeOldEvent(entry), entry.seq)
    const { seq, format, hash, state: text } = encodeSnapshot(agencyId, state)
    await sql`
      insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
      values (${agencyId}, ${unitId}, ${seq}, ${format}, ${hash}, ${text}, now())`
    await copyAndSwitch(options)
    const store = new PostgresJournalStore({ url: database.url, queries: database.sql })
    const defects: string[] = []
    expect(await recoverUnit(store, { agencyId, unitId }, (defect) => defects.push(defect))).toMatchObject({
      tailLength: 1,
    })
    expect(defects).toEqual([])
    await store.close()
    expect(await verifyDatabase(sql)).toMatchObject({ snapshots: 1, differences: [] })
  })

  test('begins the cursor of every endpoint at the last old entry: no event is sent twice, none is left out', async () => {
    await copyAndSwitch(options)
    const rows = await sql`select made_seq::int as made, from_seq::int as since from webhook_endpoint`
    expect([...rows]).toEqual(Array(3).fill({ made: writer.lastSeq, since: writer.lastSeq }) as never)
  })
})

describe('while a ledger is copied', () => {
  test('what the previous version writes is copied too', async () => {
    const acknowledged: string[] = []
    let place = 0
    let fenced: unknown = null
    const writing = (async () => {
      while (fenced === null) {
        const record = oldBooking(place++)
        try {
          await writer.append([record])
          acknowledged.push(record.event.after.id)
          await sql`update guest set phone = ${`+${place}`} where agency_id = ${record.agency.id}`
        } catch (error) {
          fenced = error
        }
        await Bun.sleep(5)
      }
    })()
    await copyAhead({ ...options, pageSize: 3 })
    const ahead = acknowledged.length
    await eventually('the previous version writes on', () => acknowledged.length > ahead + 3)
    expect(await copyAndSwitch({ ...options, pageSize: 3 })).toMatchObject({ unknownCallers: 0, differentBodies: 0 })
    await writing
    // Fenced out; or, if it did not write in between, its tables have already moved.
    expect(['NL001', '42P01']).toContain((fenced as { code?: string }).code ?? String(fenced))
    const rows = await sql<{ id: string }[]>`select booking_id as "id" from booking where source_ref like 'OLD-%'`
    expect(rows.map(({ id }) => idOf('bkg', id)).sort()).toEqual(acknowledged.sort())
    expect((await verifyDatabase(sql)).differences).toEqual([])
    const [old, present] = await Promise.all([
      sql`select phone from ledger_previous.guest order by phone`,
      sql`select phone from guest order by phone`,
    ])
    expect([...present]).toEqual([...old])
  })

  test('it can be interrupted at any page, and continues', async () => {
    const before = await rowsInOldTerms(sql)
    let interruptions = 0
    for (let calls = 1; ; calls += 3) {
      let left = calls
      try {
        await copyAndSwitch({ ...options, pageSize: 4, isCancelled: () => left-- <= 0 })
        break
      } catch (error) {
        if (!(error instanceof UpgradeError)) throw error
        expect(error.message).toContain('was interrupted')
        interruptions += 1
        await writer.append([oldBooking(interruptions)])
      }
    }
    expect(interruptions).toBeGreaterThan(5)
    const after = await rowsInOldTerms(sql)
    expect(after['booking']).toHaveLength((before['booking']?.length ?? 0) + interruptions)
    expect({ ...after, booking: [], webhook_delivery: [] }).toEqual({ ...before, booking: [], webhook_delivery: [] })
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('a row that a trigger could not copy is copied again, and the previous version does not notice', async () => {
    await copyAhead(options)
    const blocker = connect(database.url, { purpose: 'admin' })
    await blocker.unsafe('begin; lock table ledger_next.booking in access exclusive mode').simple()
    await writer.append([oldBooking(1)])
    await blocker.unsafe('commit').simple()
    await blocker.end()
    expect(await sql`select from ledger_upgrade.missed where name = 'booking'`).toHaveLength(1)
    await copyAndSwitch(options)
    expect(await sql`select from booking where source_ref = 'OLD-1'`).toHaveLength(1)
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('a previous version that takes over again during the switch loses nothing', async () => {
    const connection = connect(database.url, { purpose: 'journal' })
    const restarted = new OldWriter(connection)
    await connection`select`
    const switching = copyAndSwitch(options)
    await eventually('it is fenced out', async () => {
      const [fence] = await sql`select holder from writer_fence`
      return fence?.['holder'] === 'upgrade'
    })
    await restarted.takeOver()
    await restarted.append([oldBooking(1)])
    await connection.end()
    await switching
    expect(steps.filter((step) => step === 'Fencing out the previous version')).toHaveLength(2)
    expect(await sql`select from booking where source_ref = 'OLD-1'`).toHaveLength(1)
    expect((await verifyDatabase(sql)).differences).toEqual([])
  })

  test('two processes that copy at once share the work', async () => {
    const outcomes = await Promise.all([copyAhead(options), copyAhead(options)])
    expect(outcomes.map(({ copiedSeq }) => copiedSeq)).toEqual([writer.lastSeq, writer.lastSeq])
    expect(steps).toContain('Waiting for another process that is copying this ledger')
  })

  test('two processes that start at once switch once, and both go on', async () => {
    const outcomes = await Promise.all([copyAndSwitch(options), copyAndSwitch(options)])
    expect(outcomes.map(({ copiedSeq }) => copiedSeq)).toEqual([writer.lastSeq, writer.lastSeq])
    expect(steps.filter((step) => step === 'Fencing out the previous version')).toHaveLength(1)
  })

  test('a reader that holds the old tables keeps the switch waiting, and nothing is fenced out meanwhile', async () => {
    await copyAhead(options)
    const backup = connect(database.url, { purpose: 'admin' })
    await backup.unsafe('begin; select from booking').simple()
    const switching = copyAndSwitch(options)
    await eventually('it waits', () => steps.some((step) => step.startsWith('Waiting for locks on the old tables')))
    await writer.append([oldBooking(1)])
    await backup.unsafe('commit').simple()
    await backup.end()
    await switching
    expect(await sql`select from booking where source_ref = 'OLD-1'`).toHaveLength(1)
  })

  test('the previous version can be started again: its schema is untouched', async () => {
    await copyAhead(options)
    const [newest] = await sql`select max(version) as version from schema_migration`
    expect(newest).toEqual({ version: 10 } as never)
    await writer.takeOver()
    await writer.append([oldBooking(1)])
  })
})

test.each(['guest 12', 'gst_00000000000000000000000000000ABC', 'bkg_00000000000000000000000000000abc'])(
  'an id of another form is refused before anything is changed: %s',
  async (id) => {
    await sql`update booking set guest_id = ${id} where booking_id = ${world.erasedId}`
    const failure = await copyAhead(options).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UpgradeError)
    expect(String(failure)).toContain(`table booking has an id of an unknown form, guest_id ${id}.`)
    expect(await upgradeState(sql)).toEqual({ stage: 'old', main: 'public' })
    expect(await sql`select from pg_namespace where nspname like 'ledger_%'`).toHaveLength(0)
  },
)

test('an entry that is not as it was written stops the copy, and the previous version serves on', async () => {
  await sql`update journal set payload = payload || ' ' where seq = 5`
  expect(String(await copyAhead(options).catch((error: unknown) => error))).toContain('journal entry 5: its checksum')
  await writer.append([oldBooking(1)])
})

test('an entry without a line in the audit trail is copied with an unknown author, and counted', async () => {
  const [line] = await sql<{ id: string }[]>`
    delete from audit where audit_id = (select min(audit_id) from audit where outcome = 'OK' and booking_id is not null)
    returning audit_id as "id"`
  expect(line).toBeDefined()
  expect(await copyAndSwitch(options)).toMatchObject({ unknownCallers: 1 })
  expect(await sql`select from journal where route = 'unknown' and actor_kind = 'system'`).toHaveLength(1)
})

test('a ledger in a schema of its own stays there', async () => {
  const other = await testDatabase({ template: 'empty' })
  const name = new URL(other.url).pathname.slice(1)
  await other.sql
    .unsafe(`create schema "my ledger"; alter database ${name} set search_path = "my ledger", public`)
    .simple()
  await makeOldDatabase(other.url)
  const there = connect(other.url, { purpose: 'admin' })
  const last = new OldWriter(there)
  await last.takeOver()
  await fillOldLedger(there, last)
  await copyAndSwitch({ ...options, databaseUrl: other.url })
  expect(await upgradeState(there)).toEqual({ stage: 'switched', main: '"my ledger"' })
  expect((await verifyDatabase(there)).differences).toEqual([])
  await goBack(other.url, () => {})
  await last.takeOver()
  expect(last.lastSeq).toBe(writer.lastSeq)
  await there.end()
  await other.drop()
})
