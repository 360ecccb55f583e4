import { beforeEach, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import type { HttpAnswer } from '../../support/http-call.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}/units/sea-view/rates`
  await service.unit(agency, { slug: 'sea-view' })
})

const weekday = (day: number) => ({ weekdayAdjustments: [{ weekday: day, pct: 10 }] })
/** @param basedOn the entity tag of the rates that the change is based on */
const put = (json: object, basedOn?: string) =>
  service.ask(path, json, { method: 'PUT', ...(basedOn === undefined ? {} : { headers: { 'if-match': basedOn } }) })
const tagOf = ({ headers }: HttpAnswer) => headers.get('etag') ?? ''

test('of colleagues who replace the same rates at once one is let through', async () => {
  const seen = tagOf(await service.get(path))
  const answers = await Promise.all([1, 2, 3].map((day) => put(weekday(day), seen)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
  expect(answers.find(({ status }) => status === 412)?.body).toMatchObject({ code: 'RATES_CHANGED' })
  const saved = answers.find(({ status }) => status === 200)
  expect((await service.get(path)).body).toEqual(saved?.body)
})

test('a change is based on rates, not on their order, and one that says nothing of them replaces any', async () => {
  const seasons = [
    { name: 'Late', from: '2027-09-01', to: '2027-10-01', nightlyPrice: 12_000 },
    { name: 'High', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 18_000, minStay: 3 },
  ]
  const seen = tagOf(await put({ seasons }))
  expect(tagOf(await put({ seasons: seasons.toReversed() }))).toBe(seen)
  const next = await put(weekday(5), seen)
  expect(next.status).toBe(200)
  expect((await put(weekday(6), seen)).status).toBe(412)
  expect((await put(weekday(7), `${seen}, W/${tagOf(next)}`)).status).toBe(200)
  expect((await put(weekday(6), '*')).status).toBe(200)
  expect((await put(weekday(6))).status).toBe(200)
  expect((await service.get(path)).body.rates).toMatchObject({ seasons: [], ...weekday(6) })
})

test('as many seasons as a unit may have are replaced with the tag of what was read', async () => {
  const day = (n: number) => new Date(Date.UTC(2027, 0, 1 + n)).toISOString().slice(0, 10)
  const seasons = Array.from({ length: 500 }, (_, n) => ({
    name: `Season ${n}`,
    from: day(n),
    to: day(n + 1),
    nightlyPrice: 10_000 + n,
    minStay: null,
  }))
  const seen = await put({ seasons }, tagOf(await service.get(path)))
  expect(seen.status).toBe(200)
  const [, ...fewer] = seasons
  expect(await put({ seasons: fewer }, tagOf(seen))).toMatchObject({ status: 200, body: { rates: { seasons: fewer } } })
})

test('the tag is that of the rates: a read with it is answered with 304, and a malformed one of a change is refused', async () => {
  const tag = tagOf(await put(weekday(5)))
  expect((await service.ask(path, undefined, { headers: { 'if-none-match': tag } })).status).toBe(304)
  await service.patch(`/agencies/${agency.slug}/units/sea-view`, { name: 'Sea View II' })
  expect(tagOf(await service.get(path))).toBe(tag)
  expect((await put(weekday(5), 'mine')).body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'If-Match' }] })
})

test('a change that was made already is answered again, whatever the rates are by then', async () => {
  const seen = tagOf(await service.get(path))
  const send = () =>
    service.ask(path, weekday(5), { method: 'PUT', headers: { 'if-match': seen, 'idempotency-key': 'a' } })
  const first = await send()
  expect(await send()).toMatchObject({ status: 200, body: first.body })
})

test('a refused change leaves its line in the audit trail, and none that it was made', async () => {
  await put(weekday(5), '"of-other-rates"')
  const { audit } = (await service.get(`/agencies/${agency.slug}/audit?outcome=RATES_CHANGED`)).body
  expect(audit).toHaveLength(1)
})

test("the preview takes the unit's own prices, and saves none of them", async () => {
  const range = { from: '2027-03-01', to: '2027-03-03' }
  const stay = { arrival: '2027-03-01', departure: '2027-03-03' }
  const unit = { basePrice: 20_000, cleaningFee: 4_000, minStay: 2 }
  const before = (await service.get(`/agencies/${agency.slug}/units/sea-view`)).body
  const { body } = await service.ask(`${path}/preview`, { rates: {}, unit, ...range, stay })
  expect(body.nights).toMatchObject({ prices: [20_000, 20_000], minStay: [2, 2] })
  expect(body.quote.total).toBe(44_000)
  expect((await service.get(`/agencies/${agency.slug}/units/sea-view`)).body).toEqual(before)
})
