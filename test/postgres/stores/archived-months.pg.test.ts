import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import { keepMonthEnds } from '../../../src/app/month-archive.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { nodesOf, rootOf } from '../../../src/events/checkpoints/merkle-tree.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import type { Fragment, Sql } from '../../../src/postgres/client/connect.ts'
import { PostgresCheckpointRows } from '../../../src/postgres/stores/postgres-checkpoint-rows.ts'
import { PostgresJournalStore } from '../../../src/postgres/stores/postgres-journal-store.ts'
import { makeCheckpoints } from '../../support/checkpoints.ts'
import { eventually } from '../../support/eventually.ts'
import { holding } from '../../support/held-lock.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../../support/open-ledger.ts'
import { clockAt, haveMonthsSince, monthsAgo } from '../../support/past-months.ts'
import { copyOf, type TestDatabase, testDatabase } from '../../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../../support/samples.ts'
import { verifyDatabase } from '../../support/verify-database.ts'
import { bookedId } from '../../verify/support/lived-ledger.ts'

const OLDEST = monthsAgo(2)
const TABLES = ['journal', 'audit_line', 'webhook_delivery', 'webhook_attempt'].map(
  (table) => `${table}_${OLDEST.slice(0, 7).replace('-', '_')}`,
)

/** What each test begins with a copy of. */
let prepared: TestDatabase
let database: TestDatabase
let ledger: Ledger
let agency: Agency
/** Whose only entries are of the oldest month. */
let quiet: Agency
let units: Record<'a' | 'b' | 'c' | 'quiet', Unit>
let now = 0

/** Three months of bookings: all units in the first, `b` not in the second, `c` in no other one. */
beforeAll(async () => {
  prepared = await testDatabase()
  database = prepared
  await haveMonthsSince(prepared.sql, OLDEST)
  now = Date.parse(`${OLDEST}T12:00:00Z`)
  ledger = await open()
  agency = await addAgency(ledger)
  quiet = await addAgency(ledger, { id: sampleId('agc', 'quiet'), slug: 'quiet' })
  const unit = (label: string, of = agency) =>
    addUnit(ledger, of, sampleUnit({ id: sampleId('unt', label), slug: label }))
  units = { a: await unit('a'), b: await unit('b'), c: await unit('c'), quiet: await unit('quiet', quiet) }
  await book(units.a, 1)
  const moved = await book(units.a, 3)
  await ledger.commands.change(agency, { bookingId: moved, change: { unitId: units.b.id } }, CALLER)
  await book(units.c, 1)
  await book(units.quiet, 1)
  // An entry of no unit.
  await ledger.commands.eraseGuest(quiet, { guestId: sampleId('gst', 'a'), isErased: false }, CALLER)
  now = Date.parse(`${monthsAgo(1)}T12:00:00Z`)
  await book(units.a, 5)
  now = Date.now()
  await book(units.b, 5)
  await makeCheckpoints(prepared.sql)
  await ledger.close()
  // Those that closing has written.
  await prepared.sql`delete from snapshot`
})
afterAll(() => prepared.drop())
beforeEach(async () => {
  now = Date.now()
  database = await copyOf(prepared)
  ledger = await open()
})
afterEach(async () => {
  await ledger.close()
  await database.drop()
})

function open(limits: { snapshotEvery?: number } = {}): Promise<Ledger> {
  return openTestDatabaseLedger(database.url, { clock: clockAt(() => now), limits })
}

async function reopen(limits: { snapshotEvery?: number } = {}): Promise<void> {
  await ledger.close()
  ledger = await open(limits)
}

async function book(unit: Unit, day: number): Promise<string> {
  const night = (n: number) => `2030-01-${String(n).padStart(2, '0')}`
  const of = unit === units.quiet ? quiet : agency
  return bookedId(await ledger.commands.book(of, requestFor(unit, night(day), night(day + 1)), CALLER))
}

const writeSnapshots = () => keepMonthEnds(database.sql, OLDEST)

