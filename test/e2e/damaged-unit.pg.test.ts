import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { SNAPSHOT_FORMAT } from '../../src/core/journal/snapshot-codec.ts'
import { AssertionError } from '../../src/lib/assert.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { seedsOf } from '../sim/seeds.ts'
import { eventually } from '../support/eventually.ts'
import { openTestLedger } from '../support/ledger.ts'
import { rounds } from '../support/long-run.ts'
import { testDatabase } from '../support/postgres.ts'
import { CALLER, requestFor } from '../support/samples.ts'
import { startTestService, type TestService } from '../support/test-service.ts'
import { verifyDatabase } from '../support/verify-database.ts'

/*
 * D1: damage to what is stored of a unit stays with that unit, whatever was done to which of its rows. Each damage is inflicted with SQL
 * on a ledger at rest, with right checksums where the damage is to get past them; then the service starts on it.
 */

type Kind = 'unit_set' | 'booking_created' | 'booking_changed' | 'booking_cancelled'
type Damage = [what: string, inflict: () => Promise<unknown>]
const KINDS: readonly Kind[] = ['unit_set', 'booking_created', 'booking_changed', 'booking_cancelled']
const TABLES = ['journal', 'snapshot', 'booking', 'unit']
const WINDOW = 'from=2027-03-01&to=2027-04-01'

const database = await testDatabase()
const ledger = await openTestLedger({ on: database })
const agency = await ledger.agency()
const key = (await ledger.key(agency)).secret
const other = await ledger.agency()
const elsewhere = (await ledger.key(other)).secret
await ledger.unit(other, { slug: 'far' })
const damaged = await ledger.unit(agency, { slug: 'damaged' })
const whole = await ledger.unit(agency, { slug: 'whole' })
const { commands } = ledger.ledger
const changed = await ledger.book(agency, damaged, '2027-03-01', '2027-03-04')
const stay = { arrival: changed.arrival + 1, departure: changed.departure + 1 }
await commands.change(agency, { bookingId: changed.id, change: stay as never }, CALLER)
const cancelled = await ledger.book(agency, damaged, '2027-03-10', '2027-03-12')
await commands.cancel(agency, { bookingId: cancelled.id, reason: null }, CALLER)
for (const unit of [damaged, whole])
  await commands.book(agency, requestFor(unit, '2027-03-20', '2027-03-22', { status: 'option', holdHours: 1 }), CALLER)
await commands.setUnit(agency, damaged.id, (unit) => ({ ...(unit ?? damaged), name: 'Another name' }), CALLER)
await ledger.close()
await database.sql`delete from snapshot`
await database.sql`update booking set hold_expires_at = now() - interval '1 minute' where status = 'option'`
for (const table of TABLES) await database.sql.unsafe(`create table kept_${table} as table ${table}`)
afterAll(() => database.drop())

beforeEach(async () => {
  for (const table of TABLES) {
    await database.sql.unsafe(`delete from ${table}`)
    await database.sql.unsafe(`insert into ${table} select * from kept_${table}`)
  }
})

/** What is still done, and what is refused, by a service on what is stored. */
async function harm(): Promise<{ read: number; quote: number; book: number; cancel: number }> {
  const service = await startTestService({ on: database })
  try {
    const answers = await askedOf(service)
    await eventually('the hold of the unit beside it is released', async () => {
      const [row] =
        await database.sql`select from booking where cancel_reason = 'hold_expired' and arrival = '2027-03-20'`
      return row !== undefined
    })
    expect(service.bugs).toEqual([])
    expect(service.ledger.reports.failures.filter((failure) => failure instanceof AssertionError)).toEqual([])
    return answers
  } finally {
    await service.close()
  }
}

