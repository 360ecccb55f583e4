import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { Ledger } from '../../../src/app/ledger.ts'
import type { FoundOutcome } from '../../../src/core/bookings/booking-turns.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { emptyTables } from '../../support/empty-tables.ts'
import { eventually } from '../../support/eventually.ts'
import { addAgency, addUnit, openTestDatabaseLedger, type Reports } from '../../support/open-ledger.ts'
import { testDatabase } from '../../support/postgres.ts'
import { CALLER, night, requestFor, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const AGENCY_B = sampleId('agc', 'b')
const UNIT_B = sampleId('unt', 'b')

let ledger: Ledger & { reports: Reports }
let agency: Agency
let unit: Unit

const database = await testDatabase()
afterAll(() => database.drop())
beforeEach(async () => {
  await emptyTables(database.sql)
  ledger = await openTestDatabaseLedger(database.url)
  agency = await addAgency(ledger)
  unit = await addUnit(ledger, agency, sampleUnit())
})
afterEach(() => ledger.close())

function done(outcome: FoundOutcome) {
  if (outcome.kind !== 'done') throw new Error(`Expected a booking, got ${JSON.stringify(outcome)}`)
  return outcome
}

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'Ana@Example.com', phone: null, nationality: 'PT' }

describe('a booking', () => {
  test('J2: leaves its journal entry, with who made it and what its event says, its row and its guest', async () => {
    const { booking, seq } = done(
      await ledger.commands.book(
        agency,
        requestFor(unit, '2027-03-01', '2027-03-04', { guest: GUEST, notes: 'late' }),
        CALLER,
      ),
    )
    expect(seq).toBe(2)
    const { actor, route, requestId } = CALLER
    const [journal] = await database.sql`select * from journal where seq = 2`
    expect({ ...journal, payload: JSON.parse(journal?.['payload']) }).toMatchObject({
      kind: 'booking_created',
      is_announced: true,
      route,
      actor_kind: actor.kind,
      request_id: requestId,
      payload: {
        after: { arrival: '2027-03-01', totalAmount: 35_000, version: 1 },
        envelope: { unitSlug: 'sea-view', unitName: unit.name, currency: 'EUR' },
      },
    })
    expect(idOf('bkg', journal?.['booking_id'])).toBe(booking.id)
    expect(idOf('key', journal?.['actor_id'])).toBe(actor.id ?? '')
    const [row] = await database.sql`
      select booking.*, arrival::text, total_amount::int, booking.seq::int, guest.email
      from booking join guest using (agency_id, guest_id)`
    expect(row).toMatchObject({
      arrival: '2027-03-01',
      total_amount: 35_000,
      seq: 2,
      version: 1,
      notes: 'late',
      email: 'Ana@Example.com',
    })
    expect(await database.sql`select from audit_line where route = ${CALLER.route}`).toHaveLength(0)
  })

  test('keeps its free texts and its guest out of the journal, whatever is done with it', async () => {
    const texts = { guest: GUEST, notes: 'Ana is allergic', sourceRef: 'reis-1' }
    const request = requestFor(unit, '2027-03-01', '2027-03-04', texts)
    const { booking } = done(await ledger.commands.book(agency, request, CALLER))
    done(await ledger.commands.cancel(agency, { bookingId: booking.id, reason: 'Ana fell ill' }, CALLER))
    const [text] = await database.sql`select string_agg(payload, ' ') as "all" from journal`
    expect(text?.['all']).not.toMatch(/Ana|Reis|example\.com|allergic/i)
    const found = await ledger.bookingRows.find(agency.id, booking.id)
    expect(found?.booking).toMatchObject({ sourceRef: 'reis-1', cancelReason: 'Ana fell ill' })
  })

  test('a refused one leaves an audit line with its code and nothing else', async () => {
    done(await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04'), CALLER))
    const outcome = await ledger.commands.book(agency, requestFor(unit, '2027-03-03', '2027-03-06'), CALLER)
    expect(outcome).toMatchObject({
      kind: 'rejected',
      rejection: {
        code: 'BOOKING_CONFLICT',
        conflict: { nights: [night('2027-03-03')], bookableFrom: night('2027-03-04') },
      },
    })
    const rows = await database.sql`select outcome from audit_line where route = ${CALLER.route}`
    expect(rows.map((row) => row['outcome'])).toEqual(['BOOKING_CONFLICT'])
    expect(await database.sql`select from journal`).toHaveLength(2)
    expect(await database.sql`select from booking`).toHaveLength(1)
  })

  test('of many at once for the same nights exactly one is made', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () =>
        ledger.commands.book(agency, requestFor(unit, '2027-04-01', '2027-04-03'), CALLER),
      ),
    )
    expect(outcomes.filter(({ kind }) => kind === 'done')).toHaveLength(1)
    expect(await database.sql`select from booking`).toHaveLength(1)
  })

  test('the wall in Postgres refuses what memory would have sold, and only that booking fails', async () => {
    const other = await addUnit(ledger, agency, sampleUnit({ id: UNIT_B, slug: 'b' }))
    await database.sql`
      insert into booking (agency_id, booking_id, unit_id, type, status, source, arrival, departure, adults, children,
                           extra_bed, total_amount, created_at, updated_at, version, seq)
      values (${uuidOf(agency.id)}, ${uuidOf(sampleId('bkg', 'x'))}, ${uuidOf(unit.id)}, 'guest', 'confirmed', 'smuggled',
              '2027-05-01', '2027-05-03', 1, 0, false, 0, now(), now(), 1, 0)`
    const [sold, good] = await Promise.allSettled([
      ledger.commands.book(agency, requestFor(unit, '2027-05-02', '2027-05-04'), CALLER),
      ledger.commands.book(agency, requestFor(other, '2027-05-02', '2027-05-04'), CALLER),
    ])
    expect(sold).toMatchObject({ status: 'rejected', reason: { kind: 'poisoned' } })
    expect(good).toMatchObject({ status: 'fulfilled', value: { kind: 'done' } })
    const state = await ledger.commands.calendar(agency, unit)
    expect(state.occupied.isEmpty()).toBe(true)
  })
})