const archive = () => database.sql<{ retire_month: string }[]>`select retire_month(${OLDEST}::text::date)`
const refusal = (of: Promise<unknown>) => of.then(String, (error: Error) => error.message)

async function archived(): Promise<void> {
  await writeSnapshots()
  await archive()
}

/** By unit, and what a replay of its journal gave before anything was archived. */
async function states(): Promise<Record<string, string>> {
  const of = (unit: Unit) =>
    ledger.directory.read({ agencyId: unit === units.quiet ? quiet.id : agency.id, unitId: unit.id })
  return Object.fromEntries(
    await Promise.all(Object.entries(units).map(async ([name, unit]) => [name, stateHash(await of(unit))])),
  )
}

const findings = async () =>
  (await verifyDatabase(database.sql)).differences.map(({ what, unitId, message }) => ({ what, unitId, message }))

test('a month that was archived is in tables of its own, and what is left verifies', async () => {
  const before = await verifyDatabase(database.sql)
  expect(before.differences).toEqual([])
  await writeSnapshots()
  const names = await archive()
  expect(names.map(({ retire_month }) => retire_month)).toEqual(TABLES)
  const [kept] = await database.sql.unsafe<{ entries: number; lines: number }[]>(
    `select count(*)::int as entries, (select count(*)::int from ${TABLES[1]}) as lines from ${TABLES[0]}`,
  )
  expect([kept?.entries, (kept?.lines ?? 0) > 0]).toEqual([10, true])
  const after = await verifyDatabase(database.sql)
  expect(after.differences).toEqual([])
  expect([before.entries, after.entries]).toEqual([12, 2])
  const [{ oldest } = {}] = await database.sql`select oldest_month::text as oldest from ledger`
  expect(oldest).toBe(monthsAgo(1))
})

test('the running service continues the numbers and the chain, and so does the next one', async () => {
  await archived()
  await book(units.a, 10)
  await reopen()
  await book(units.b, 10)
  await book(units.quiet, 10)
  expect(await findings()).toEqual([])
  const shards = await database.sql<{ shard: number; numbers: string }[]>`
    select shard, string_agg(seq::text, ',' order by seq) as "numbers" from journal group by shard`
  expect(shards.map(({ numbers }) => numbers).sort()).toEqual(['4', '8,9,10,11'])
})

test('after a restore, archiving leaves the numbers from which the shards continue', async () => {
  await ledger.close()
  await database.sql`select after_restore()`
  const marks = async () => [...(await database.sql`select shard, mark from shard order by shard`)]
  const before = await marks()
  await archived()
  expect(await marks()).toEqual(before)
  ledger = await open()
})

test('the trees keep the leaves of archived entries, and grow from there', async () => {
  const rows = new PostgresCheckpointRows(database.sql)
  const rootOfAll = async () => {
    const { size } = await rows.end(agency.id)
    return { size, root: rootOf(await rows.hashes(agency.id, nodesOf(0, size))) }
  }
  const before = await rootOfAll()
  await archived()
  await makeCheckpoints(database.sql)
  expect(await rootOfAll()).toEqual(before)
  await book(units.a, 10)
  await makeCheckpoints(database.sql)
  expect((await rootOfAll()).size).toBe(before.size + 1)
})

test('every unit is recovered as it was, from its snapshot', async () => {
  const before = await states()
  await archived()
  await reopen()
  expect(await states()).toEqual(before)
  const taken = await ledger.commands.book(agency, requestFor(units.c, '2030-01-01', '2030-01-02'), CALLER)
  expect(taken).toMatchObject({ kind: 'rejected' })
})

test('of each unit, snapshots from before its last archived entry are gone, and later ones are left', async () => {
  await writeSnapshots()
  const copied = (unit: Unit, seq: number) => database.sql`
    insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
    select agency_id, unit_id, ${seq}, format, hash, state, taken_at from snapshot where unit_id = ${uuidOf(unit.id)} limit 1`
  await copied(units.a, 1)
  await copied(units.quiet, 1)
  // The last archived entry of the others has a higher number.
  await copied(units.quiet, 3)
  await archive()
  const left = await database.sql<{ isOlder: boolean; seq: number }[]>`
    select s.seq < a.seq as "isOlder", s.seq::int as seq from snapshot s join archived_unit a using (unit_id)`
  expect(left.filter(({ isOlder }) => isOlder)).toEqual([])
  expect(left.map(({ seq }) => seq)).toContain(3)
})

