/** See docs/partner-additions.md#3-get-search-what-can-be-booked-with-exact-totals: a test per sentence, limits at their edges, and generated agencies. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { addNights, formatNight } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { generatedRules } from '../support/generated-rules.ts'
import { rounds } from '../support/long-run.ts'
import { CALLER, night, requestFor, sampleRules } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

interface Offer {
  unit: string
  arrival: string
  departure: string
  nights: number
  total: number
}

let agency: Agency
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
})

const STAY = 'arrival=2027-03-01&departure=2027-03-04'
const WINDOW = 'from=2027-03-01&to=2027-03-08&nights=3'
const ask = (query: string, secret = key) => service.call(`/search?${query}`, { key: secret })
const unit = (slug: string, change: Partial<Unit> = {}) => service.unit(agency, { slug, name: slug, ...change })
const invalid = (...fields: string[]) => ({
  status: 400,
  body: { code: 'VALIDATION', errors: fields.map((field) => ({ field })) },
})
const offersIn = (answer: { body: { offers: Offer[] } }) => answer.body.offers
const shownIn = async (query: string) =>
  offersIn(await ask(query)).map(({ unit, arrival }) => `${unit} ${arrival.slice(5)}`)
const slugsIn = async (query: string) => offersIn(await ask(query)).map((offer) => offer.unit)

test('scope: read:rates', async () => {
  await unit('sea-view')
  const { secret } = await service.key(agency, { scopes: ['read:rates'] })
  expect(offersIn(await ask(STAY, secret))).toHaveLength(1)
  const other = await service.key(agency, { scopes: ['read:units', 'read:availability', 'read:bookings'] })
  const missing = { status: 403, body: { code: 'SCOPE_MISSING', scope: 'read:rates' } }
  expect(await ask(STAY, other.secret)).toMatchObject(missing)
  // A missing scope comes before 400.
  expect(await ask('', other.secret)).toMatchObject(missing)
})

test('counts as one request', async () => {
  for (const slug of ['a', 'b', 'c']) await unit(slug)
  const used = async () => (await service.call('/me', { key })).body.quota.used
  const before = await used()
  await ask(`${WINDOW}&each=stay`)
  expect(await used()).toBe(before + 2)
})

describe('dates', () => {
  test('arrival and departure: a fixed stay', async () => {
    await unit('sea-view')
    expect(offersIn(await ask(STAY))).toMatchObject([{ arrival: '2027-03-01', departure: '2027-03-04', nights: 3 }])
    expect(await shownIn(`${STAY}&each=stay`)).toEqual(['sea-view 03-01'])
  })
  test('a fixed stay has 1 to 366 nights, as on create', async () => {
    await unit('sea-view')
    expect(offersIn(await ask('arrival=2027-03-01&departure=2028-03-01'))).toMatchObject([{ nights: 366 }])
    for (const departure of ['2028-03-02', '2027-03-01', '2027-02-28'])
      expect(await ask(`arrival=2027-03-01&departure=${departure}`)).toMatchObject(invalid('departure'))
  })
  test('from, to and nights: any stay of so many nights inside [from, to)', async () => {
    await unit('sea-view')
    const all = offersIn(await ask('from=2027-03-01&to=2027-03-05&nights=2&each=stay&sort=arrival'))
    expect(all.map(({ arrival, departure }) => [arrival, departure])).toEqual([
      ['2027-03-01', '2027-03-03'],
      ['2027-03-02', '2027-03-04'],
      ['2027-03-03', '2027-03-05'],
    ])
  })
  test('nights: 1 to 60', async () => {
    await unit('sea-view')
    const window = 'from=2027-03-01&to=2027-05-31'
    for (const nights of [1, 60])
      expect(offersIn(await ask(`${window}&nights=${nights}`))).toMatchObject([{ arrival: '2027-03-01', nights }])
    for (const nights of ['0', '61', '-1', '1.5', 'x', ''])
      expect(await ask(`${window}&nights=${nights}`)).toMatchObject(invalid('nights'))
  })
  test('a window has at most 92 days, and at least one', async () => {
    await unit('sea-view')
    const widest = await ask('from=2027-03-01&to=2027-06-01&nights=1&each=stay')
    expect([widest.status, widest.body.totalItems]).toEqual([200, 92])
    expect(await ask('from=2027-03-01&to=2027-06-02&nights=1')).toMatchObject(invalid('to'))
    for (const to of ['2027-03-01', '2027-02-28'])
      expect(await ask(`from=2027-03-01&to=${to}&nights=1`)).toMatchObject(invalid('to'))
  })
  test('nights longer than the window is 400', async () => {
    await unit('sea-view')
    expect(await shownIn('from=2027-03-01&to=2027-03-08&nights=7')).toEqual(['sea-view 03-01'])
    const refused = await ask('from=2027-03-01&to=2027-03-08&nights=8')
    expect(refused).toMatchObject(invalid('nights'))
    expect(refused.body.title).toBe('nights must be at most 7, the days from 2027-03-01 to 2027-03-08')
  })
  test('both forms at once are 400, naming the field', async () => {
    expect(await ask(`${STAY}&${WINDOW}`)).toMatchObject(invalid('from', 'to', 'nights'))
  })
  test.each(['arrival=2027-03-01', 'departure=2027-03-04', STAY])(
    '%s with from, to or nights is 400',
    async (fixed) => {
      for (const [field, value] of Object.entries({ from: '2027-03-01', to: '2027-03-08', nights: '3' })) {
        const refused = await ask(`${fixed}&${field}=${value}`)
        expect(refused).toMatchObject(invalid(field))
        expect(refused.body.title).toBe(
          `${field} cannot be combined with arrival and departure: give these two, or from, to and nights`,
        )
      }
    },
  )
  test('neither is 400, and so is half of one', async () => {
    const neither = await ask('')
    expect(neither).toMatchObject(invalid('arrival'))
    expect(neither.body.title).toBe('arrival is required, with departure, or else from, to and nights')
    expect(await ask('adults=2')).toMatchObject(invalid('arrival'))
    expect(await ask('arrival=2027-03-01')).toMatchObject(invalid('departure'))
    expect(await ask('departure=2027-03-01')).toMatchObject(invalid('arrival'))
    expect(await ask('from=2027-03-01&to=2027-03-08')).toMatchObject(invalid('nights'))
    expect(await ask('from=2027-03-01&nights=2')).toMatchObject(invalid('to'))
    expect(await ask('nights=2')).toMatchObject(invalid('from', 'to'))
  })
  test.each(['arrival', 'departure', 'from', 'to'])('%s: YYYY-MM-DD', async (name) => {
    const query = new URLSearchParams(name === 'from' || name === 'to' ? WINDOW : STAY)
    for (const wrong of ['', '2027-3-1', '2027-02-30', '1999-12-31', '2100-01-01', '2027-03-01T00:00:00Z']) {
      query.set(name, wrong)
      expect(await ask(query.toString())).toMatchObject(invalid(name))
    }
  })
})

describe('the party', () => {
  test('units with fewer maxGuests than adults + children are left out; two adults by default', async () => {
    for (const maxGuests of [1, 2, 3, 4]) await unit(`for-${maxGuests}`, { maxGuests })
    expect(await slugsIn(STAY)).toEqual(['for-2', 'for-3', 'for-4'])
    expect(await slugsIn(`${STAY}&adults=1`)).toEqual(['for-1', 'for-2', 'for-3', 'for-4'])
    expect(await slugsIn(`${STAY}&adults=2&children=2`)).toEqual(['for-4'])
    expect(await slugsIn(`${STAY}&adults=3&children=2`)).toEqual([])
  })
  test.each([
    ['adults', ['1', '20'], ['0', '21', '1.5', 'x', '']],
    ['children', ['0', '10'], ['-1', '11', 'x', '']],
    ['extraBed', ['true', 'false'], ['1', 'TRUE', '']],
    ['bedrooms', ['0', '1000'], ['-1', '0.5', 'x', '']],
    ['maxTotal', ['0', '9007199254740991'], ['-1', '0.5', '1e3', '']],
    ['each', ['unit', 'stay'], ['units', '']],
    ['sort', ['total', '-total', 'arrival', 'name'], ['-name', 'TOTAL', '']],
    ['city', ['Lisbon'], ['']],
    ['area', ['Alfama'], ['']],
    ['page', ['1', '9007199254740991'], ['0', 'x']],
    ['pageSize', ['1', '200'], ['0', '201']],
  ])('%s: the bounds are accepted, anything beyond is 400', async (name, accepted, refused) => {
    for (const value of accepted) expect((await ask(`${STAY}&${name}=${value}`)).status).toBe(200)
    for (const value of refused) expect(await ask(`${STAY}&${name}=${value}`)).toMatchObject(invalid(name))
  })
  test('a parameter given twice is 400', async () => {
    expect(await ask(`${STAY}&adults=2&adults=2`)).toMatchObject(invalid('adults'))
  })
  test('an extra bed is part of the total only with children, as on create', async () => {
    await unit('sea-view', { rules: sampleRules({ extraBedFee: 1_500 }) })
    const totalOf = async (query: string) => offersIn(await ask(`${STAY}&${query}`))[0]?.total
    expect(await totalOf('children=1')).toBe(35_000)
    expect(await totalOf('extraBed=true')).toBe(35_000)
    expect(await totalOf('children=1&extraBed=true')).toBe(39_500)
    expect(await totalOf('children=1&extraBed=false')).toBe(35_000)
  })
})

describe('filters', () => {
  beforeEach(async () => {
    await unit('a', { city: 'Lisbon', area: 'Alfama', bedrooms: 0 })
    await unit('b', { city: 'LISBON', area: 'Águas Livres', bedrooms: 2 })
    await unit('c', { city: 'Lisbon North', area: null, bedrooms: 3 })
    await unit('d', { city: null, area: 'alfama', bedrooms: 3 })
  })
  test('city and area: exact, case-insensitive', async () => {
    expect(await slugsIn(`${STAY}&city=lisbon`)).toEqual(['a', 'b'])
    expect(await slugsIn(`${STAY}&city=lisbo`)).toEqual([])
    expect(await slugsIn(`${STAY}&city=%20lisbon`)).toEqual([])
    expect(await slugsIn(`${STAY}&area=ALFAMA`)).toEqual(['a', 'd'])
    expect(await slugsIn(`${STAY}&area=${encodeURIComponent('ÁGUAS LIVRES')}`)).toEqual(['b'])
    expect(await slugsIn(`${STAY}&area=aguas%20livres`)).toEqual([])
    expect(await slugsIn(`${STAY}&city=LISBON&area=alfama`)).toEqual(['a'])
    expect(await slugsIn(`${STAY}&city=%25`)).toEqual([])
  })
  test('bedrooms: at least', async () => {
    expect(await slugsIn(`${STAY}&bedrooms=0`)).toEqual(['a', 'b', 'c', 'd'])
    expect(await slugsIn(`${STAY}&bedrooms=2`)).toEqual(['b', 'c', 'd'])
    expect(await slugsIn(`${STAY}&bedrooms=4`)).toEqual([])
  })
  test('maxTotal: inclusive, in minor units', async () => {
    // Three nights at 100.00, and 50.00 for cleaning.
    expect((await ask(`${STAY}&maxTotal=35000`)).body.totalItems).toBe(4)
    expect((await ask(`${STAY}&maxTotal=34999`)).body.totalItems).toBe(0)
    expect((await ask(`${WINDOW}&each=stay&maxTotal=35000`)).body.totalItems).toBe(4 * 5)
    expect((await ask(`${WINDOW}&each=stay&maxTotal=34999`)).body.totalItems).toBe(0)
  })
})

test('drafts are offered, archived units are not, and nothing of another agency', async () => {
  await unit('draft', { status: 'draft' })
  await unit('archived', { status: 'archived' })
  const other = await service.agency()
  await service.unit(other, { slug: 'theirs', name: 'theirs', city: 'Lisbon' })
  expect(await slugsIn(STAY)).toEqual(['draft'])
  expect(await slugsIn(`${WINDOW}&city=Lisbon&each=stay&sort=name&pageSize=1`)).toEqual(['draft'])
})

/** Weekends cost more: 5 and 6 March 2027 are a Friday and a Saturday. */
const WEEKENDS = {
  seasons: [],
  lengthOfStayDiscounts: [],
  weekdayAdjustments: [
    { weekday: 5 as const, basisPoints: 5_000 },
    { weekday: 6 as const, basisPoints: 5_000 },
  ],
}

