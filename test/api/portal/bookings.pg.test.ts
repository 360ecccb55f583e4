import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { BOOKING_STATUSES, type BookingStatus, TRANSITIONS } from '../../../src/core/domain/booking.ts'
import type { Unit } from '../../../src/core/domain/unit.ts'
import { HOUR_MS } from '../../../src/lib/clock.ts'
import { idOf, uuidOf } from '../../../src/lib/ids.ts'
import { firedEvents } from '../../support/fired-events.ts'
import { sampleId, sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let unit: Unit
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency({ timezone: 'Europe/Berlin' })
  unit = await service.unit(agency)
  path = `/agencies/${agency.slug}/bookings`
})

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: null, nationality: 'PT' }

async function book(change: Record<string, unknown> = {}) {
  const answer = await service.ask(path, { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-05', ...change })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body.booking
}

async function eventsOf(bookingId: string): Promise<string[]> {
  return (await firedEvents(service.database.sql, bookingId)).map(({ event }) => event)
}

describe('a booking of the agency', () => {
  test('has guest and notes on reads, and defaults: a confirmed guest from the portal', async () => {
    const made = await book({ guest: GUEST, notes: 'late', children: 1, extraBed: true })
    expect(made).toMatchObject({
      type: 'guest',
      status: 'confirmed',
      source: 'portal',
      sourceRef: null,
      adults: 2,
      children: 1,
      extraBed: true,
      expectedUntil: null,
      version: 1,
      notes: 'late',
      unitSlug: unit.slug,
      guest: GUEST,
    })
    expect(made.totalAmount).toBe(4 * 10_000 + 5_000 + 4 * 1_500)
    expect((await service.get(`${path}/${made.id}`)).body.booking).toEqual(made)
    const list = (await service.get(path)).body
    expect(list).toMatchObject({ page: 1, pageSize: 100, totalItems: 1, pageCount: 1 })
    expect(list.bookings).toEqual([made])
    const [line] = (await service.get(`/agencies/${agency.slug}/audit`)).body.audit
    expect(line).toMatchObject({ actor: { kind: 'portal', id: null }, outcome: 'OK', bookingId: made.id })
    expect(await eventsOf(made.id)).toEqual(['booking.created'])
  })

  test.each(['owner_stay', 'maintenance', 'block'])(
    'of the type %s costs nothing and takes its nights',
    async (type) => {
      const made = await book({ type })
      expect(made).toMatchObject({ type, totalAmount: 0, adults: type === 'owner_stay' ? 2 : 0 })
      const { secret } = await service.key(agency)
      const quote = await service.asPartner(secret, '/quote', {
        unit: unit.slug,
        arrival: '2027-03-04',
        departure: '2027-03-06',
      })
      expect(quote.body).toMatchObject({ available: false, reasons: ['BOOKING_CONFLICT'] })
    },
  )

  test.each([...BOOKING_STATUSES])('can be made %s', async (status) => {
    const made = await book({ status })
    expect(made.status).toBe(status)
    expect(made.holdExpiresAt === null).toBe(status !== 'draft' && status !== 'option')
    expect(made.cancelledAt === null).toBe(status !== 'cancelled')
  })

  test('is not bound by minimum stay, cleaning and extensions, but by the night guard', async () => {
    const strict = await service.unit(agency, { rules: sampleRules({ minStay: 7, turnoverNights: 2 }) })
    const of = (arrival: string, departure: string, more = {}) => ({ unit: strict.slug, arrival, departure, ...more })
    await book(of('2027-03-01', '2027-03-03', { status: 'checked_in', expectedUntil: '2027-03-06' }))
    await book(of('2027-03-03', '2027-03-04'))
    const taken = await service.ask(path, of('2027-03-02', '2027-03-08'))
    expect(taken.status).toBe(409)
    expect(taken.body).toMatchObject({ code: 'BOOKING_CONFLICT', conflict: { nights: ['2027-03-02', '2027-03-03'] } })
    const [line] = (await service.get(`/agencies/${agency.slug}/audit?outcome=BOOKING_CONFLICT`)).body.audit
    expect(line).toMatchObject({ route: 'POST /portal/v1/agencies/{agencySlug}/bookings', count: 1 })
    expect((await service.get(`/agencies/${agency.slug}/audit?outcome=BOOKING_CONFLICT`)).body.totalItems).toBe(1)
  })

  test.each([
    ['arrival', { arrival: '2027-02-30' }],
    ['departure', { departure: '2027-03-01' }],
    ['departure', { departure: '2028-03-02' }],
    ['type', { type: 'party' }],
    ['status', { status: 'asleep' }],
    ['adults', { adults: 21 }],
    ['source', { source: '' }],
    ['sourceRef', { sourceRef: 'x'.repeat(121) }],
    ['holdHours', { holdHours: 0 }],
    ['guest.email', { guest: { ...GUEST, email: 'nobody' } }],
    ['guest.lastName', { guest: { firstName: 'Ana' } }],
    ['expectedUntil', { expectedUntil: '2027-03-09' }],
    ['expectedUntil', { status: 'checked_in', expectedUntil: '2027-03-05' }],
  ])('is refused with a wrong %s, which is in the trail once', async (field, change) => {
    const answer = await service.ask(path, {
      unit: unit.slug,
      arrival: '2027-03-01',
      departure: '2027-03-05',
      ...change,
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
    const { audit } = (await service.get(`/agencies/${agency.slug}/audit?actor=portal`)).body
    expect(audit.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['VALIDATION'])
  })

  test('of an unknown or archived unit is 404', async () => {
    const archived = await service.unit(agency, { status: 'archived' })
    for (const slug of ['nowhere', archived.slug]) {
      const answer = await service.ask(path, { unit: slug, arrival: '2027-03-01', departure: '2027-03-05' })
      expect(answer.body).toMatchObject({ code: 'NOT_FOUND' })
    }
  })
})

describe('the list', () => {
  test('is filtered by each parameter, and empty for what is unknown', async () => {
    const other = await service.unit(agency)
    const a = await book({ source: 'airbnb', sourceRef: 'HM1', guest: GUEST })
    const b = await book({ unit: other.slug, type: 'block', arrival: '2027-04-01', departure: '2027-04-03' })
    const ids = async (query: string) =>
      (await service.get(`${path}?${query}`)).body.bookings.map(({ id }: { id: string }) => id)
    expect(await ids('')).toEqual([b.id, a.id])
    expect(await ids('from=2027-03-06')).toEqual([b.id])
    expect(await ids('to=2027-03-31')).toEqual([a.id])
    expect(await ids('departedBefore=2027-03-06')).toEqual([a.id])
    expect(await ids('departedBefore=2027-03-05')).toEqual([])
    expect(await ids('order=earliest_first')).toEqual([a.id, b.id])
    expect(await ids('order=earliest_first&pageSize=1&page=2')).toEqual([b.id])
    expect(await ids(`unit=${other.slug}`)).toEqual([b.id])
    expect(await ids('type=block')).toEqual([b.id])
    expect(await ids('source=airbnb&sourceRef=HM1')).toEqual([a.id])
    expect(await ids(`guest=${a.guest.id}`)).toEqual([a.id])
    expect(await ids('pageSize=1&page=2')).toEqual([a.id])
    for (const query of [
      'unit=nowhere',
      'status=asleep',
      'type=party',
      `guest=${sampleId('gst', 'x')}`,
      'guest=gst_x',
      'status=cancelled',
    ])
      expect(await ids(query)).toEqual([])
    expect((await service.get(`${path}?from=2027-13-01`)).body).toMatchObject({ errors: [{ field: 'from' }] })
  })
})

describe('the status machine', () => {
  for (const from of BOOKING_STATUSES) {
    for (const to of BOOKING_STATUSES) {
      const possible: readonly BookingStatus[] = TRANSITIONS[from]
      const isPossible = possible.includes(to) || from === to
      test(`${from} → ${to} is ${isPossible ? 'done' : 'refused with what is possible'}`, async () => {
        const { id } = await book({ status: from })
        const answer = await service.patch(`${path}/${id}`, { status: to })
        if (isPossible) {
          expect(answer.status).toBe(200)
          expect(answer.body.booking).toMatchObject({ id, status: to, version: from === to ? 1 : 2 })
        } else {
          expect(answer.status).toBe(409)
          expect(answer.body).toMatchObject({ code: 'INVALID_TRANSITION', from, to, possible })
          expect((await service.get(`${path}/${id}`)).body.booking.status).toBe(from)
        }
        const expected =
          !isPossible || from === to ? [] : [to === 'cancelled' ? 'booking.cancelled' : 'booking.updated']
        expect(await eventsOf(id)).toEqual(['booking.created', ...expected])
      })
    }
  }
})

describe('a change', () => {
  test('of dates is priced again and keeps guest and notes; of the status alone keeps the total', async () => {
    const made = await book({ guest: GUEST, notes: 'late' })
    await service.patch(`/agencies/${agency.slug}/units/${unit.slug}`, { basePrice: 20_000 })
    expect((await service.patch(`${path}/${made.id}`, { status: 'checked_in' })).body.booking.totalAmount).toBe(45_000)
    const longer = (await service.patch(`${path}/${made.id}`, { departure: '2027-03-06' })).body.booking
    expect(longer).toMatchObject({
      departure: '2027-03-06',
      totalAmount: 105_000,
      notes: 'late',
      guest: GUEST,
      version: 3,
    })
    expect(await eventsOf(made.id)).toEqual(['booking.created', 'booking.updated', 'booking.updated'])
  })

  test('into taken nights is 409 and changes nothing, not even the status that came with it', async () => {
    await book({ arrival: '2027-03-05', departure: '2027-03-08' })
    const { id } = await book()
    const answer = await service.patch(`${path}/${id}`, { status: 'checked_in', departure: '2027-03-06' })
    expect(answer.body).toMatchObject({ code: 'BOOKING_CONFLICT', conflict: { nights: ['2027-03-05'] } })
    expect((await service.get(`${path}/${id}`)).body.booking).toMatchObject({ status: 'confirmed', version: 1 })
  })

  test('to another unit is one journal entry of both', async () => {
    const other = await service.unit(agency, { rules: sampleRules({ basePrice: 30_000 }) })
    const { id } = await book()
    const moved = (await service.patch(`${path}/${id}`, { unit: other.slug })).body.booking
    expect(moved).toMatchObject({ unitSlug: other.slug, totalAmount: 125_000 })
    const rows = await service.database
      .sql`select unit_id, other_unit_id from journal where booking_id = ${uuidOf(id)} order by seq`
    expect(rows.map((row) => [row['unit_id'], row['other_unit_id']].map((uuid) => uuid && idOf('unt', uuid)))).toEqual([
      [unit.id, null],
      [other.id, unit.id],
    ])
    await book()
    expect((await service.patch(`${path}/${id}`, { unit: unit.slug })).body).toMatchObject({ code: 'BOOKING_CONFLICT' })
  })

  test('to an unknown unit is 404 for the unit, or for the booking if that is unknown too', async () => {
    const { id } = await book()
    const titles: unknown[] = []
    for (const bookingId of [id, sampleId('bkg', 'unknown')])
      titles.push((await service.patch(`${path}/${bookingId}`, { unit: 'nowhere' })).body.title)
    expect(titles).toEqual(['No such unit', 'No such booking'])
  })

  test('of what only some statuses have is refused in the others', async () => {
    const { id } = await book()
    expect((await service.patch(`${path}/${id}`, { expectedUntil: '2027-03-09' })).body).toMatchObject({
      code: 'VALIDATION',
      errors: [{ field: 'expectedUntil' }],
    })
    expect((await service.patch(`${path}/${id}`, { holdExpiresAt: '2027-01-01' })).body).toMatchObject({
      errors: [{ field: 'holdExpiresAt' }],
    })
    const unchanged = await service.patch(`${path}/${id}`, {})
    expect(unchanged.body.booking.version).toBe(1)
  })

  test('of the expected stay keeps partners out of those nights, null releases them', async () => {
    const { id } = await book({ status: 'checked_in' })
    const { secret } = await service.key(agency)
    const ask = async () =>
      (await service.asPartner(secret, '/quote', { unit: unit.slug, arrival: '2027-03-06', departure: '2027-03-08' }))
        .body.reasons
    await service.patch(`${path}/${id}`, { expectedUntil: '2027-03-08' })
    expect(await ask()).toEqual(['EXPECTED_EXTENSION_CONFLICT'])
    await service.patch(`${path}/${id}`, { expectedUntil: null })
    expect(await ask()).toEqual([])
    expect(await eventsOf(id)).toEqual(['booking.created'])
  })
})

describe('a hold', () => {
  test('lasts as long as asked, else as long as the agency says', async () => {
    const request = await book({ status: 'option', holdHours: 3 })
    expect(Date.parse(request.holdExpiresAt) - Date.parse(request.createdAt)).toBe(3 * HOUR_MS)
    await service.patch(`/agencies/${agency.slug}`, { defaultHoldHours: 5 })
    const other = await book({ status: 'draft', arrival: '2027-05-01', departure: '2027-05-02' })
    expect(Date.parse(other.holdExpiresAt) - Date.parse(other.createdAt)).toBe(5 * HOUR_MS)
  })

  test.each(['2020-01-01', '2020-01-01T00:00:00Z'])('is ended now by %s', async (holdExpiresAt) => {
    const { id } = await book({ status: 'option' })
    const answer = await service.patch(`${path}/${id}`, { holdExpiresAt })
    expect(answer.body.booking).toMatchObject({
      status: 'cancelled',
      cancelReason: 'hold_expired',
      holdExpiresAt: null,
    })
    expect(await eventsOf(id)).toEqual(['booking.created', 'booking.cancelled'])
    await book()
  })

  test.each([
    ['2027-03-01T12:00:00+02:00', '2027-03-01T10:00:00.000Z'],
    ['2027-03-01T12:00Z', '2027-03-01T12:00:00.000Z'],
    ['2027-03-28', '2027-03-27T23:00:00.000Z'],
    ['2027-03-29', '2027-03-28T22:00:00.000Z'],
    ['2028-02-29', '2028-02-28T23:00:00.000Z'],
  ])('until %s ends at %s in Berlin', async (holdExpiresAt, expected) => {
    const { id } = await book({ status: 'option' })
    expect((await service.patch(`${path}/${id}`, { holdExpiresAt })).body.booking.holdExpiresAt).toBe(expected)
  })

  test.each([
    ['Pacific/Apia', '2028-02-29', '2028-02-28T11:00:00.000Z'],
    ['Pacific/Apia', '2028-03-01', '2028-02-29T11:00:00.000Z'],
    ['America/St_Johns', '2027-03-14', '2027-03-14T03:30:00.000Z'],
    ['America/St_Johns', '2027-03-15', '2027-03-15T02:30:00.000Z'],
    ['America/St_Johns', '2027-11-08', '2027-11-08T03:30:00.000Z'],
    ['Europe/Berlin', '2027-11-01', '2027-10-31T23:00:00.000Z'],
  ])('in %s until the day %s ends at %s', async (timezone, holdExpiresAt, expected) => {
    agency = await service.agency({ timezone })
    unit = await service.unit(agency)
    path = `/agencies/${agency.slug}/bookings`
    const { id } = await book({ status: 'draft' })
    expect((await service.patch(`${path}/${id}`, { holdExpiresAt })).body.booking.holdExpiresAt).toBe(expected)
  })

  test.each(['tomorrow', '2027-02-30', '2027-03-01T12:00:00', '2027-03-01T25:00:00Z', '1999-12-31', 5])(
    'until %p is refused',
    async (holdExpiresAt) => {
      const { id } = await book({ status: 'option' })
      const answer = await service.patch(`${path}/${id}`, { holdExpiresAt })
      expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'holdExpiresAt' }] })
    },
  )
})

describe('a cancellation', () => {
  test('releases the nights and keeps the reason; a second one changes nothing', async () => {
    const { id } = await book({ guest: GUEST })
    const answer = await service.ask(`${path}/${id}/cancel`, { reason: 'Ill' })
    expect(answer.body.booking).toMatchObject({ status: 'cancelled', cancelReason: 'Ill', guest: GUEST })
    const again = await service.ask(`${path}/${id}/cancel`, undefined, { method: 'POST' })
    expect(again.status).toBe(200)
    expect(again.body).toEqual(answer.body)
    await book()
    const { totalItems } = (await service.get(`/agencies/${agency.slug}/audit?booking=${id}`)).body
    expect(totalItems).toBe(3)
  })

  test('of an unknown booking is 404, and in the trail once', async () => {
    const id = sampleId('bkg', 'unknown')
    expect((await service.ask(`${path}/${id}/cancel`, {})).body).toMatchObject({ code: 'NOT_FOUND' })
    expect((await service.get(`/agencies/${agency.slug}/audit?booking=${id}`)).body.totalItems).toBe(1)
  })
})