test('the months of deliveries are vacuumed early, because their rows change until they are sent; others are not', async () => {
  const months = await database.sql<{ name: string }[]>`
    select relname as name from pg_class where relkind = 'r' and relispartition and reloptions is not null`
  expect(months.length).toBeGreaterThan(1)
  expect(months.filter(({ name }) => !name.startsWith('webhook_delivery_'))).toEqual([])
})

test('the snapshot that archived entries rest on is kept, however many newer ones there are', async () => {
  await archived()
  await reopen({ snapshotEvery: 1 })
  const snapshots = () => database.sql<{ seq: string; isBase: boolean }[]>`
    select seq, is_base as "isBase" from snapshot where unit_id = ${uuidOf(units.a.id)} order by seq`
  const lastSeq = async () =>
    (await database.sql`select max(seq) as seq from journal where unit_id = ${uuidOf(units.a.id)}`)[0]
  const [base] = await snapshots()
  for (let day = 10; day < 20; day++) {
    await book(units.a, day)
    const seq = (await lastSeq())?.['seq']
    await eventually('its snapshot is written', async () => (await snapshots()).at(-1)?.seq === seq)
  }
  expect((await snapshots()).map(({ isBase }) => isBase)).toEqual([true, false, false, false])
  expect((await snapshots())[0]).toEqual(base as never)
  expect(await findings()).toEqual([])
  // With none of the newer ones, the unit is replayed from it.
  const before = await states()
  await ledger.close()
  await database.sql`update snapshot set hash = 'damaged' where not is_base`
  ledger = await open()
  expect(await states()).toEqual(before)
})

describe('without the snapshot that takes the place of archived entries', () => {
  beforeEach(archived)

  test.each([
    ['is missing', () => database.sql`delete from snapshot`],
    ['is damaged', () => database.sql`update snapshot set state = state || ' '`],
  ])('when it %s, a unit is not recovered from what is left, and verify says so', async (_, damage) => {
    await ledger.close()
    await damage()
    ledger = await open()
    for (const unit of [units.a, units.c])
      expect(await refusal(ledger.directory.read({ agencyId: agency.id, unitId: unit.id }))).toContain(
        `Cannot recover unit ${unit.id}: its entries up to`,
      )
    const found = await findings()
    for (const { id } of Object.values(units))
      expect(found).toContainEqual(expect.objectContaining({ what: 'snapshot', unitId: id }))
  })

  test.each([
    ['all are missing', () => database.sql`delete from snapshot`],
    [
      'it is missing, and a newer one is damaged',
      () => database.sql`
      with lost as (delete from snapshot where is_base) update snapshot set hash = 'damaged' where not is_base`,
    ],
  ])('when %s, a unit that was changed since is not taken for a new one, read alone or together', async (_, damage) => {
    await reopen({ snapshotEvery: 1 })
    await ledger.commands.setUnit(agency, units.c.id, (current) => sampleUnit({ ...current, name: 'Renamed' }), CALLER)
    await eventually('its snapshot is written', async () => {
      const [row] = await database.sql`select count(*)::int as n from snapshot where unit_id = ${uuidOf(units.c.id)}`
      return row?.['n'] === 2
    })
    await ledger.close()
    await damage()
    ledger = await open()
    const refused = `Cannot recover unit ${units.c.id}: its entries up to`
    expect(await refusal(ledger.directory.read({ agencyId: agency.id, unitId: units.c.id }))).toContain(refused)
    const store = new PostgresJournalStore({ url: database.url, queries: database.sql })
    const together = await store.loadUnits(agency.id, [units.c.id])
    // Left out, or with what cannot be trusted.
    expect((together.get(units.c.id)?.snapshots ?? [{ hash: 'damaged' }]).map(({ hash }) => hash)).toEqual(['damaged'])
    await store.close()
    expect(await findings()).toContainEqual(expect.objectContaining({ what: 'snapshot', unitId: units.c.id }))
  })

  test('a unit that is new is not held up', async () => {
    await database.sql`delete from snapshot`
    await reopen()
    const unit = await addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', 'new'), slug: 'new' }))
    await book(unit, 1)
  })
})