describe('guests', () => {
  test('two bookings at once with the same new e-mail, in other letters, make one guest', async () => {
    const other = await addUnit(ledger, agency, sampleUnit({ id: UNIT_B, slug: 'b' }))
    await Promise.all([
      ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04', { guest: GUEST }), CALLER),
      ledger.commands.book(
        agency,
        requestFor(other, '2027-03-01', '2027-03-04', { guest: { ...GUEST, email: 'ana@example.COM' } }),
        CALLER,
      ),
    ])
    expect(await database.sql`select from guest`).toHaveLength(1)
    const guests = await database.sql`select distinct guest_id from booking`
    expect(guests).toHaveLength(1)
  })

  test('a known guest is reused and keeps the name first given; another agency has its own', async () => {
    const foreign = await addAgency(ledger, { id: AGENCY_B, slug: 'b' })
    const foreignUnit = await addUnit(ledger, foreign, sampleUnit({ id: sampleId('unt', 'f') }))
    await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04', { guest: GUEST }), CALLER)
    await ledger.commands.book(
      agency,
      requestFor(unit, '2027-03-04', '2027-03-06', { guest: { ...GUEST, firstName: 'Anna' } }),
      CALLER,
    )
    await ledger.commands.book(foreign, requestFor(foreignUnit, '2027-03-04', '2027-03-06', { guest: GUEST }), CALLER)
    const guests = await database.sql`select agency_id, first_name from guest order by agency_id`
    expect(guests.map((row) => [idOf('agc', row['agency_id']), row['first_name']])).toEqual([
      ...[
        [agency.id, 'Ana'],
        [AGENCY_B, 'Ana'],
      ],
    ])
  })

  test('guests without an e-mail are never taken for one another', async () => {
    const nobody = { ...GUEST, email: null }
    await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04', { guest: nobody }), CALLER)
    await ledger.commands.book(agency, requestFor(unit, '2027-03-04', '2027-03-06', { guest: nobody }), CALLER)
    expect(await database.sql`select from guest`).toHaveLength(2)
  })
})

