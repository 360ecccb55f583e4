/** See docs/contract.md#endpoints: one test per row of each table, and per sentence around them. */

import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { CALLER, requestFor, sampleId, sampleRules } from '../support/samples.ts'
import { type PartnerCall, sharedTestService, type TestService } from '../support/test-service.ts'

let agency: Agency
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
})

const call = (path: string, options: PartnerCall = {}) => service.call(path, { key, ...options })
const unit = (slug: string, change: Parameters<TestService['unit']>[1] = {}) =>
  service.unit(agency, { slug, name: slug, ...change })
const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
const book = async (more: object = {}) => {
  const answer = await call('/bookings', { json: { ...STAY, ...more } })
  expect(answer).toMatchObject({ status: 201 })
  return answer.body.booking
}
const invalid = (field: string) => ({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })
const NOT_FOUND = { status: 404, body: { code: 'NOT_FOUND' } }

describe('GET /units', () => {
  test('all units except archived ones, ordered by name; draft units included', async () => {
    await unit('c', { name: 'Charlie', status: 'draft' })
    await unit('a', { name: 'Alfa' })
    await unit('b', { name: 'Bravo', status: 'archived' })
    const { body } = await call('/units')
    expect(body.units.map((each: { name: string }) => each.name)).toEqual(['Alfa', 'Charlie'])
  })
})

describe('GET /units/{slug}', () => {
  test('200 {unit}', async () => {
    await unit('sea-view')
    expect(await call('/units/sea-view')).toMatchObject({ status: 200, body: { unit: { slug: 'sea-view' } } })
  })
  test('404 NOT_FOUND for an unknown slug, and for an archived unit', async () => {
    await unit('old', { status: 'archived' })
    expect(await call('/units/none')).toMatchObject(NOT_FOUND)
    expect(await call('/units/old')).toMatchObject(NOT_FOUND)
  })
})

describe('GET /availability', () => {
  beforeEach(() => unit('sea-view', { rules: sampleRules({ turnoverNights: 1 }) }))
  const ask = (query: string) => call(`/availability?${query}`)

  test('unit: slug, required', async () => {
    expect(await ask('from=2027-03-01&to=2027-03-02')).toMatchObject(invalid('unit'))
    expect(await ask('unit=&from=2027-03-01&to=2027-03-02')).toMatchObject(invalid('unit'))
  })
  test.each(['from', 'to'])('%s: YYYY-MM-DD, required', async (name) => {
    const query = { unit: 'sea-view', from: '2027-03-01', to: '2027-03-02' }
    expect(await ask(new URLSearchParams({ ...query, [name]: '' }).toString())).toMatchObject(invalid(name))
    for (const wrong of [
      '2027-3-1',
      '2027-02-30',
      '20270301',
      '2027-03-01T00:00:00Z',
      '1999-12-31',
      '2100-01-01',
      '2027-00-01',
    ])
      expect(await ask(new URLSearchParams({ ...query, [name]: wrong }).toString())).toMatchObject(invalid(name))
    expect((await ask('unit=sea-view')).body.errors.map((error: { field: string }) => error.field)).toEqual([
      'from',
      'to',
    ])
  })
  test('from is inclusive, to exclusive: blockedNights lie in [from, to)', async () => {
    await book()
    const nights = async (from: string, to: string) =>
      (await ask(`unit=sea-view&from=${from}&to=${to}`)).body.blockedNights
    expect(await nights('2027-03-01', '2027-03-02')).toEqual(['2027-03-01'])
    expect(await nights('2027-03-03', '2027-03-04')).toEqual(['2027-03-03'])
    expect(await nights('2027-03-02', '2027-03-02')).toEqual([])
  })
  test('to is at most 366 days after from', async () => {
    expect((await ask('unit=sea-view&from=2027-01-01&to=2028-01-02')).status).toBe(200)
    expect(await ask('unit=sea-view&from=2027-01-01&to=2028-01-03')).toMatchObject(invalid('to'))
  })
  test('200 {unit, from, to, blockedNights}', async () => {
    const answer = await ask('unit=sea-view&from=2027-03-01&to=2027-03-02')
    expect(answer.body).toEqual({ unit: 'sea-view', from: '2027-03-01', to: '2027-03-02', blockedNights: [] })
  })
  test('blockedNights is the sorted union of bookings, options, owner stays, maintenance and cleaning blocks', async () => {
    const sold = await service.ledger.catalogue.inventory(agency.id)
    const seaView = sold.unitBySlug('sea-view')
    if (seaView === null) throw new Error('The unit is gone')
    await book({ arrival: '2027-03-20', departure: '2027-03-22' })
    await book({ arrival: '2027-03-10', departure: '2027-03-11', status: 'option' })
    for (const [type, arrival, departure] of [
      ['owner_stay', '2027-03-05', '2027-03-06'],
      ['maintenance', '2027-03-15', '2027-03-16'],
    ] as const)
      await service.ledger.commands.book(
        agency,
        requestFor(seaView, arrival, departure, { type, enforcement: 'agency' }),
        CALLER,
      )
    expect((await ask('unit=sea-view&from=2027-03-01&to=2027-04-01')).body.blockedNights).toEqual(
      ['05', '06', '10', '11', '15', '20', '21', '22'].map((day) => `2027-03-${day}`),
    )
  })
  test('a date absent from blockedNights is sellable', async () => {
    await book()
    const { body } = await ask('unit=sea-view&from=2027-03-01&to=2027-03-10')
    expect(body.blockedNights).toEqual(['2027-03-01', '2027-03-02', '2027-03-03', '2027-03-04'])
    await book({ arrival: '2027-03-05', departure: '2027-03-06' })
  })
  test('400 VALIDATION for a negative range', async () => {
    expect(await ask('unit=sea-view&from=2027-03-02&to=2027-03-01')).toMatchObject(invalid('to'))
  })
  test('404 NOT_FOUND for an unknown unit, and for an archived one', async () => {
    await unit('old', { status: 'archived' })
    for (const slug of ['none', 'old'])
      expect(await ask(`unit=${slug}&from=2027-03-01&to=2027-03-02`)).toMatchObject(NOT_FOUND)
  })
})