describe('a month is not archived', () => {
  test('when it is not the oldest, or not over', async () => {
    await writeSnapshots()
    const retire = (month: string) => refusal(database.sql`select retire_month(${month}::text::date)`)
    expect(await retire(monthsAgo(1))).toBe(`Cannot archive ${monthsAgo(1)}: the oldest month is ${OLDEST}`)
    await database.sql`update ledger set oldest_month = ${monthsAgo(0)}::text::date`
    expect(await retire(monthsAgo(0))).toBe(`Cannot archive ${monthsAgo(0)}: the month must have been over for a day`)
  })

  test('before its units have snapshots; those that have none are named', async () => {
    const message = await refusal(archive())
    expect(message).toStartWith(`Cannot archive ${OLDEST}: 4 units have no snapshot of what they were at its end: unt_`)
    for (const { id } of Object.values(units)) expect(message).toContain(id)
    await writeSnapshots()
    await database.sql`update snapshot set state = state || ' ' where unit_id = ${uuidOf(units.c.id)}`
    expect(await refusal(archive())).toContain(`1 units have no snapshot of what they were at its end: ${units.c.id}`)
  })

  test('while a snapshot of a unit is damaged, until it is written again', async () => {
    await writeSnapshots()
    await database.sql`update snapshot set state = state || ' ' where unit_id = ${uuidOf(units.c.id)}`
    expect(await refusal(archive())).toContain(`1 units have no snapshot of what they were at its end: ${units.c.id}`)
    await archived()
    expect(await findings()).toEqual([])
  })

  test.each([
    [
      'after an earlier entry',
      (sql) => sql`set seq = (select min(seq) from journal where unit_id = ${uuidOf(units.a.id)})`,
    ],
    [
      'after a later entry',
      (sql) => sql`set seq = (select max(seq) from journal where unit_id = ${uuidOf(units.a.id)})`,
    ],
    ['after its last entry of the month, but may be pruned', (sql) => sql`set is_base = false`],
  ] as [string, (sql: Sql) => Fragment][])('while the snapshot of a unit is one %s', async (_, set) => {
    await writeSnapshots()
    await database.sql`update snapshot ${set(database.sql)} where unit_id = ${uuidOf(units.a.id)}`
    expect(await refusal(archive())).toContain(`1 units have no snapshot of what they were at its end: ${units.a.id}`)
    await archived()
  })

  test('before each of its entries has a leaf in the tree of its agency', async () => {
    await writeSnapshots()
    await database.sql`delete from checkpoint where agency_id = ${uuidOf(quiet.id)}`
    expect(await refusal(archive())).toBe(`Cannot archive ${OLDEST}: entries of 1 agencies have no checkpoint`)
    await makeCheckpoints(database.sql)
    await archive()
  })

  test('while partitions are made', async () => {
    await writeSnapshots()
    const made = await holding(database.url, 'select ensure_months(newest_month) from ledger')
    const refused = await refusal(archive())
    await made()
    expect(refused).toContain('lock timeout')
    await archive()
  })

  test('while webhooks of it are pending, or wait for an endpoint that is off', async () => {
    await writeSnapshots()
    const endpoint = sampleId('whe', 'a')
    await database.sql`
      insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at, made_seq)
      values (${uuidOf(agency.id)}, ${uuidOf(endpoint)}, 'https://hooks.example/in', 'disabled', '', now(), now(), 6)`
    expect(await refusal(archive())).toBe(
      `Cannot archive ${OLDEST}: webhook events of this month wait for endpoints: ${endpoint}`,
    )
    await database.sql`update webhook_endpoint set made_seq = 100`
    await database.sql`
      insert into webhook_delivery (seq, created_at, next_attempt_at, agency_id, endpoint_id, delivery_id, event_id, month,
                                    entry_month, kind, status)
      select seq, now(), now(), agency_id, ${uuidOf(endpoint)}, entry_id, entry_id, storage_month(now()), month,
             'booking.created', 'pending' from journal where month = ${OLDEST}::text::date and is_announced limit 1`
    expect(await refusal(archive())).toBe(`Cannot archive ${OLDEST}: webhook deliveries of this month are pending`)
    // It reads before it locks: a batch that is being written need not end first.
    const written = await holding(database.url, 'select from shard for share')
    const refused = await refusal(archive())
    await written()
    expect(refused).toBe(`Cannot archive ${OLDEST}: webhook deliveries of this month are pending`)
    await database.sql`update webhook_delivery set status = 'delivered'`
    // None of the events that the endpoint gets are of this month.
    await database.sql`update webhook_endpoint set made_seq = 6, events = '{rates.updated}'`
    await archive()
  })

  test('but for the webhooks of a sandbox, whose clock may never be moved', async () => {
    await writeSnapshots()
    const endpoint = sampleId('whe', 'a')
    await database.sql`update agency set clock_now = now(), clock_target = now() where agency_id = ${uuidOf(quiet.id)}`
    await database.sql`
      insert into webhook_endpoint (agency_id, endpoint_id, url, status, secret_sealed, created_at, updated_at)
      values (${uuidOf(quiet.id)}, ${uuidOf(endpoint)}, 'https://hooks.example/in', 'disabled', '', now(), now())`
    await database.sql`
      insert into webhook_delivery (seq, created_at, next_attempt_at, agency_id, endpoint_id, delivery_id, event_id, month,
                                    entry_month, kind, status)
      select seq, now(), now(), agency_id, ${uuidOf(endpoint)}, entry_id, entry_id, storage_month(now()), month,
             'booking.created', 'pending' from journal
      where month = ${OLDEST}::text::date and is_announced and agency_id = ${uuidOf(quiet.id)} limit 1`
    await archive()
    expect(await findings()).toEqual([])
  })

  test('and then nothing has changed', async () => {
    const state = async () => [
      [...(await database.sql`select * from shard order by shard`)].map(({ taken_at: _, ...shard }) => shard),
      [...(await database.sql`select unit_id, seq, is_base from snapshot order by 1, 2`)],
      [...(await database.sql`select * from ledger`)],
    ]
    await writeSnapshots()
    await database.sql`delete from snapshot where unit_id = ${uuidOf(units.c.id)}`
    const before = await state()
    await refusal(archive())
    expect(await state()).toEqual(before)
  })
})

