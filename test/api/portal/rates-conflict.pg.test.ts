import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { startTestService, type TestService } from '../../support/test-service.ts'

let service: TestService
let agency: Agency
let path: string

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())
beforeEach(async () => {
  agency = await service.agency()
  path = `/agencies/${agency.slug}/units/sea-view/rates`
  await service.unit(agency, { slug: 'sea-view' })
})

const weekday = (day: number) => ({ weekdayAdjustments: [{ weekday: day, pct: 10 }] })
const put = (json: object) => service.ask(path, json, { method: 'PUT' })

test('of colleagues who replace the same rates at once one is let through', async () => {
  const { rates: seen } = (await service.get(path)).body
  const answers = await Promise.all([1, 2, 3].map((day) => put({ ...weekday(day), replaces: seen })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'RATES_CHANGED' })
  const saved = answers.find(({ status }) => status === 200)
  expect((await service.get(path)).body).toEqual(saved?.body)
})

test('a change is based on rates, not on their order, and one that says nothing of them replaces any', async () => {
  const seasons = [
    { name: 'Late', from: '2027-09-01', to: '2027-10-01', nightlyPrice: 12_000 },
    { name: 'High', from: '2027-06-01', to: '2027-09-01', nightlyPrice: 18_000, minStay: 3 },
  ]
  expect((await put({ seasons })).status).toBe(200)
  expect((await put({ ...weekday(5), replaces: { seasons } })).status).toBe(200)
  expect((await put({ ...weekday(6), replaces: { seasons } })).status).toBe(409)
  expect((await put(weekday(6))).status).toBe(200)
  expect((await service.get(path)).body.rates).toMatchObject({ seasons: [], ...weekday(6) })
})

test('a refused change leaves its line in the audit trail, and none that it was made', async () => {
  await put({ ...weekday(5), replaces: weekday(1) })
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