describe('each and sort', () => {
  beforeEach(async () => {
    const rules = (basePrice: number) => sampleRules({ basePrice, cleaningFee: 0, rates: WEEKENDS })
    await unit('one', { name: 'B', rules: rules(100) })
    await unit('two', { name: 'A', rules: rules(100) })
    await unit('cheap', { name: 'C', rules: rules(10) })
  })
  const OVER_WEEKEND = 'from=2027-03-04&to=2027-03-09&nights=1'

  test('each=unit, the default: one offer per unit, its cheapest stay, of equal ones the earliest', async () => {
    const cheapest = ['cheap 03-04', 'two 03-04', 'one 03-04']
    expect(await shownIn(OVER_WEEKEND)).toEqual(cheapest)
    expect(await shownIn(`${OVER_WEEKEND}&each=unit&sort=total`)).toEqual(cheapest)
    expect(await shownIn('from=2027-03-05&to=2027-03-09&nights=1')).toEqual(['cheap 03-07', 'two 03-07', 'one 03-07'])
  })
  test('each=stay: one per bookable stay', async () => {
    expect((await ask(`${OVER_WEEKEND}&each=stay`)).body.totalItems).toBe(15)
  })
  test('sort=total: ties by unit name, then arrival', async () => {
    expect(await shownIn(`${OVER_WEEKEND}&each=stay&sort=total`)).toEqual([
      ...['cheap 03-04', 'cheap 03-07', 'cheap 03-08', 'cheap 03-05', 'cheap 03-06'],
      ...['two 03-04', 'two 03-07', 'two 03-08', 'one 03-04', 'one 03-07', 'one 03-08'],
      ...['two 03-05', 'two 03-06', 'one 03-05', 'one 03-06'],
    ])
  })
  test('sort=-total: names ascending all the same', async () => {
    expect(await shownIn(`${OVER_WEEKEND}&each=stay&sort=-total`)).toEqual([
      ...['two 03-05', 'two 03-06', 'one 03-05', 'one 03-06'],
      ...['two 03-04', 'two 03-07', 'two 03-08', 'one 03-04', 'one 03-07', 'one 03-08'],
      ...['cheap 03-05', 'cheap 03-06', 'cheap 03-04', 'cheap 03-07', 'cheap 03-08'],
    ])
  })
  test('sort=arrival, and sort=name', async () => {
    expect((await shownIn(`${OVER_WEEKEND}&each=stay&sort=arrival`)).slice(0, 4)).toEqual([
      ...['two 03-04', 'one 03-04', 'cheap 03-04', 'two 03-05'],
    ])
    expect((await shownIn(`${OVER_WEEKEND}&each=stay&sort=name`)).slice(3, 7)).toEqual([
      ...['two 03-07', 'two 03-08', 'one 03-04', 'one 03-05'],
    ])
    expect(await slugsIn(`${OVER_WEEKEND}&sort=name`)).toEqual(['two', 'one', 'cheap'])
  })
  test('names sort by code point', async () => {
    for (const name of ['😀', 'ﬁ', 'a']) await unit(`u-${name.codePointAt(0)}`, { name })
    const { body } = await ask(`${OVER_WEEKEND}&sort=name`)
    expect(body.offers.map(({ name }: { name: string }) => name)).toEqual(['A', 'B', 'C', 'a', 'ﬁ', '😀'])
  })
  test('page and pageSize: 1 to 200, default 100; every offer is on one page', async () => {
    const window = `from=2027-03-01&to=2027-06-01&nights=1&each=stay`
    const all: string[] = []
    for (const page of [1, 2, 3]) {
      const answer = await ask(`${window}&page=${page}`)
      expect(answer.body).toMatchObject({ page, pageSize: 100, totalItems: 276, pageCount: 3 })
      all.push(...offersIn(answer).map(({ unit, arrival }) => `${unit} ${arrival}`))
    }
    expect([all.length, new Set(all).size]).toEqual([276, 276])
    expect(offersIn(await ask(`${window}&page=2&pageSize=200`))).toHaveLength(76)
    expect(offersIn(await ask(`${window}&page=4`))).toEqual([])
  })
})