test('snapshots of a month that could not be archived are not pruned, and verify compares them with the entries', async () => {
  await reopen({ snapshotEvery: 1 })
  await writeSnapshots()
  const bases = () => database.sql`select unit_id, seq from snapshot where is_base order by 1`
  const before = [...(await bases())]
  for (let day = 10; day < 16; day++) await book(units.a, day)
  await ledger.close()
  expect([...(await bases())]).toEqual(before)
  expect(await findings()).toEqual([])
  // With a hash that fits.
  await database.sql`
    update snapshot s set state = o.state, hash = encode(sha256(convert_to(${`${units.b.id}\n`} || o.state, 'UTF8')), 'hex')
    from snapshot o where s.unit_id = ${uuidOf(units.b.id)} and s.is_base and o.unit_id = ${uuidOf(units.c.id)} and o.is_base`
  expect(await findings()).toEqual([expect.objectContaining({ what: 'snapshot', unitId: units.b.id })])
  ledger = await open()
})

test('bookings are made while a month is archived', async () => {
  await writeSnapshots()
  let stop = false
  const booking = (async () => {
    for (let day = 6; !stop && day < 28; day++) await book(units.b, day)
  })()
  await archive()
  stop = true
  await booking
  await book(units.b, 30)
  expect(await findings()).toEqual([])
})