describe('POST /quote', () => {
  beforeEach(() => unit('sea-view', { rules: sampleRules({ minStay: 2 }) }))
  const quote = (more: object = {}) => call('/quote', { json: { ...STAY, ...more } })

  test.each(['unit', 'arrival', 'departure'])('%s is required', async (field) => {
    expect(await quote({ [field]: undefined })).toMatchObject(invalid(field))
    expect(await quote({ [field]: '' })).toMatchObject(invalid(field))
    expect(await quote({ [field]: 7 })).toMatchObject(invalid(field))
    expect(await quote({ [field]: null })).toMatchObject(invalid(field))
  })
  test('200 {available, instantBook, currency, quote: {nights, currency, total, lines}}', async () => {
    const { status, body } = await quote()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      available: true,
      instantBook: true,
      currency: 'EUR',
      quote: { nights: 3, currency: 'EUR', total: 35_000 },
    })
    expect(body.quote.lines.reduce((sum: number, line: { amount: number }) => sum + line.amount, 0)).toBe(35_000)
  })
  test('when the nights are taken, available is false', async () => {
    await book()
    expect(await quote()).toMatchObject({
      status: 200,
      body: { available: false, reasons: ['BOOKING_CONFLICT'], quote: { total: 35_000 } },
    })
  })
  test('400 VALIDATION: departure not after arrival', async () => {
    expect(await quote({ departure: STAY.arrival })).toMatchObject(invalid('departure'))
    expect(await quote({ departure: '2027-02-01' })).toMatchObject(invalid('departure'))
  })
  test('404 NOT_FOUND: unknown unit, archived unit', async () => {
    await unit('old', { status: 'archived' })
    for (const slug of ['none', 'old']) expect(await quote({ unit: slug })).toMatchObject(NOT_FOUND)
  })
  test('422 MIN_STAY, carrying minStay', async () => {
    expect(await quote({ departure: '2027-03-02' })).toMatchObject({
      status: 422,
      body: { code: 'MIN_STAY', minStay: 2 },
    })
  })
  test('prices equal what is booked, with an extra bed too', async () => {
    const party = { children: 1, extraBed: true }
    const { body } = await quote(party)
    expect((await book(party)).totalAmount).toBe(body.quote.total)
    expect(body.quote.total).toBe(35_000 + 3 * 1_500)
  })
})