describe('200', () => {
  test('{offers: [{unit, name, …, instantBook}], page, pageSize, totalItems, pageCount}', async () => {
    await service.feeType(agency)
    await unit('sea-view', {
      name: 'Sea View',
      city: null,
      area: 'Alfama',
      bedrooms: 2,
      maxGuests: 4,
      instantBook: false,
    })
    const { body } = await ask(STAY)
    const quoted = await service.call('/quote', {
      key,
      json: { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' },
    })
    expect(body).toEqual({
      offers: [
        {
          unit: 'sea-view',
          name: 'Sea View',
          city: null,
          area: 'Alfama',
          bedrooms: 2,
          maxGuests: 4,
          arrival: '2027-03-01',
          departure: '2027-03-04',
          nights: 3,
          currency: 'EUR',
          total: quoted.body.quote.total,
          instantBook: false,
        },
      ],
      page: 1,
      pageSize: 100,
      totalItems: 1,
      pageCount: 1,
    })
    expect(Object.keys(body.offers[0])).toEqual(
      'unit name city area bedrooms maxGuests arrival departure nights currency total instantBook'.split(' '),
    )
  })
  test('an agency without units has no offers', async () => {
    expect((await ask(STAY)).body).toEqual({ offers: [], page: 1, pageSize: 100, totalItems: 0, pageCount: 0 })
  })
})

describe('an offer is a stay that would be booked at that moment', () => {
  const EVERY = 'from=2027-03-01&to=2027-03-09&nights=2&each=stay&sort=arrival'
  const daysIn = async () => offersIn(await ask(EVERY)).map(({ arrival }) => Number(arrival.slice(8)))

  test('minimum stay, of the unit and of the season of the arrival', async () => {
    const season = { name: 'Spring', from: night('2027-03-03'), to: night('2027-03-05'), nightlyPrice: 1, minStay: 2 }
    await unit('sea-view', {
      rules: sampleRules({
        minStay: 3,
        rates: { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] },
      }),
    })
    expect(await daysIn()).toEqual([3, 4])
  })
  test('cleaning after the stay before', async () => {
    const seaView = await unit('sea-view', { rules: sampleRules({ turnoverNights: 2 }) })
    await service.book(agency, seaView, '2027-02-27', '2027-03-02')
    expect(await daysIn()).toEqual([4, 5, 6, 7])
  })
  test('the extension of the guest in house', async () => {
    const seaView = await unit('sea-view')
    const request = requestFor(seaView, '2027-03-01', '2027-03-03', {
      status: 'checked_in',
      expectedUntil: night('2027-03-05'),
      enforcement: 'agency',
    })
    await service.ledger.commands.book(agency, request, CALLER)
    expect(await daysIn()).toEqual([5, 6, 7])
  })
  test('the night guard, for every type and for holds, until they are cancelled', async () => {
    const seaView = await unit('sea-view')
    await service.ledger.commands.book(
      agency,
      requestFor(seaView, '2027-03-05', '2027-03-06', { type: 'block', enforcement: 'agency' }),
      CALLER,
    )
    const { id } = await service.book(agency, seaView, '2027-03-02', '2027-03-03')
    expect(await daysIn()).toEqual([3, 6, 7])
    await service.ledger.commands.cancel(agency, { bookingId: id, reason: null }, CALLER)
    expect(await daysIn()).toEqual([1, 2, 3, 6, 7])
  })
  test('nights in the past are offered, because they can be booked', async () => {
    await unit('sea-view')
    const stay = { arrival: '2020-03-01', departure: '2020-03-04' }
    expect(offersIn(await ask(new URLSearchParams(stay).toString()))).toMatchObject([stay])
    expect((await service.call('/bookings', { key, json: { unit: 'sea-view', ...stay } })).status).toBe(201)
  })
  test('units that are not in memory are answered like the others', async () => {
    const own = await startTestService({ limits: { residentUnitsMax: 5 } })
    const theirs = await own.agency()
    const { secret } = await own.key(theirs)
    for (let i = 0; i < 30; i++) {
      const made = await own.unit(theirs, { slug: `u-${i}`, name: `u-${String(i).padStart(2, '0')}` })
      if (i % 3 === 0) await own.book(theirs, made, '2027-03-02', '2027-03-03')
    }
    const answer = await own.call(`/search?${STAY}&sort=name`, { key: secret })
    expect(offersIn(answer).map((offer) => offer.unit)).toEqual(
      Array.from({ length: 30 }, (_, i) => i).flatMap((i) => (i % 3 === 0 ? [] : [`u-${i}`])),
    )
    await own.close()
  })
})