describe('cancelling', () => {
  test('frees the nights, keeps the row with its reason, and is not an error the second time', async () => {
    const { booking } = done(await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04'), CALLER))
    const pending = { bookingId: booking.id, reason: 'plans changed' }
    const first = done(await ledger.commands.cancel(agency, pending, CALLER))
    const second = done(await ledger.commands.cancel(agency, { ...pending, reason: 'other' }, CALLER))
    expect(first.booking).toMatchObject({ status: 'cancelled', cancelReason: 'plans changed', version: 2 })
    expect(second.booking).toEqual(first.booking)
    expect((await ledger.commands.calendar(agency, unit)).occupied.isEmpty()).toBe(true)
    const kinds =
      await database.sql`select kind from journal where is_announced and booking_id is not null order by seq`
    expect(kinds.map((row) => row['kind'])).toEqual(['booking_created', 'booking_cancelled'])
  })

  test('a booking of another agency is not found', async () => {
    const { booking } = done(await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04'), CALLER))
    const foreign = await addAgency(ledger, { id: AGENCY_B, slug: 'b' })
    const outcome = await ledger.commands.cancel(foreign, { bookingId: booking.id, reason: null }, CALLER)
    expect(outcome.kind).toBe('not_found')
  })
})

describe('moving between units', () => {
  test('U4: is one journal entry that both units replay', async () => {
    const other = await addUnit(
      ledger,
      agency,
      sampleUnit({ id: UNIT_B, slug: 'b', rules: sampleRules({ turnoverNights: 1 }) }),
    )
    const { booking } = done(await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04'), CALLER))
    done(await ledger.commands.change(agency, { bookingId: booking.id, change: { unitId: other.id } }, CALLER))
    const entries = await database.sql`select unit_id, other_unit_id from journal where kind = 'booking_changed'`
    expect(entries.map((row) => [idOf('unt', row['unit_id']), idOf('unt', row['other_unit_id'])])).toEqual([
      [UNIT_B, unit.id],
    ])
    const hashes = await Promise.all(
      [unit, other].map(async (u) => stateHash(await ledger.commands.calendar(agency, u))),
    )
    await ledger.close()
    await database.sql`truncate snapshot`
    ledger = await openTestDatabaseLedger(database.url)
    expect(
      await Promise.all([unit, other].map(async (u) => stateHash(await ledger.commands.calendar(agency, u)))),
    ).toEqual(hashes)
  })

  test('U4: many moves back and forth at once neither deadlock nor sell a night twice', async () => {
    const other = await addUnit(ledger, agency, sampleUnit({ id: UNIT_B, slug: 'b' }))
    const made = await Promise.all(
      [unit, other].map((u) => ledger.commands.book(agency, requestFor(u, '2027-03-01', '2027-03-04'), CALLER)),
    )
    const free = done(await ledger.commands.book(agency, requestFor(unit, '2027-04-01', '2027-04-04'), CALLER)).booking
    const ids = [...made.map((outcome) => done(outcome).booking.id), free.id]
    const outcomes = await Promise.all(
      Array.from({ length: 120 }, (_, i) =>
        ledger.commands.change(
          agency,
          { bookingId: ids[i % 3] as string, change: { unitId: i % 2 === 0 ? other.id : unit.id } },
          CALLER,
        ),
      ),
    )
    expect(outcomes.every(({ kind }) => kind === 'done' || kind === 'rejected')).toBe(true)
    const rows =
      await database.sql`select unit_id, count(*)::int as n from booking where arrival = '2027-03-01' group by 1`
    expect(rows.map((row) => row['n'])).toEqual([1, 1])
  })
})

describe('holds', () => {
  test('release themselves on time, not early, with the reason hold_expired and an event', async () => {
    const held = { status: 'option', holdHours: 1 } as const
    const { booking } = done(
      await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04', held), CALLER),
    )
    expect(booking.holdExpiresAt).toBe(booking.createdAt + HOUR_MS)
    expect(done(await ledger.commands.expire(agency, booking.id)).booking.status).toBe('option')
    const soon = Date.now() + 5_000
    done(await ledger.commands.change(agency, { bookingId: booking.id, change: { holdExpiresAt: soon } }, CALLER))
    while ((await database.sql`select from booking where status = 'option'`).length > 0) await Bun.sleep(10)
    expect(Date.now()).toBeGreaterThanOrEqual(soon)
    const [row] = await database.sql`select status, cancel_reason, hold_expires_at, cancelled_at from booking`
    expect(row).toMatchObject({ status: 'cancelled', cancel_reason: 'hold_expired', hold_expires_at: null })
    expect(row?.['cancelled_at'].getTime()).toBeGreaterThanOrEqual(soon)
    expect((await ledger.commands.calendar(agency, unit)).occupied.isEmpty()).toBe(true)
    const [entry] = await database.sql`select actor_kind, is_announced from journal where route = 'hold timer'`
    expect(entry).toMatchObject({ actor_kind: 'system', is_announced: true })
  })

  test('that expired while no process ran are released at the next start, resident or not', async () => {
    const held = { status: 'draft', holdHours: 1 } as const
    done(await ledger.commands.book(agency, requestFor(unit, '2027-03-01', '2027-03-04', held), CALLER))
    await ledger.close()
    await database.sql`update booking set hold_expires_at = now() - interval '1 minute'`
    ledger = await openTestDatabaseLedger(database.url)
    const drafts = async () => (await database.sql`select from booking where status = 'draft'`).length
    await eventually('the hold is over', async () => (await drafts()) === 0)
    expect(await database.sql`select from booking where status = 'cancelled'`).toHaveLength(1)
  })
})

describe('restarts', () => {
  test('S1: a flipped byte in the newest snapshot is noticed, and recovery continues without it', async () => {
    for (let day = 10; day < 20; day++) {
      done(await ledger.commands.book(agency, requestFor(unit, `2027-03-${day}`, `2027-03-${day + 1}`), CALLER))
    }
    const hash = stateHash(await ledger.commands.calendar(agency, unit))
    await ledger.close()
    await database.sql`update snapshot set state = replace(state, '1', '2')`
    ledger = await openTestDatabaseLedger(database.url)
    expect(stateHash(await ledger.commands.calendar(agency, unit))).toBe(hash)
    expect(ledger.reports.defects).toMatchObject([{ defect: 'its hash does not match', unitId: unit.id }])
  })

  test('a flipped byte in the journal is named, and the unit is not sold on a guess', async () => {
    done(await ledger.commands.book(agency, requestFor(unit, '2027-03-10', '2027-03-11'), CALLER))
    await ledger.close()
    await database.sql`truncate snapshot`
    await database.sql`update journal set payload = replace(payload, '2027-03-10', '2027-03-09') where seq = 2`
    ledger = await openTestDatabaseLedger(database.url)
    const refused = await ledger.commands
      .book(agency, requestFor(unit, '2027-06-01', '2027-06-02'), CALLER)
      .catch((e) => e)
    expect(refused.message).toBe('Cannot read journal entry 2: its checksum does not match')
  })

  test('J5: of two writers the older one is fenced, acknowledges nothing more, and says so', async () => {
    const newer = await openTestDatabaseLedger(database.url)
    const refused = await ledger.commands
      .book(agency, requestFor(unit, '2027-06-01', '2027-06-02'), CALLER)
      .catch((e) => e)
    expect(refused).toMatchObject({ name: 'JournalError', kind: 'fenced' })
    expect(ledger.reports.fenced).toHaveLength(1)
    expect(done(await newer.commands.book(agency, requestFor(unit, '2027-06-01', '2027-06-02'), CALLER)).seq).toBe(2)
    await newer.close()
  })
})