describe('GET /bookings', () => {
  const list = (query = '') => call(`/bookings${query}`)
  const arrivals = async (query = '') =>
    (await list(query)).body.bookings.map((booking: { arrival: string }) => booking.arrival)

  beforeEach(async () => {
    await unit('sea-view')
    await unit('garden')
    await book({ arrival: '2027-03-01', departure: '2027-03-04' })
    await book({ arrival: '2027-03-10', departure: '2027-03-12', status: 'option' })
    await book({ arrival: '2027-03-20', departure: '2027-03-22', unit: 'garden' })
  })
  test('order: newest arrival first, ties by id', async () => {
    await book({ arrival: '2027-03-10', departure: '2027-03-11', unit: 'garden' })
    const { body } = await list()
    const ids = body.bookings.map(({ arrival, id }: { arrival: string; id: string }) => [arrival, id])
    expect(ids.map(([arrival]: [string]) => arrival)).toEqual(['2027-03-20', '2027-03-10', '2027-03-10', '2027-03-01'])
    expect(ids[1][1] < ids[2][1]).toBe(true)
  })
  test('200 {bookings, page, pageSize, totalItems, pageCount}', async () => {
    expect((await list()).body).toMatchObject({ page: 1, pageSize: 100, totalItems: 3, pageCount: 1 })
    expect((await list()).body.bookings).toHaveLength(3)
  })
  test('from: bookings with departure >= from', async () => {
    expect(await arrivals('?from=2027-03-12')).toEqual(['2027-03-20', '2027-03-10'])
    expect(await arrivals('?from=2027-03-13')).toEqual(['2027-03-20'])
  })
  test('to: bookings with arrival <= to', async () => {
    expect(await arrivals('?to=2027-03-10')).toEqual(['2027-03-10', '2027-03-01'])
    expect(await arrivals('?to=2027-03-09')).toEqual(['2027-03-01'])
  })
  test('status: exact status; an unknown one gives an empty list', async () => {
    expect(await arrivals('?status=option')).toEqual(['2027-03-10'])
    expect((await list('?status=opt')).body).toMatchObject({ bookings: [], totalItems: 0, pageCount: 0 })
  })
  test('unit: slug; an unknown one gives an empty list', async () => {
    expect(await arrivals('?unit=garden')).toEqual(['2027-03-20'])
    expect((await list('?unit=none')).body).toMatchObject({ bookings: [], totalItems: 0 })
  })
  test('page: integer >= 1, default 1', async () => {
    expect(await arrivals('?page=2&pageSize=2')).toEqual(['2027-03-01'])
    expect((await list('?page=9&pageSize=2')).body).toMatchObject({
      bookings: [],
      page: 9,
      totalItems: 3,
      pageCount: 2,
    })
    expect((await list('?page=9007199254740991&pageSize=200')).status).toBe(200)
    for (const wrong of ['0', '-1', '1.5', 'x', '', '01', '1e1', '99999999999999999999'])
      expect(await list(`?page=${wrong}`)).toMatchObject(invalid('page'))
  })
  test('pageSize: integer 1 to 200, default 100', async () => {
    expect((await list('?pageSize=200')).body).toMatchObject({ pageSize: 200, pageCount: 1 })
    expect((await list('?pageSize=1')).body).toMatchObject({ pageSize: 1, pageCount: 3 })
    for (const wrong of ['0', '201', 'x']) expect(await list(`?pageSize=${wrong}`)).toMatchObject(invalid('pageSize'))
  })
  test('limit: older alias for pageSize, which wins over it', async () => {
    expect((await list('?limit=2')).body).toMatchObject({ pageSize: 2, pageCount: 2 })
    expect((await list('?limit=2&pageSize=3')).body).toMatchObject({ pageSize: 3 })
    for (const wrong of ['0', '201']) expect(await list(`?limit=${wrong}`)).toMatchObject(invalid('limit'))
  })
  test.each(['from', 'to'])('400 VALIDATION when %s is not YYYY-MM-DD', async (name) => {
    expect(await list(`?${name}=01.03.2027`)).toMatchObject(invalid(name))
    expect(await list(`?${name}=2027-02-29`)).toMatchObject(invalid(name))
  })
  test('the pages of 303 bookings have each of them once, though 100 share each arrival', async () => {
    await service.database.sql`
      insert into booking (agency_id, booking_id, unit_id, type, status, source, arrival, departure, adults, children, extra_bed,
                           total_amount, created_at, updated_at, version, seq)
      select agency_id, md5(booking_id::text || n)::uuid, unit_id, type, 'cancelled', source, arrival, departure, adults, children,
             extra_bed, total_amount, created_at, updated_at, version, seq
      from booking, generate_series(1, 100) n where agency_id = ${uuidOf(agency.id)}`
    const seen: string[] = []
    for (let page = 1; page <= 5; page++)
      seen.push(...(await list(`?pageSize=70&page=${page}`)).body.bookings.map(({ id }: { id: string }) => id))
    expect(seen).toHaveLength(303)
    expect(new Set(seen).size).toBe(303)
  })
})