async function askedOf({ call }: TestService) {
  const stay = { adults: 2, arrival: '2027-03-25', departure: '2027-03-28' }
  const status = async (path: string, json?: object) =>
    (await call(path, { key, ...(json === undefined ? {} : { json, method: 'POST' }) })).status
  const answers = {
    read: await status(`/availability?unit=damaged&${WINDOW}`),
    quote: await status('/quote', { unit: 'damaged', ...stay }),
    book: await status('/bookings', { unit: 'damaged', ...stay }),
    cancel: await status(`/bookings/${cancelled.id}/cancel`, {}),
  }
  // Nobody else notices.
  const { body: calendar, ...calendars } = await call(`/calendar?${WINDOW}`, { key })
  expect(calendars.status).toBe(200)
  if (answers.read === 500)
    expect(calendar.units.find(({ unit }: { unit: string }) => unit === 'damaged').blocked).toEqual([
      { from: '2027-03-01', to: '2027-04-01' },
    ])
  const search = await call('/search?arrival=2027-03-13&departure=2027-03-16&adults=2', { key })
  expect(search.status).toBe(200)
  const offered = search.body.offers.map(({ unit }: { unit: { slug: string } | string }) =>
    typeof unit === 'string' ? unit : unit.slug,
  )
  expect(offered).toContain('whole')
  if (answers.read === 500) expect(offered).not.toContain('damaged')
  expect(await status(`/availability?unit=whole&${WINDOW}`)).toBe(200)
  expect(await status('/bookings', { unit: 'whole', ...stay })).toBe(201)
  expect((await call(`/availability?unit=far&${WINDOW}`, { key: elsewhere })).status).toBe(200)
  return answers
}

const of = (kind: Kind) => database.sql`kind = ${kind} and unit_id = ${uuidOf(damaged.id)}::text::uuid`

/** As recovery expects them, so that only what the entries say is wrong. */
async function withRightChecksums(): Promise<void> {
  type Row = Record<'seq' | 'unit' | 'other' | 'booking' | 'kind' | 'payload', string>
  const rows = await database.sql<Row[]>`
    select seq, 'unt_' || replace(unit_id::text, '-', '') as "unit", kind, payload,
           coalesce('unt_' || replace(other_unit_id::text, '-', ''), '') as "other",
           coalesce('bkg_' || replace(booking_id::text, '-', ''), '') as "booking"
    from journal`
  for (const { seq, unit, other, booking, kind, payload } of rows) {
    const covered = `${seq}|${unit}|${other}|${booking}|${kind}|${payload}`
    const checksum = BigInt.asIntN(64, Bun.hash.xxHash64(covered)).toString()
    await database.sql`
      update journal set checksum = ${checksum}::text::bigint
      where seq = ${seq}::text::bigint and unit_id = ${uuidOf(unit)}::text::uuid and payload = ${payload}`
  }
}

test('without damage everything is answered', async () => {
  expect(await harm()).toEqual({ read: 200, quote: 200, book: 201, cancel: 200 })
})

const { first } = seedsOf({ push: 1, long: 1 })

describe.each(KINDS)(`an entry of kind %s, from SIM_FIRST=${first} on,`, (kind) => {
  const isOfBooking = kind !== 'unit_set'
  const damages: Damage[] = [
    ['is gone', () => database.sql`delete from journal where ${of(kind)}`],
    ['has another byte', () => database.sql`update journal set payload = payload || ' ' where ${of(kind)}`],
    ['is of another unit', () => database.sql`update journal set unit_id = gen_random_uuid() where ${of(kind)}`],
    ['names another booking', () => database.sql`update journal set booking_id = gen_random_uuid() where ${of(kind)}`],
    ['has a number far ahead', () => database.sql`update journal set seq = seq + 1000 where ${of(kind)}`],
    ...KINDS.filter((to) => to !== kind).map(
      (to): Damage => [
        `says that it is of kind ${to}`,
        () => database.sql`update journal set kind = ${to} where ${of(kind)}`,
      ],
    ),
    ...['', '{', 'null', '[]', '{}', '{"unit":null,"after":null}', '{"unit":{},"after":{},"before":{}}'].map(
      (payload): Damage => [
        `says ${payload === '' ? 'nothing' : payload}`,
        () => database.sql`update journal set payload = ${payload} where ${of(kind)}`,
      ],
    ),
    ...(isOfBooking
      ? [['names no booking', () => database.sql`update journal set booking_id = null where ${of(kind)}`] as Damage]
      : []),
  ]
  // On a push each is done to entries of one kind, in the long run to those of each.
  const turn = KINDS.indexOf(kind) + first
  const done = damages.filter((_, i) => (turn + i) % KINDS.length < rounds({ push: 1, long: KINDS.length }))
  test.each(done)('that %s', async (what, inflict) => {
    await inflict()
    if (what !== 'has another byte') await withRightChecksums()
    await harm()
    const { differences } = await verifyDatabase(database.sql)
    expect(differences).not.toEqual([])
    // What cannot be read is named with its unit, and the verification continues.
    if (!what.startsWith('says ') || what.startsWith('says that')) return
    const entries = await database.sql<
      { at: string }[]
    >`select shard || '/' || seq as "at" from journal where ${of(kind)}`
    const named = differences.filter(
      ({ unitId, message }) => unitId === damaged.id && message.startsWith('Cannot read'),
    )
    expect(named.map(({ at }) => at).sort()).toEqual(entries.map(({ at }) => at).sort())
  })
})

