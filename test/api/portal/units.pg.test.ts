import { beforeEach, describe, expect, test } from 'bun:test'
import { CALENDARS_PER_UNIT_MAX } from '../../../src/api/portal/calendar-texts.ts'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { DAY_MS } from '../../../src/lib/clock.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { sampleId } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}`
})

const unit = (change: Record<string, unknown> = {}) =>
  service.ask(`${path}/units`, { slug: 'sea-view', name: 'Sea View', basePrice: 10_000, ...change })

describe('a unit', () => {
  test('is made with sensible defaults, journaled, and read back', async () => {
    const made = await unit()
    expect(made.status).toBe(201)
    expect(made.body.unit).toMatchObject({
      slug: 'sea-view',
      name: 'Sea View',
      status: 'active',
      city: null,
      area: null,
      building: null,
      bedrooms: 1,
      beds: 1,
      bathrooms: 1,
      maxGuests: 2,
      sizeSqm: null,
      basePrice: 10_000,
      cleaningFee: 0,
      extraBedFee: 0,
      minStay: 1,
      turnoverNights: 0,
      checkinTime: '15:00',
      checkoutTime: '10:00',
      instantBook: true,
      registrationNumber: null,
    })
    expect((await service.get(`${path}/units/sea-view`)).body).toEqual(made.body)
    const [row] = await service.database.sql`select kind from journal where unit_id = ${uuidOf(made.body.unit.id)}`
    expect(row?.['kind']).toBe('unit_set')
  })

  test('has its slug for itself in the agency, also under concurrency, and archived', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => unit()))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
    await service.patch(`${path}/units/sea-view`, { status: 'archived' })
    expect((await unit()).body).toMatchObject({ code: 'SLUG_TAKEN', slug: 'sea-view' })
    const other = await service.agency()
    const elsewhere = await service.ask(`/agencies/${other.slug}/units`, { slug: 'sea-view', name: 'x', basePrice: 1 })
    expect(elsewhere.status).toBe(201)
    expect(service.bugs).toEqual([])
  })

  test('may change its slug to a free one; of two that want the same one gets it', async () => {
    await unit({ slug: 'a' })
    await unit({ slug: 'b' })
    const answers = await Promise.all(['a', 'b'].map((slug) => service.patch(`${path}/units/${slug}`, { slug: 'c' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await service.patch(`${path}/units/c`, { slug: 'c', name: 'C' })).status).toBe(200)
    const slugs = (await service.get(`${path}/units`)).body.units.map(({ slug }: { slug: string }) => slug)
    expect(slugs.toSorted()).toEqual(slugs.includes('a') ? ['a', 'c'] : ['b', 'c'])
  })

  test('keeps what a change leaves out, and its rates', async () => {
    await unit({ city: 'Lisbon', cleaningFee: 700 })
    await service.put(`${path}/units/sea-view/rates`, { weekdayAdjustments: [{ weekday: 1, pct: 12.5 }] })
    await Promise.all([
      service.patch(`${path}/units/sea-view`, { basePrice: 1 }),
      service.patch(`${path}/units/sea-view`, { name: 'New' }),
      service.patch(`${path}/units/sea-view`, { turnoverNights: 2, id: sampleId('unt', 'x'), unknown: 1 }),
    ])
    expect((await service.get(`${path}/units/sea-view`)).body.unit).toMatchObject({
      name: 'New',
      basePrice: 1,
      turnoverNights: 2,
      city: 'Lisbon',
      cleaningFee: 700,
    })
    expect((await service.get(`${path}/units/sea-view/rates`)).body.rates.weekdayAdjustments).toEqual([
      { weekday: 1, pct: 12.5 },
    ])
    expect((await service.patch(`${path}/units/sea-view`, { city: null })).body.unit.city).toBeNull()
  })

  test.each([
    ['slug', { slug: 'Sea View' }],
    ['name', { name: '' }],
    ['basePrice', { basePrice: undefined }],
    ['basePrice', { basePrice: -1 }],
    ['basePrice', { basePrice: 100_000_000_001 }],
    ['basePrice', { basePrice: 1.5 }],
    ['minStay', { minStay: 0 }],
    ['turnoverNights', { turnoverNights: 61 }],
    ['maxGuests', { maxGuests: 0 }],
    ['checkinTime', { checkinTime: '24:00' }],
    ['status', { status: 'gone' }],
    ['instantBook', { instantBook: 'yes' }],
    ['sizeSqm', { sizeSqm: -1 }],
    ['registrationNumber', { registrationNumber: '' }],
    ['registrationNumber', { registrationNumber: '1'.repeat(65) }],
    ['registrationNumber', { registrationNumber: '48213\n/AL' }],
    ['registrationNumber', { registrationNumber: 48_213 }],
  ])('is refused with a wrong %s', async (field, change) => {
    const answer = await unit(change)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
  })

  test('shows partners its registration number, of at most 64 characters, until it is taken away', async () => {
    const registrationNumber = `PT-${'0'.repeat(58)}/AL`
    expect((await unit({ registrationNumber })).body.unit.registrationNumber).toBe(registrationNumber)
    const { secret } = await service.key(agency)
    const shown = async () => {
      const [one, list] = await Promise.all(['/units/sea-view', '/units'].map((at) => service.asPartner(secret, at)))
      return [one?.body.unit, list?.body.units[0]].map((each) => each.registrationNumber)
    }
    expect(await shown()).toEqual([registrationNumber, registrationNumber])
    await service.patch(`${path}/units/sea-view`, { name: 'New' })
    expect(await shown()).toEqual([registrationNumber, registrationNumber])
    await service.patch(`${path}/units/sea-view`, { registrationNumber: null })
    expect(await shown()).toEqual([null, null])
  })

  test('archived is unknown to partners and still listed here', async () => {
    await unit()
    const { secret } = await service.key(agency)
    await service.patch(`${path}/units/sea-view`, { status: 'archived' })
    expect((await service.asPartner(secret, '/units/sea-view')).status).toBe(404)
    expect((await service.get(`${path}/units?status=archived`)).body.totalItems).toBe(1)
    expect((await service.get(`${path}/units?status=active`)).body.totalItems).toBe(0)
  })
})