describe('GET /bookings/{id}', () => {
  test('200 {booking}', async () => {
    await unit('sea-view')
    const booking = await book()
    expect(await call(`/bookings/${booking.id}`)).toMatchObject({ status: 200, body: { booking } })
  })
  test('404 NOT_FOUND if the id does not exist', async () => {
    for (const id of [sampleId('bkg', 'none'), 'bkg_none', 'x', 'a%20b', 'a'.repeat(5_000)])
      expect(await call(`/bookings/${id}`)).toMatchObject(NOT_FOUND)
  })
  test('404 NOT_FOUND if the booking belongs to another agency', async () => {
    await unit('sea-view')
    const { id } = await book()
    const { secret: other } = await service.key(await service.agency())
    expect(await call(`/bookings/${id}`, { key: other })).toMatchObject(NOT_FOUND)
  })
})

describe('POST /bookings', () => {
  beforeEach(() => unit('sea-view'))
  const post = (more: object) => call('/bookings', { json: { ...STAY, ...more } })

  /** Each is accepted with the first values and refused with the second. */
  const fields: [field: string, passes: unknown[], fails: unknown[]][] = [
    ['unit', ['sea-view'], [undefined, '', null, 5, ['sea-view']]],
    ['arrival', ['2027-03-01'], [undefined, '', null, '2027-3-1', '2027-02-30', 20270301]],
    ['departure', ['2027-03-02', '2028-03-01'], [undefined, null, '2027-03-01', '2027-02-28', '2028-03-02', 'x']],
    ['status', [undefined, 'draft', 'option', 'confirmed'], [null, '', 'checked_in', 'cancelled', 'Confirmed']],
    ['adults', [undefined, 1, 20], [null, 0, 21, 1.5, '2']],
    ['children', [undefined, 0, 10], [null, -1, 11, 0.5, '0']],
    ['extraBed', [undefined, true, false], [null, 'true', 1]],
    ['sourceRef', [undefined, null, '', 'a'.repeat(120), '😀'.repeat(120)], ['a'.repeat(121), '😀'.repeat(121), 5]],
    ['notes', [undefined, null, 'a'.repeat(2_000)], ['a'.repeat(2_001), {}]],
    ['holdHours', [undefined, null, 1, 2_160], [0, 2_161, 1.5, '24']],
    ['guest', [undefined, null, { firstName: 'A', lastName: 'B' }], ['Ana', [], {}, { firstName: 'A' }, 5]],
  ]
  describe.each(fields)('%s', (field, passes, fails) => {
    test('is accepted within its limits', async () => {
      for (const value of passes) {
        const answer = await post({ [field]: value })
        expect({ value, status: answer.status }).toEqual({ value, status: 201 })
        await call(`/bookings/${answer.body.booking.id}/cancel`, { method: 'POST' })
      }
    })
    test('is refused beyond them, and named', async () => {
      for (const value of fails) {
        const { status, body } = await post({ [field]: value })
        expect({ value, status, code: body.code }).toEqual({ value, status: 400, code: 'VALIDATION' })
        expect(body.errors[0].field).toStartWith(field)
        expect(body.title).toStartWith(field)
      }
    })
  })

  const guestFields: [field: string, passes: unknown[], fails: unknown[]][] = [
    ['firstName', ['', 'a'.repeat(80)], [undefined, null, 'a'.repeat(81), 5]],
    ['lastName', ['', 'é'.repeat(80)], [undefined, null, 'a'.repeat(81)]],
    [
      'email',
      [undefined, null, 'ana@example.com', "o'neil+x@sub.example.co"],
      ['', 'ana', 'ana@', 'a b@example.com', 5],
    ],
    ['phone', [undefined, null, '+351 1'.padEnd(60, '2')], ['1'.repeat(61), 5]],
    ['nationality', [undefined, null, 'P'.repeat(60)], ['P'.repeat(61), 5]],
  ]
  test.each(guestFields)('guest.%s', async (field, passes, fails) => {
    const guest = { firstName: 'Ana', lastName: 'Reis' }
    for (const value of passes) {
      const answer = await post({ guest: { ...guest, [field]: value } })
      expect({ value, status: answer.status }).toEqual({ value, status: 201 })
      await call(`/bookings/${answer.body.booking.id}/cancel`, { method: 'POST' })
    }
    for (const value of fails)
      expect(await post({ guest: { ...guest, [field]: value } })).toMatchObject(invalid(`guest.${field}`))
  })

  test('defaults: confirmed, 2 adults, 0 children, no reference', async () => {
    expect(await book()).toMatchObject({ status: 'confirmed', adults: 2, children: 0, sourceRef: null })
  })
  test('extraBed is ignored without children', async () => {
    expect((await book({ extraBed: true })).totalAmount).toBe(35_000)
  })
  test('rule 1: any price-shaped field in the body is ignored', async () => {
    const prices = {
      totalAmount: 1,
      total: 1,
      price: 1,
      basePrice: 1,
      quote: { total: 1 },
      currency: 'XXX',
      source: 'mine',
      id: 'mine',
    }
    const booking = await book(prices)
    expect(booking).toMatchObject({ totalAmount: 35_000, source: 'partner' })
    expect(booking.id).toStartWith('bkg_')
  })
  test('rule 2: a supplied guest whose e-mail equals an existing one is reused, whatever its case', async () => {
    await book({ guest: { firstName: 'Ana', lastName: 'Reis', email: 'Ana@Example.com' } })
    await book({
      arrival: '2027-04-01',
      departure: '2027-04-02',
      guest: { firstName: 'A.', lastName: 'R.', email: 'ana@example.COM' },
    })
    const { body } = await call('/guests')
    expect(body).toMatchObject({ totalItems: 1, guests: [{ firstName: 'Ana', email: 'Ana@Example.com' }] })
    expect((await call(`/guests/${body.guests[0].id}`)).body.guest.stays).toHaveLength(2)
  })
  test('rule 2: two bookings at once with the same new e-mail make one guest', async () => {
    const guest = { firstName: 'Ana', lastName: 'Reis', email: 'new@example.com' }
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const day = (n: number) => `2027-05-${String(n).padStart(2, '0')}`
        return book({
          arrival: day(i + 1),
          departure: day(i + 2),
          guest: { ...guest, email: i % 2 ? guest.email : 'NEW@example.com' },
        })
      }),
    )
    expect((await call('/guests')).body.totalItems).toBe(1)
  })
  test('rule 2: guests without an e-mail are not the same, nor those of two agencies', async () => {
    await book({ guest: { firstName: 'Ana', lastName: 'Reis' } })
    await book({ arrival: '2027-04-01', departure: '2027-04-02', guest: { firstName: 'Ana', lastName: 'Reis' } })
    expect((await call('/guests')).body.totalItems).toBe(2)
  })
  test('rule 4: the created booking has source partner', async () => {
    expect((await book()).source).toBe('partner')
  })
  test('404 NOT_FOUND: unknown unit, archived unit', async () => {
    await unit('old', { status: 'archived' })
    expect(await post({ unit: 'none' })).toMatchObject(NOT_FOUND)
    expect(await post({ unit: 'old' })).toMatchObject(NOT_FOUND)
  })
  test('a draft unit is sold like an active one', async () => {
    await unit('new', { status: 'draft' })
    expect((await post({ unit: 'new' })).status).toBe(201)
  })
})

