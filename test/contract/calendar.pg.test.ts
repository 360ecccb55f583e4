/** See docs/partner-additions.md#2-get-calendar-all-units-at-once: a test per sentence, limits at their edges, and generated units. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { addNights, formatNight, type Night } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { generatedRules } from '../support/generated-rules.ts'
import { CALLER, night, requestFor, sampleRules } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

let agency: Agency
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
})

const RANGE = 'from=2027-03-01&to=2027-03-08'
const ask = (query: string, secret = key) => service.call(`/calendar?${query}`, { key: secret })
const unit = (slug: string, change: Partial<Unit> = {}) => service.unit(agency, { slug, name: slug, ...change })
const invalid = (field: string) => ({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })
const slugsIn = (answer: { body: { units: { unit: string }[] } }) => answer.body.units.map((each) => each.unit)

describe('scopes', () => {
  test('read:availability', async () => {
    await unit('sea-view')
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    expect((await ask(RANGE, secret)).status).toBe(200)
    expect((await ask(`${RANGE}&prices=false`, secret)).status).toBe(200)
    const other = await service.key(agency, { scopes: ['read:units', 'read:rates', 'read:bookings'] })
    expect(await ask(RANGE, other.secret)).toMatchObject({
      status: 403,
      body: { code: 'SCOPE_MISSING', scope: 'read:availability' },
    })
  })
  test('with prices=true also read:rates: 403 SCOPE_MISSING names it', async () => {
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    const missing = { status: 403, body: { code: 'SCOPE_MISSING', scope: 'read:rates' } }
    expect(await ask(`${RANGE}&prices=true`, secret)).toMatchObject(missing)
    // A missing scope comes before 400, and before 404.
    expect(await ask('prices=true', secret)).toMatchObject(missing)
    expect(await ask('prices=%74rue&from=x', secret)).toMatchObject(missing)
    expect(await ask(`${RANGE}&prices=true&units=none`, secret)).toMatchObject(missing)
    // The first scope is named first.
    const neither = await service.key(agency, { scopes: ['read:units'] })
    expect(await ask(`${RANGE}&prices=true`, neither.secret)).toMatchObject({ body: { scope: 'read:availability' } })
    const both = await service.key(agency, { scopes: ['read:availability', 'read:rates'] })
    expect((await ask(`${RANGE}&prices=true`, both.secret)).status).toBe(200)
  })
})

describe('the query', () => {
  test.each(['from', 'to'])('%s: YYYY-MM-DD, required', async (name) => {
    const query = { from: '2027-03-01', to: '2027-03-02' }
    for (const wrong of ['', '2027-3-1', '2027-02-30', '1999-12-31', '2100-01-01', '2027-03-01T00:00:00Z'])
      expect(await ask(new URLSearchParams({ ...query, [name]: wrong }).toString())).toMatchObject(invalid(name))
    const { [name as 'from']: _, ...without } = query
    expect(await ask(new URLSearchParams(without).toString())).toMatchObject(invalid(name))
  })
  test('to is at most 366 days after from, and not before it', async () => {
    await unit('sea-view')
    const widest = await ask('from=2027-01-01&to=2028-01-02&prices=true')
    expect([widest.status, widest.body.units[0].prices.length, widest.body.units[0].minStay.length]).toEqual([
      200, 366, 366,
    ])
    expect(await ask('from=2027-01-01&to=2028-01-03')).toMatchObject(invalid('to'))
    expect(await ask('from=2027-01-02&to=2027-01-01')).toMatchObject(invalid('to'))
    const empty = await ask('from=2027-01-01&to=2027-01-01&prices=true')
    expect(empty.body.units).toEqual([{ unit: 'sea-view', blocked: [], prices: [], minStay: [] }])
  })
  test('prices: true or false', async () => {
    for (const wrong of ['', '1', 'TRUE', 'yes'])
      expect(await ask(`${RANGE}&prices=${wrong}`)).toMatchObject(invalid('prices'))
  })
  test('a parameter given twice is 400', async () => {
    expect(await ask(`${RANGE}&prices=true&prices=true`)).toMatchObject(invalid('prices'))
  })
  describe('units', () => {
    test('comma-separated slugs, in the order of the answer; one named twice counts once', async () => {
      for (const slug of ['a', 'b', 'c']) await unit(slug)
      expect(slugsIn(await ask(`${RANGE}&units=c,a`))).toEqual(['c', 'a'])
      const twice = await ask(`${RANGE}&units=c%2Ca,c,a,c`)
      expect([slugsIn(twice), twice.body.totalItems]).toEqual([['c', 'a'], 2])
    })
    test('an unknown one is 404 naming it; so are an archived one and one of another agency', async () => {
      await unit('a')
      await unit('old', { status: 'archived' })
      await service.unit(await service.agency(), { slug: 'theirs' })
      for (const slug of ['none', 'old', 'theirs', 'A', ' a']) {
        const { status, body } = await ask(`${RANGE}&units=${encodeURIComponent(`a,${slug}`)}`)
        expect([status, body.code, body.title]).toEqual([404, 'NOT_FOUND', `No such unit: ${slug}`])
      }
    })
    test('an empty one, and an empty list, are 400', async () => {
      await unit('a')
      for (const list of ['', ',', 'a,', ',a', 'a,,a'])
        expect([list, await ask(`${RANGE}&units=${list}`)]).toMatchObject([list, invalid('units')])
    })
    test('at most 200, each counted once', async () => {
      const slugs = Array.from({ length: 201 }, (_, i) => `u-${i}`)
      await Promise.all(slugs.map((slug) => unit(slug)))
      const most = await ask(`${RANGE}&pageSize=200&units=${[...slugs.slice(0, 200), 'u-0'].join()}`)
      expect([most.status, slugsIn(most)]).toEqual([200, slugs.slice(0, 200)])
      const refused = await ask(`${RANGE}&units=${slugs.join()}`)
      expect(refused).toMatchObject(invalid('units'))
      expect(refused.body.title).toBe('units must be 1 to 200 slugs separated by commas')
      const all = await ask(`${RANGE}&pageSize=200&page=2`)
      expect([all.body.totalItems, all.body.pageCount, all.body.units.length]).toEqual([201, 2, 1])
    })
    test('left out: every unit that GET /units lists, in its order; drafts included, archived ones not', async () => {
      await unit('c', { name: 'Alfa' })
      await unit('a', { name: 'Charlie', status: 'draft' })
      await unit('b', { name: 'Bravo' })
      await unit('d', { name: 'Delta', status: 'archived' })
      expect(slugsIn(await ask(RANGE))).toEqual(['c', 'b', 'a'])
      const listed = (await service.call('/units', { key })).body.units.map(({ slug }: Unit) => slug)
      expect(slugsIn(await ask(RANGE))).toEqual(listed)
    })
  })
  describe('page and pageSize', () => {
    test('units per page, 1 to 200, default 100', async () => {
      await Promise.all(Array.from({ length: 101 }, (_, i) => unit(`u-${String(i).padStart(3, '0')}`)))
      const first = await ask(RANGE)
      expect(first.body).toMatchObject({ page: 1, pageSize: 100, totalItems: 101, pageCount: 2 })
      expect(slugsIn(first).length).toBe(100)
      expect(slugsIn(await ask(`${RANGE}&page=2`))).toEqual(['u-100'])
      expect(slugsIn(await ask(`${RANGE}&page=3`))).toEqual([])
      const third = await ask(`${RANGE}&page=34&pageSize=3`)
      expect([slugsIn(third), third.body.pageCount]).toEqual([['u-099', 'u-100'], 34])
      expect(slugsIn(await ask(`${RANGE}&units=u-007,u-005,u-003&pageSize=2&page=2`))).toEqual(['u-003'])
    })
    test.each(['page=0', 'page=x', 'pageSize=0', 'pageSize=201', 'pageSize=1.5'])('%s is 400', async (wrong) => {
      expect(await ask(`${RANGE}&${wrong}`)).toMatchObject(invalid(wrong.split('=')[0] ?? ''))
    })
    test('an agency without units has no pages', async () => {
      expect((await ask(RANGE)).body).toMatchObject({ units: [], page: 1, totalItems: 0, pageCount: 0 })
    })
  })
})

describe('200', () => {
  test('{from, to, currency, units: [{unit, blocked}], page, pageSize, totalItems, pageCount}', async () => {
    await unit('sea-view')
    const answer = await ask(RANGE)
    expect(answer.body).toEqual({
      from: '2027-03-01',
      to: '2027-03-08',
      currency: 'EUR',
      units: [{ unit: 'sea-view', blocked: [] }],
      page: 1,
      pageSize: 100,
      totalItems: 1,
      pageCount: 1,
    })
    expect(Object.keys(answer.body).slice(0, 4)).toEqual(['from', 'to', 'currency', 'units'])
  })
  test('blocked lists maximal half-open runs: stays back to back, with their cleaning nights, are one', async () => {
    const seaView = await unit('sea-view', { rules: sampleRules({ turnoverNights: 1 }) })
    await service.book(agency, seaView, '2027-02-20', '2027-03-02')
    await service.ledger.commands.book(
      agency,
      requestFor(seaView, '2027-03-03', '2027-03-04', { type: 'block', enforcement: 'agency' }),
      CALLER,
    )
    await service.book(agency, seaView, '2027-03-06', '2027-03-20')
    expect((await ask(RANGE)).body.units[0].blocked).toEqual([
      { from: '2027-03-01', to: '2027-03-04' },
      { from: '2027-03-06', to: '2027-03-08' },
    ])
  })
  test('prices and minStay: by season and weekday, before discounts, cleaning and fees', async () => {
    await service.feeType(agency)
    const season = { name: 'Spring', from: night('2027-03-03'), to: night('2027-03-05'), nightlyPrice: 500, minStay: 4 }
    await unit('sea-view', {
      rules: sampleRules({
        basePrice: 100,
        minStay: 2,
        rates: {
          seasons: [season],
          // 7 March 2027 is a Sunday.
          weekdayAdjustments: [{ weekday: 7, basisPoints: 1_050 }],
          lengthOfStayDiscounts: [{ minNights: 2, basisPoints: 5_000 }],
        },
      }),
    })
    const [calendar] = (await ask(`${RANGE}&prices=true`)).body.units
    expect(calendar.prices).toEqual([100, 100, 500, 500, 100, 100, 111])
    expect(calendar.minStay).toEqual([2, 2, 4, 4, 2, 2, 2])
  })
  test('counts as one request', async () => {
    for (const slug of ['a', 'b', 'c']) await unit(slug)
    const used = async () => (await service.call('/me', { key })).body.quota.used
    const before = await used()
    await ask(`${RANGE}&prices=true`)
    expect(await used()).toBe(before + 2)
  })
  test('units that are not in memory are answered like the others', async () => {
    const own = await startTestService({ limits: { residentUnitsMax: 5 } })
    const theirs = await own.agency()
    const { secret } = await own.key(theirs)
    for (let i = 0; i < 30; i++) {
      const made = await own.unit(theirs, { slug: `u-${i}`, name: `u-${String(i).padStart(2, '0')}` })
      await own.book(theirs, made, formatNight((night('2027-03-01') + (i % 6)) as Night), '2027-03-07')
    }
    const { body } = await own.call(`/calendar?${RANGE}`, { key: secret })
    expect(
      body.units.map(({ unit, blocked }: { unit: string; blocked: { from: string }[] }) => [unit, blocked[0]?.from]),
    ).toEqual(Array.from({ length: 30 }, (_, i) => [`u-${i}`, `2027-03-0${1 + (i % 6)}`]))
    await own.close()
  })
})

test('of generated units, the calendar agrees with /availability night by night, and with /quote for every stay', async () => {
  const random = new SeededRandom(366)
  const from = night('2027-02-20')
  const units = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      unit(`u-${i}`, { rules: generatedRules(random, night('2027-03-01'), { turnoverNights: random.int(0, 2) }) }),
    ),
  )
  for (let n = 0; n < 120; n++) {
    const arrival = addNights(from, random.int(-5, 100))
    const [a, b] = [formatNight(arrival), formatNight(addNights(arrival, random.int(1, 12)))]
    const type = random.pick(['guest', 'owner_stay', 'maintenance'] as const)
    const status = random.pick(['confirmed', 'option'] as const)
    const request = requestFor(random.pick(units), a, b, { type, status, enforcement: 'agency' })
    await service.ledger.commands.book(agency, request, CALLER)
  }
  const to = addNights(from, 110)
  const range = `from=${formatNight(from)}&to=${formatNight(to)}`
  const { body } = await ask(`${range}&prices=true`)
  let blockedNights = 0
  for (const calendar of body.units as {
    unit: string
    blocked: { from: string; to: string }[]
    prices: number[]
    minStay: number[]
  }[]) {
    const expanded = calendar.blocked.flatMap((run) =>
      Array.from({ length: night(run.to) - night(run.from) }, (_, i) => formatNight(addNights(night(run.from), i))),
    )
    const availability = await service.call(`/availability?unit=${calendar.unit}&${range}`, { key })
    expect(expanded).toEqual(availability.body.blockedNights)
    blockedNights += expanded.length
    for (let n = 0; n < 25; n++) {
      const first = random.int(0, 100)
      const nights = random.int(1, 110 - first)
      const stay = {
        unit: calendar.unit,
        arrival: formatNight(addNights(from, first)),
        departure: formatNight(addNights(from, first + nights)),
      }
      const quoted = await service.call('/quote', { key, json: stay })
      const minStay = calendar.minStay[first] ?? 0
      if (nights < minStay) {
        expect({ stay, ...quoted.body }).toMatchObject({ stay, code: 'MIN_STAY', minStay })
        continue
      }
      const accommodation = (quoted.body.quote.lines as { kind: string; amount: number }[])
        .filter(({ kind }) => kind === 'accommodation')
        .reduce((sum, { amount }) => sum + amount, 0)
      const summed = calendar.prices.slice(first, first + nights).reduce((sum, price) => sum + price, 0)
      expect({ stay, summed }).toEqual({ stay, summed: accommodation })
    }
  }
  expect(blockedNights).toBeGreaterThan(100)
})