describe('rates', () => {
  const SUMMER = { name: 'Summer', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 20_000, minStay: 3 }
  const rates = {
    seasons: [SUMMER],
    weekdayAdjustments: [{ weekday: 6, pct: 10 }],
    lengthOfStayDiscounts: [{ minNights: 7, pct: 5.25 }],
  }

  test('hold together from the next quote on; a booking made keeps its total', async () => {
    await unit()
    const { secret } = await service.key(agency)
    const stay = { unit: 'sea-view', arrival: '2027-06-05', departure: '2027-06-08' }
    const before = await service.asPartner(secret, '/bookings', stay)
    expect(before.body.booking.totalAmount).toBe(30_000)
    const set = await service.put(`${path}/units/sea-view/rates`, rates)
    expect(set.body).toEqual({ rates })
    expect((await service.get(`${path}/units/sea-view/rates`)).body).toEqual({ rates })
    const quote = await service.asPartner(secret, '/quote', { ...stay, arrival: '2027-06-12', departure: '2027-06-15' })
    expect(quote.body.quote.total).toBe(22_000 + 20_000 + 20_000)
    const found = await service.get(`${path}/bookings/${before.body.booking.id}`)
    expect(found.body.booking.totalAmount).toBe(30_000)
  })

  test('are taken in the form in which they are shown', async () => {
    await unit()
    await service.put(`${path}/units/sea-view/rates`, rates)
    const shown = await service.get(`${path}/units/sea-view/rates`)
    const { status, body } = await service.put(`${path}/units/sea-view/rates`, shown.body)
    expect([status, body]).toEqual([200, { rates }])
  })

  test('are not replaced by what has a misspelt member: it would remove the others', async () => {
    await unit()
    await service.put(`${path}/units/sea-view/rates`, rates)
    const refused = await service.put(`${path}/units/sea-view/rates`, { ...rates, season: [] })
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      [
        {
          field: 'season',
          message: 'season must be left out: the members are seasons, weekdayAdjustments, lengthOfStayDiscounts',
        },
      ],
    ])
    const both = await service.put(`${path}/units/sea-view/rates`, { rates: {}, seasons: [SUMMER] })
    expect([both.status, both.body.errors[0].field]).toEqual([400, 'rates'])
    const empty = await service.put(`${path}/units/sea-view/restrictions`, { rules: [] })
    expect([empty.status, empty.body.errors[0].field]).toEqual([400, 'rules'])
    expect((await service.get(`${path}/units/sea-view/rates`)).body).toEqual({ rates })
  })

  test('cover the leap day and end with the day before their end', async () => {
    await unit()
    await service.put(`${path}/units/sea-view/rates`, {
      seasons: [{ name: 'Leap', from: '2028-02-28', to: '2028-03-01', nightlyPrice: 1 }],
    })
    const { secret } = await service.key(agency)
    const quote = await service.asPartner(secret, '/quote', {
      unit: 'sea-view',
      arrival: '2028-02-27',
      departure: '2028-03-02',
    })
    expect(quote.body.quote.total).toBe(10_000 + 1 + 1 + 10_000)
  })

  test.each([
    ['seasons[1].from', { seasons: [SUMMER, { ...SUMMER, from: '2027-08-31', to: '2027-10-01' }] }],
    ['seasons[0].to', { seasons: [{ ...SUMMER, to: SUMMER.from }] }],
    ['seasons[0].from', { seasons: [{ ...SUMMER, from: '2027-02-29' }] }],
    ['seasons[0].nightlyPrice', { seasons: [{ ...SUMMER, nightlyPrice: -5 }] }],
    ['seasons[0].minStay', { seasons: [{ ...SUMMER, minStay: 400 }] }],
    ['weekdayAdjustments[0].weekday', { weekdayAdjustments: [{ weekday: 8, pct: 1 }] }],
    [
      'weekdayAdjustments[1].weekday',
      {
        weekdayAdjustments: [
          { weekday: 1, pct: 1 },
          { weekday: 1, pct: 2 },
        ],
      },
    ],
    ['weekdayAdjustments[0].pct', { weekdayAdjustments: [{ weekday: 1, pct: 0.125 }] }],
    ['weekdayAdjustments[0].pct', { weekdayAdjustments: [{ weekday: 1, pct: -101 }] }],
    ['lengthOfStayDiscounts[0].pct', { lengthOfStayDiscounts: [{ minNights: 7, pct: 101 }] }],
    ['lengthOfStayDiscounts[0].minNights', { lengthOfStayDiscounts: [{ minNights: 0, pct: 1 }] }],
  ])('are refused naming %s, and the old ones stay', async (field, body) => {
    await unit()
    await service.put(`${path}/units/sea-view/rates`, rates)
    const answer = await service.put(`${path}/units/sea-view/rates`, body)
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
    expect((await service.get(`${path}/units/sea-view/rates`)).body).toEqual({ rates })
  })

  test('are all replaced: what is left out is gone', async () => {
    await unit()
    await service.put(`${path}/units/sea-view/rates`, rates)
    const empty = { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
    expect((await service.put(`${path}/units/sea-view/rates`, {})).body).toEqual({ rates: empty })
  })
})