describe('a booking', () => {
  const confirmed = () => database.sql`unit_id = ${uuidOf(damaged.id)}::text::uuid and status = 'confirmed'`
  test.each<Damage>([
    [
      'with other nights',
      () => database.sql`update booking set arrival = arrival + 12, departure = departure + 12 where ${confirmed()}`,
    ],
    ['of another unit', () => database.sql`update booking set unit_id = gen_random_uuid() where ${confirmed()}`],
    ['that is cancelled', () => database.sql`update booking set status = 'cancelled' where ${confirmed()}`],
    ['that is not cancelled', () => database.sql`update booking set status = 'confirmed' where status = 'cancelled'`],
    ['that is gone', () => database.sql`delete from booking where ${confirmed()}`],
  ])('%s', async (_, inflict) => {
    await inflict()
    await harm()
    expect((await verifyDatabase(database.sql)).differences).not.toEqual([])
  })

  test('whose row says that it is alive cannot be cancelled once more, and is told that nothing was changed', async () => {
    await database.sql`update booking set status = 'confirmed' where status = 'cancelled'`
    const service = await startTestService({ on: database })
    try {
      const { status, body } = await service.call(`/bookings/${cancelled.id}/cancel`, { key, json: {}, method: 'POST' })
      expect([status, body.code, body.title]).toEqual([500, 'INTERNAL', expect.stringContaining('Nothing was changed')])
    } finally {
      await service.close()
    }
  })
})

test.each([
  'null',
  '[]',
  '{}',
  '{"seasons":null,"weekdayAdjustments":[],"lengthOfStayDiscounts":[]}',
  '{"seasons":[{}],"weekdayAdjustments":[],"lengthOfStayDiscounts":[]}',
  '{"seasons":[{"from":"2027-01-01","to":"soon"}],"weekdayAdjustments":[],"lengthOfStayDiscounts":[]}',
])('the database refuses a unit with the rates %s, which nobody could read', async (rates) => {
  const damage = database.sql`update unit set rates = ${rates}::text::jsonb where slug = 'damaged'`
  expect(await damage.catch(({ constraint_name }) => constraint_name)).toBe('unit_rates_have_their_form')
})

describe('a snapshot is not trusted, and costs nothing', () => {
  test.each(['', '{', 'null', '{}', '{"seq":9,"rules":{},"occupied":[],"departures":[],"extensions":[]}'])(
    'that says %s under a right hash',
    async (state) => {
      const hash = new Bun.CryptoHasher('sha256').update(`${damaged.id}\n${state}`).digest('hex')
      await database.sql`
        insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
        select agency_id, unit_id, max(seq), ${SNAPSHOT_FORMAT}::int, ${hash}, ${state}, now() from journal
        where unit_id = ${uuidOf(damaged.id)}::text::uuid group by agency_id, unit_id`
      expect(await harm()).toEqual({ read: 200, quote: 200, book: 201, cancel: 200 })
    },
  )
})