describe('POST /bookings/{id}/cancel', () => {
  beforeEach(() => unit('sea-view'))
  const cancel = (id: string, options: PartnerCall = { method: 'POST' }) => call(`/bookings/${id}/cancel`, options)

  test('the body is optional', async () => {
    expect(await cancel((await book()).id)).toMatchObject({ status: 200, body: { booking: { cancelReason: null } } })
  })
  test('reason: string or null, max 255 characters', async () => {
    for (const reason of [undefined, null, '', 'é'.repeat(255)])
      expect(await cancel((await book()).id, { json: { reason } })).toMatchObject({
        status: 200,
        body: { booking: { cancelReason: reason ?? null } },
      })
    const { id } = await book()
    for (const reason of ['a'.repeat(256), 5, {}])
      expect(await cancel(id, { json: { reason } })).toMatchObject(invalid('reason'))
  })
  test('400 VALIDATION for a malformed body', async () => {
    const { id } = await book()
    for (const raw of ['{', '[]', 'null', '"x"']) expect(await cancel(id, { raw })).toMatchObject(invalid('body'))
    expect((await call(`/bookings/${id}`)).body.booking.status).toBe('confirmed')
  })
  test("404 NOT_FOUND for an unknown id or another agency's booking", async () => {
    const { id } = await book()
    expect(await cancel(sampleId('bkg', 'none'))).toMatchObject(NOT_FOUND)
    const { secret: other } = await service.key(await service.agency())
    expect(await cancel(id, { method: 'POST', key: other })).toMatchObject(NOT_FOUND)
    expect((await call(`/bookings/${id}`)).body.booking.status).toBe('confirmed')
  })
})

