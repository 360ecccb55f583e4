/** See docs/design.md#rates-preview. */
import { beforeEach, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { formatNight, type Night } from '../../../src/core/domain/night.ts'
import { ratesJson } from '../../../src/http/json/rates-json.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRules } from '../../support/generated-rules.ts'
import { night, sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}/units/sea-view/rates`
  await service.unit(agency, {
    slug: 'sea-view',
    name: 'Sea View',
    rules: sampleRules({ basePrice: 9_999, minStay: 2 }),
  })
  await service.feeType(agency)
})

const RANGE = { from: '2027-03-01', to: '2027-03-05' }
const preview = (json: object, token?: string) =>
  service.ask(`${path}/preview`, json, token === undefined ? {} : { token })

test('shows the price, the minimum stay and the season of every night, and saves nothing', async () => {
  const seasons = [{ name: 'Spring', from: '2027-03-02', to: '2027-03-04', nightlyPrice: 20_000, minStay: 5 }]
  const rates = { seasons, weekdayAdjustments: [{ weekday: 3, pct: 50 }] }
  const { status, body } = await preview({ rates, ...RANGE })
  expect([status, body]).toEqual([
    200,
    {
      nights: {
        from: '2027-03-01',
        prices: [9_999, 20_000, 30_000, 9_999],
        minStay: [2, 5, 5, 2],
        season: [null, 'Spring', 'Spring', null],
      },
      quote: null,
      refusal: null,
    },
  ])
  expect((await service.get(path)).body.rates.seasons).toEqual([])
  const id = uuidOf(agency.id)
  const [left] = await service.database.sql`
    select (select count(*)::int from journal where agency_id = ${id} and kind <> 'unit_set') as entries,
      (select count(*)::int from audit_line where agency_id = ${id} and route like '%preview%') as lines`
  expect(left as unknown).toEqual({ entries: 0, lines: 0 })
})

test('is for everyone of the agency, also of an archived unit', async () => {
  const { secret } = await service.accessToken(agency, 'viewer')
  await service.patch(`/agencies/${agency.slug}/units/sea-view`, { status: 'archived' })
  expect((await preview({ rates: {}, ...RANGE }, secret)).status).toBe(200)
})

test('says that a stay is too short as a partner would be told', async () => {
  const rates = { seasons: [{ name: 'S', from: '2027-03-01', to: '2027-03-04', nightlyPrice: 1, minStay: 5 }] }
  const { body } = await preview({ rates, ...RANGE, stay: { arrival: '2027-03-01', departure: '2027-03-04' } })
  const { quote, refusal } = body
  await service.put(path, rates)
  const { secret } = await service.key(agency)
  const request = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
  const { requestId: _, ...problem } = (await service.asPartner(secret, '/quote', request)).body
  expect([quote, refusal]).toEqual([null, problem])
})

test('takes no more of a unit than its prices and minimum stay: restrictions are what is saved', async () => {
  const rows = [{ from: null, to: null, weekdays: null, rule: 'minStayArrival', value: 300 }]
  for (const restrictions of [{}, 5, { rows, advanceNoticeHours: null, bookingWindowDays: null }]) {
    const { status, body } = await preview({ ...RANGE, rates: {}, unit: { minStay: 2, restrictions } })
    expect([status, body.nights.minStay[0]]).toEqual([200, 2])
  }
})

test.each<[string, object]>([
  ['to', { ...RANGE, rates: {}, to: '2027-03-01' }],
  ['to', { ...RANGE, rates: {}, to: '2030-03-02' }],
  ['rates', RANGE],
  ['stay.departure', { ...RANGE, rates: {}, stay: { arrival: '2027-03-01', departure: '2027-03-01' } }],
  ['stay.arrival', { ...RANGE, rates: {}, stay: { departure: '2027-03-01' } }],
  [
    'rates.seasons[0].to',
    { ...RANGE, rates: { seasons: [{ name: 'S', nightlyPrice: 1, from: RANGE.from, to: RANGE.from }] } },
  ],
])('names what is wrong: %s', async (field, json) => {
  const { status, body } = await preview(json)
  expect([status, body.errors[0].field]).toEqual([400, field])
  expect(body.errors[0].message).toStartWith(field)
})

const SEED = Number(process.env['PREVIEW_SEED'] ?? 20_270_601)
test(`agrees with what partners get once the same rates are saved: quotes, refusals and every night's price (seed ${SEED})`, async () => {
  const random = new SeededRandom(SEED)
  const { secret } = await service.key(agency)
  const about = night('2027-06-01')
  const day = (n: number) => formatNight((about + n) as Night)
  const rows = [{ rule: 'minStayThrough', value: 6, from: day(10), to: day(12) }]
  await service.put(path.replace('/rates', '/restrictions'), { restrictions: rows })
  let refusals = 0
  for (let round = 0; round < 25; round++) {
    const rates = ratesJson(generatedRules(random, about).rates)
    const window = { from: day(-40), to: day(100) }
    const stays = Array.from({ length: 6 }, () => {
      const from = random.below(60) - 20
      const party = random.chance(0.5) ? {} : { adults: 2, children: random.below(3), extraBed: random.chance(0.5) }
      return { arrival: day(from), departure: day(from + 1 + random.below(30)), ...party }
    })
    const previews = []
    for (const stay of stays) previews.push((await preview({ rates, ...window, stay })).body)
    expect((await service.put(path, rates)).status).toBe(200)
    for (const [i, stay] of stays.entries()) {
      const { status, body } = await service.asPartner(secret, '/quote', { unit: 'sea-view', ...stay })
      const { requestId: _, ...problem } = body
      if (status === 422) refusals += 1
      expect(previews[i]).toMatchObject(
        status === 200 ? { quote: body.quote, refusal: null } : { quote: null, refusal: problem },
      )
    }
    const { units } = (await service.call(`/calendar?from=${window.from}&to=${window.to}&prices=true`, { key: secret }))
      .body
    const { prices, minStay } = previews[0].nights
    expect({ prices, minStay }).toEqual({ prices: units[0].prices, minStay: units[0].minStay })
  }
  expect(refusals).toBeGreaterThan(5)
})