test('of generated agencies, each offer is quoted and booked at its total, and every stay that is none is refused', async () => {
  const random = new SeededRandom(92)
  const about = night('2027-03-01')
  await service.feeType(agency)
  await service.feeType(agency, { kind: 'percent', amount: null, basisPoints: 333 })
  const units = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      unit(`u-${i}`, {
        maxGuests: 10,
        rules: generatedRules(random, about, { turnoverNights: random.int(0, 2), extraBedFee: 77 }),
      }),
    ),
  )
  for (let n = 0; n < 60; n++) {
    const arrival = addNights(about, random.int(-5, 60))
    const [a, b] = [formatNight(arrival), formatNight(addNights(arrival, random.int(1, 6)))]
    const type = random.pick(['guest', 'owner_stay', 'maintenance'] as const)
    await service.ledger.commands.book(
      agency,
      requestFor(random.pick(units), a, b, { type, enforcement: 'agency' }),
      CALLER,
    )
  }
  let [booked, refused] = [0, 0]
  for (const nights of [1, 3, 7]) {
    const party = { adults: 2, children: random.int(0, 2), extraBed: random.chance(0.5) }
    const from = addNights(about, random.int(-10, 20))
    const to = addNights(from, 30)
    const query = new URLSearchParams({
      from: formatNight(from),
      to: formatNight(to),
      nights: String(nights),
      each: 'stay',
      pageSize: '200',
      adults: String(party.adults),
      children: String(party.children),
      extraBed: String(party.extraBed),
    })
    const offers: Offer[] = []
    for (let page = 1; page === 1 || offers.length === 200 * (page - 1); page++)
      offers.push(...offersIn(await ask(`${query}&page=${page}`)))
    const totals = new Map(offers.map((offer) => [`${offer.unit} ${offer.arrival}`, offer.total]))
    expect(totals.size).toBe(offers.length)
    for (const { slug } of units)
      for (let arrival = from; arrival + nights <= to; arrival = addNights(arrival, 1)) {
        // Some of them, to save time: none is more likely than another to be wrong.
        if (random.chance(rounds({ push: 0.8, long: 0.5 }))) continue
        const stay = { arrival: formatNight(arrival), departure: formatNight(addNights(arrival, nights)) }
        const json = { unit: slug, ...stay, ...party }
        const total = totals.get(`${slug} ${stay.arrival}`)
        const quoted = await service.call('/quote', { key, json })
        const made = await service.call('/bookings', { key, json })
        if (total === undefined) {
          refused += 1
          expect({ json, status: made.status }).toEqual({ json, status: quoted.status === 422 ? 422 : 409 })
          continue
        }
        booked += 1
        expect(quoted.body).toMatchObject({ available: true, quote: { total } })
        expect({ json, status: made.status, body: made.body }).toMatchObject({
          json,
          status: 201,
          body: { booking: { totalAmount: total } },
        })
        await service.call(`/bookings/${made.body.booking.id}/cancel`, { key, json: {} })
      }
  }
  const least = rounds({ push: 15, long: 50 })
  expect([booked > least, refused > least]).toEqual([true, true])
}, 120_000)