describe('GET /guests', () => {
  beforeEach(async () => {
    await unit('sea-view')
    const guests = [
      { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: '+351 911' },
      { firstName: 'Bo', lastName: '100%', email: 'bo_x@example.org' },
      { firstName: 'Cá', lastName: 'back\\slash' },
    ]
    for (const [i, guest] of guests.entries()) {
      await book({ arrival: `2027-0${i + 4}-01`, departure: `2027-0${i + 4}-02`, guest })
      // Guests of the same millisecond have no order in time.
      await Bun.sleep(2)
    }
  })
  const names = async (query: string) =>
    (await call(`/guests${query}`)).body.guests.map(({ firstName }: { firstName: string }) => firstName)

  test('newest first', async () => {
    expect(await names('')).toEqual(['Cá', 'Bo', 'Ana'])
  })
  test.each([
    ['first name', 'an', ['Ana']],
    ['last name, whatever the case', 'REI', ['Ana']],
    ['e-mail', 'example.o', ['Bo']],
    ['phone', '+351 9', ['Ana']],
    ['letters beyond ASCII', 'cá', ['Cá']],
    ['nothing', 'zz', []],
    ['% as itself', '0%', ['Bo']],
    ['_ as itself', 'o_x', ['Bo']],
    ['\\ as itself', 'k\\s', ['Cá']],
  ])('search matches %s', async (_, search, found) => {
    expect(await names(`?search=${encodeURIComponent(search)}`)).toEqual(found)
  })
  test('search is applied from 2 characters', async () => {
    expect(await names('?search=z')).toHaveLength(3)
    expect(await names('?search=')).toHaveLength(3)
    expect(await names(`?search=${encodeURIComponent('😀')}`)).toHaveLength(3)
  })
  test('page and pageSize', async () => {
    expect(await names('?page=2&pageSize=2')).toEqual(['Ana'])
    expect((await call('/guests?pageSize=2')).body).toMatchObject({ page: 1, pageSize: 2, totalItems: 3, pageCount: 2 })
    expect((await call('/guests?page=5')).body).toMatchObject({ guests: [], totalItems: 3 })
    for (const wrong of ['page=0', 'page=x']) expect(await call(`/guests?${wrong}`)).toMatchObject(invalid('page'))
    for (const wrong of ['pageSize=0', 'pageSize=201'])
      expect(await call(`/guests?${wrong}`)).toMatchObject(invalid('pageSize'))
  })
})

describe('GET /guests/{id}', () => {
  test('200 {guest} with its stays, newest arrival first, and at most the 100 most recent', async () => {
    await unit('sea-view')
    const guest = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }
    await Promise.all(
      Array.from({ length: 104 }, (_, i) => {
        const day = (n: number) => new Date(Date.UTC(2028, 0, n)).toISOString().slice(0, 10)
        return book({ arrival: day(i + 1), departure: day(i + 2), guest })
      }),
    )
    const [{ id }] = (await call('/guests')).body.guests
    const { stays } = (await call(`/guests/${id}`)).body.guest
    expect(stays).toHaveLength(100)
    expect([stays[0].arrival, stays[99].arrival]).toEqual(['2028-04-13', '2028-01-05'])
  })
  test('404 NOT_FOUND for an unknown id or a guest of another agency', async () => {
    await unit('sea-view')
    await book({ guest: { firstName: 'Ana', lastName: 'Reis' } })
    const [{ id }] = (await call('/guests')).body.guests
    expect(await call(`/guests/${sampleId('gst', 'none')}`)).toMatchObject(NOT_FOUND)
    const { secret: other } = await service.key(await service.agency())
    expect(await call(`/guests/${id}`, { key: other })).toMatchObject(NOT_FOUND)
  })
})
