import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../src/app/open-ledger.ts'
import type { FoundOutcome } from '../../src/core/bookings/booking-request.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { stateHash } from '../../src/core/journal/snapshot-codec.ts'
import { PostgresVerifyStore } from '../../src/postgres/stores/postgres-verify-store.ts'
import { DIFFERENCES_MAX } from '../../src/verify/findings.ts'
import { type LiveUnits, verify } from '../../src/verify/verify.ts'
import type { VerifyStore } from '../../src/verify/verify-store.ts'
import { eventually } from '../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger } from '../support/open-ledger.ts'
import { type TestDatabase, testDatabase } from '../support/postgres.ts'
import { CALLER, requestFor, sampleId, sampleUnit } from '../support/samples.ts'

const EVENT_X = sampleId('evt', 'x')

let database: TestDatabase
let ledger: Ledger
let agency: Agency
let units: Unit[]

beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate agency cascade`
  await database.sql`truncate journal, snapshot, booking, guest, audit, webhook_event, webhook_delivery, idempotency`
  ledger = await openTestDatabaseLedger(database.url, { limits: { snapshotEvery: 3 } })
  agency = await addAgency(ledger)
  units = await Promise.all(
    ['a', 'b'].map((slug) => addUnit(ledger, agency, sampleUnit({ id: sampleId('unt', slug), slug }))),
  )
})
afterEach(() => ledger.close())

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: null, nationality: null }

function idOf(outcome: FoundOutcome): string {
  if (outcome.kind !== 'done') throw new Error('Expected a booking')
  return outcome.booking.id
}

/** Bookings, a cancellation, a move, and a change that sends no event. */
async function live(): Promise<{ kept: string; cancelled: string; moved: string }> {
  const [a, b] = units as [Unit, Unit]
  const book = async (unit: Unit, from: string, to: string) =>
    idOf(await ledger.commands.book(agency, requestFor(unit, from, to, { guest: GUEST }), CALLER))
  const kept = await book(a, '2027-03-01', '2027-03-04')
  const cancelled = await book(a, '2027-03-10', '2027-03-12')
  const moved = await book(a, '2027-03-20', '2027-03-22')
  await ledger.commands.cancel(agency, { bookingId: cancelled, reason: null }, CALLER)
  await ledger.commands.change(agency, { bookingId: moved, change: { unitId: b.id } }, CALLER)
  await ledger.commands.change(agency, { bookingId: kept, change: { status: 'checked_in' } }, CALLER)
  await ledger.commands.change(agency, { bookingId: kept, change: { expectedUntil: 20_900 as never } }, CALLER)
  return { kept, cancelled, moved }
}

const memory: LiveUnits = async (unitIds) =>
  new Map(
    unitIds.flatMap((unitId) => {
      const state = ledger.directory.peek(unitId)
      return state === null ? [] : [[unitId, { seq: state.seq, hash: stateHash(state) }]]
    }),
  )

function check(limit?: number) {
  return verify(new PostgresVerifyStore(database.sql), { live: memory, ...(limit === undefined ? {} : { limit }) })
}

/** Wraps `store`, and records the length of every list it returns. */
function counting(store: VerifyStore): { store: VerifyStore; largest: Map<string, number> } {
  const largest = new Map<string, number>()
  const counted = new Proxy(store, {
    get: (target, name: keyof VerifyStore) => {
      const method = target[name] as (...args: unknown[]) => Promise<unknown>
      return async (...args: unknown[]) => {
        const rows = await method.apply(target, args)
        if (Array.isArray(rows)) largest.set(name, Math.max(largest.get(name) ?? 0, rows.length))
        return rows
      }
    },
  })
  return { store: counted, largest }
}

test('an intact ledger matches its journal, including memory', async () => {
  await live()
  await eventually('a snapshot is written', async () => (await database.sql`select from snapshot`).length > 0)
  const report = await check()
  expect(report.differences).toEqual([])
  expect(report).toMatchObject({ units: 2, bookings: 3, entries: report.lastSeq, events: 6 })
  expect(report.snapshots).toBeGreaterThan(0)
})

test('no page has more rows than the limit, and the page size does not change the result', async () => {
  await live()
  await eventually('a snapshot is written', async () => (await database.sql`select from snapshot`).length > 0)
  const whole = await check()
  expect(whole.entries).toBeGreaterThan(2 * 3)
  for (const limit of [1, 2, 3]) {
    const { store, largest } = counting(new PostgresVerifyStore(database.sql))
    expect(await verify(store, { live: memory, limit })).toEqual(whole)
    // Only a few snapshots are kept per unit.
    largest.delete('snapshots')
    expect([...largest].filter(([, rows]) => rows > limit)).toEqual([])
    expect([...largest.keys()].sort()).toEqual(
      [
        'bookingsById',
        'bookingsShortOfAudit',
        'entries',
        'entriesAt',
        'events',
        'orphanedDeliveries',
        'strayBookings',
        'strayDeliveries',
      ].concat('units'),
    )
  }
})

test('a completely damaged ledger is reported as its first differences and their number', async () => {
  await live()
  await database.sql`
    insert into booking select agency_id, 'bkg_' || lpad(i::text, 32, '0'), unit_id, type, status, source, source_ref,
      date '2030-01-01' + i, date '2030-01-01' + i + 1, adults, children, extra_bed, total_amount, guest_id, notes,
      hold_expires_at, expected_until, cancelled_at, cancel_reason, created_at, updated_at, 0, 1
    from (select * from booking limit 1) one, generate_series(1, ${DIFFERENCES_MAX}::int + 50) i`
  await database.sql`delete from guest`
  const report = await check()
  expect(report.differences).toHaveLength(DIFFERENCES_MAX)
  expect(report.differenceCount).toBeGreaterThan(DIFFERENCES_MAX)
})

test('it runs while the service writes', async () => {
  const [a] = units as [Unit, Unit]
  let stop = false
  const writing = (async () => {
    for (let day = 0; !stop && day < 28; day++) {
      const arrival = `2028-${String(1 + (day % 12)).padStart(2, '0')}-${String(1 + Math.floor(day / 12)).padStart(2, '0')}`
      const next = `${arrival.slice(0, 8)}${String(2 + Math.floor(day / 12)).padStart(2, '0')}`
      const id = idOf(await ledger.commands.book(agency, requestFor(a, arrival, next), CALLER))
      await ledger.commands.cancel(agency, { bookingId: id, reason: null }, CALLER)
    }
  })()
  for (let i = 0; i < 10; i++) expect((await check()).differences).toEqual([])
  stop = true
  await writing
})

describe('it finds', () => {
  /** Each damage, and the kind of difference it must be reported as. */
  const DAMAGE: Record<string, { what: string; damage: (ids: Awaited<ReturnType<typeof live>>) => Promise<unknown> }> =
    {
      'a flipped byte in the journal': {
        what: 'journal',
        damage: () =>
          database.sql`update journal set payload = replace(payload, '2027-03-10', '2027-03-11') where seq = 4`,
      },
      'a missing journal entry': { what: 'journal', damage: () => database.sql`delete from journal where seq = 5` },
      'a damaged snapshot': {
        what: 'snapshot',
        damage: () => database.sql`update snapshot set state = state || ' '`,
      },
      'a readable but wrong snapshot': {
        what: 'snapshot',
        damage: () => database.sql`
        update snapshot set state = replace(state, '"minStay":1', '"minStay":2'), hash = encode(sha256(
          convert_to(unit_id || chr(10) || replace(state, '"minStay":1', '"minStay":2'), 'UTF8')), 'hex')`,
      },
      'a booking with changed dates': {
        what: 'booking',
        damage: ({ kept }) => database.sql`update booking set departure = departure + 1 where booking_id = ${kept}`,
      },
      'a missing booking': {
        what: 'booking',
        damage: ({ moved }) => database.sql`delete from booking where booking_id = ${moved}`,
      },
      'a booking that is not in the journal': {
        what: 'booking',
        damage: () => database.sql`
        insert into booking select agency_id, ${sampleId('bkg', 'x')}, unit_id, type, status, source, source_ref,
          '2029-01-01', '2029-01-02', adults, children, extra_bed, total_amount, guest_id, notes, hold_expires_at,
          expected_until, cancelled_at, cancel_reason, created_at, updated_at, version, 1 from booking limit 1`,
      },
      'a booking whose row names an entry before its last one': {
        what: 'booking',
        damage: ({ moved }) => database.sql`update booking set seq = seq - 1 where booking_id = ${moved}`,
      },
      'a booking whose row names an entry of another booking': {
        what: 'booking',
        damage: ({ moved }) => database.sql`
        update booking set seq = (select max(seq) from journal) where booking_id = ${moved}`,
      },
      'a missing guest': { what: 'guest', damage: () => database.sql`delete from guest` },
      'a missing event': { what: 'event', damage: () => database.sql`delete from webhook_event where seq = 4` },
      'an event with a changed body': {
        what: 'event',
        damage: () => database.sql`update webhook_event set body = replace(body, 'confirmed', 'option') where seq = 4`,
      },
      'an event whose body cannot be read': {
        what: 'event',
        damage: () => database.sql`update webhook_event set body = left(body, 20) where seq = 4`,
      },
      'an event with a changed kind': {
        what: 'event',
        damage: () => database.sql`update webhook_event set kind = 'booking.updated' where seq = 4`,
      },
      'an event for a change that sends none': {
        what: 'event',
        damage: () => database.sql`
        insert into webhook_event select agency_id, ${EVENT_X}, (select max(seq) from journal), kind, booking_id, body,
          occurred_at from webhook_event limit 1`,
      },
      'an event of a missing journal entry': {
        what: 'event',
        damage: () => database.sql`delete from journal where seq = 4`,
      },
      'an event of an entry that changes no booking': {
        what: 'event',
        damage: () => database.sql`
        insert into webhook_event select agency_id, ${EVENT_X}, 1, kind, booking_id, body, occurred_at
        from webhook_event limit 1`,
      },
      'an event of another agency': {
        what: 'event',
        damage: () => database.sql`
        insert into webhook_event select ${sampleId('agc', 'other')}, ${EVENT_X}, seq, kind, booking_id, body,
          occurred_at from webhook_event limit 1`,
      },
      'a missing audit line': {
        what: 'audit',
        damage: ({ cancelled }) => database.sql`delete from audit where booking_id = ${cancelled}`,
      },
      'a delivery without an event': {
        what: 'delivery',
        damage: () => database.sql`
        insert into webhook_delivery (agency_id, delivery_id, endpoint_id, event_id, status, next_attempt_at, created_at)
        values (${agency.id}, ${sampleId('dlv', 'x')}, ${sampleId('whe', 'x')}, ${EVENT_X}, 'pending', now(), now())`,
      },
    }
  for (const [damage, { what, damage: inflict }] of Object.entries(DAMAGE)) {
    test(damage, async () => {
      const ids = await live()
      // Two units with more than three entries each, three of them in a snapshot, which is written after its change is
      // answered.
      await eventually('the snapshot is written', async () => (await database.sql`select from snapshot`).length > 0)
      await inflict(ids)
      // Also with one row per page: the result must not depend on where a page ends.
      for (const limit of [undefined, 1])
        expect((await check(limit)).differences.map((difference) => difference.what)).toContain(what as never)
    })
  }

  test('an actor whose state differs from the journal', async () => {
    await live()
    const state = ledger.directory.peek(sampleId('unt', 'a'))
    state?.occupied.setRange(21_000 as never, 21_001 as never)
    expect((await check()).differences).toMatchObject([{ what: 'memory', unitId: sampleId('unt', 'a') }])
  })
})