describe('the calendar of a unit', () => {
  test('tells taken and cleaning nights, a taken one once', async () => {
    await unit({ turnoverNights: 2 })
    for (const [arrival, departure] of [
      ['2027-03-01', '2027-03-03'],
      ['2027-03-04', '2027-03-05'],
    ])
      await service.ask(`${path}/bookings`, { unit: 'sea-view', arrival, departure })
    const { calendar } = (await service.get(`${path}/units/sea-view/calendar?from=2027-03-01&to=2027-04-01`)).body
    expect(
      calendar.nights.map(({ night, state }: { night: string; state: string }) => `${night.slice(8)} ${state}`),
    ).toEqual([...['01 taken', '02 taken', '03 cleaning', '04 taken', '05 cleaning', '06 cleaning']])
    expect((await service.get(`${path}/units/sea-view/calendar?from=2027-03-01&to=2027-03-01`)).status).toBe(400)
    const tooLong = await service.get(`${path}/units/sea-view/calendar?from=2027-03-01&to=2028-03-02`)
    expect([tooLong.status, tooLong.body.errors]).toEqual([
      400,
      [{ field: 'to', message: 'to must be at most 366 days after from (2028-03-01)' }],
    ])
    expect((await service.get(`${path}/units/nowhere/calendar?from=2027-03-01&to=2027-04-01`)).status).toBe(404)
  })
})

describe('the iCalendar feed of a unit', () => {
  const feed = async () => (await service.get(`${path}/units/sea-view/calendar-feed`)).body.calendarFeed

  test('is read by its secret address alone, says nothing of guests, and follows the bookings', async () => {
    await unit({ turnoverNights: 1 })
    const guest = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }
    const stay = { unit: 'sea-view', arrival: '2090-03-01', departure: '2090-03-04', notes: 'allergic', guest }
    const { booking } = (await service.ask(`${path}/bookings`, stay)).body
    const { url, path: address } = await feed()
    expect(new URL(url).pathname + new URL(url).search).toBe(address)
    const answer = await service.ask(`/${address}`, undefined, { token: null })
    expect(answer.headers.get('content-type')).toBe('text/calendar; charset=utf-8')
    expect(answer.body).toContain('DTSTART;VALUE=DATE:20900301\r\nDTEND;VALUE=DATE:20900305')
    expect(answer.body).not.toMatch(/Ana|Reis|allergic|bkg_/)
    await service.ask(`${path}/bookings/${booking.id}/cancel`, {})
    expect((await service.ask(`/${address}`, undefined, { token: null })).body).not.toContain('VEVENT')
  })

  test('has the first night of a stay for as long as it lasts, so that its UID is the same every day', async () => {
    await unit()
    const now = Date.now()
    const day = (fromNow: number) => new Date(now + fromNow * DAY_MS).toISOString().slice(0, 10)
    const block = (arrival: string, departure: string) =>
      service.ask(`${path}/bookings`, { unit: 'sea-view', type: 'block', arrival, departure })
    expect((await block(day(-90), day(-60))).status).toBe(201)
    expect((await block(day(-50), day(10))).status).toBe(201)
    const runs = async () => {
      const { body } = await service.ask(`/${(await feed()).path}`, undefined, { token: null })
      expect(body).toContain(`DTSTART;VALUE=DATE:${day(-50).replaceAll('-', '')}`)
      return [...body.matchAll(/UID:unt_\w+-([-\d]+)@/g)].map(([, night]) => night)
    }
    expect(await runs()).toEqual([day(-50)])
    // What is longer than a stay may be has parts, each of 366 nights from its first one on.
    expect((await block(day(-60), day(-50))).status).toBe(201)
    expect((await block(day(-416), day(-90))).status).toBe(201)
    expect(await runs()).toEqual([day(-50)])
  })

  test('has another address after a change, and the old one is 404 like any other wrong one', async () => {
    await unit()
    const old = await feed()
    const changed = await service.ask(`${path}/units/sea-view/calendar-feed`, undefined, { method: 'POST' })
    expect(changed.body.calendarFeed.path).not.toBe(old.path)
    expect(await feed()).toEqual(changed.body.calendarFeed)
    const status = async (address: string) => (await service.ask(`/${address}`, undefined, { token: null })).status
    expect(await status(old.path)).toBe(404)
    expect(await status(changed.body.calendarFeed.path)).toBe(200)
    expect(await status(old.path.replace(/token=.*/, ''))).toBe(404)
    expect(await status(changed.body.calendarFeed.path.replace(/unt_\w+/, 'other'))).toBe(404)
    const [line] = (await service.get(`${path}/audit`)).body.audit
    expect([line.outcome, line.route]).toEqual([
      'OK',
      'POST /portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar-feed',
    ])
  })

  test('is 429 with Retry-After beyond its budget, and a wrong address takes nothing from it', async () => {
    await unit()
    const { path: address } = await feed()
    const ask = (at = address) => service.ask(`/${at}`, undefined, { token: null })
    for (let n = 0; n <= CALENDARS_PER_UNIT_MAX; n++) expect((await ask(`${address}x`)).status).toBe(404)
    for (let n = 0; n < CALENDARS_PER_UNIT_MAX; n++) expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61)
    expect((await ask(`${address}x`)).status).toBe(404)
  })

  test('opens with its own secret only, not with that of another unit', async () => {
    await unit()
    const { id } = (await unit({ slug: 'garden' })).body.unit
    const garden = (await service.get(`${path}/units/garden/calendar-feed`)).body.calendarFeed.path as string
    const status = async (address: string) => (await service.ask(`/${address}`, undefined, { token: null })).status
    expect(await status(garden.replace(id, 'sea-view'))).toBe(404)
    expect(await status((await feed()).path.replace(/unt_\w+/, id))).toBe(404)
    expect(await status(garden)).toBe(200)
  })

  test('keeps its address when the slug of the unit changes; one with the slug, as version 1.0.0 gave them, is good until then', async () => {
    await unit()
    const { path: address } = await feed()
    const former = address.replace(/unt_\w+/, 'sea-view')
    const status = async (at: string) => (await service.ask(`/${at}`, undefined, { token: null })).status
    expect([await status(address), await status(former)]).toEqual([200, 200])
    await service.patch(`${path}/units/sea-view`, { slug: 'ocean-view' })
    expect([await status(address), await status(former)]).toEqual([200, 404])
  })

  test('is 404 while the agency is suspended or the unit archived', async () => {
    await unit()
    const { path: address } = await feed()
    const status = async () => (await service.ask(`/${address}`, undefined, { token: null })).status
    await service.patch(path, { status: 'suspended' })
    expect(await status()).toBe(404)
    await service.patch(path, { status: 'active' })
    expect(await status()).toBe(200)
    await service.patch(`${path}/units/sea-view`, { status: 'archived' })
    expect(await status()).toBe(404)
  })
})
