/** What restrictions would do, before they are saved (docs/partner-additions.md#8-restrictions). */
import { beforeEach, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { addNights, formatNight, type Night } from '../../../src/core/domain/night.ts'
import { restrictionsJson } from '../../../src/http/json/restrictions-json.ts'
import { type Clock, DAY_MS, systemClock } from '../../../src/lib/clock.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRestrictions } from '../../support/generated-rules.ts'
import { AMPLE_PLAN, sampleRules } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string
/** Stands still, because notice and window are measured from it. */
const now = Date.now()
const clock: Clock = {
  now: () => now,
  monotonicMs: () => systemClock.monotonicMs(),
  after: (ms, task) => systemClock.after(ms, task),
}
const ABOUT = (Math.floor(now / DAY_MS) + 60) as Night
const day = (n: number) => formatNight(addNights(ABOUT, n))

const service = await sharedTestService({ clock })
beforeEach(async () => {
  agency = await service.agency({ plan: AMPLE_PLAN })
  path = `/agencies/${agency.slug}/units/sea-view/restrictions`
  await service.unit(agency, { slug: 'sea-view', rules: sampleRules({ minStay: 1 }) })
})

const preview = (json: object, token?: string) =>
  service.ask(`${path}/preview`, json, token === undefined ? {} : { token })
const book = async (arrival: number, departure: number, type = 'guest') => {
  const json = { unit: 'sea-view', arrival: day(arrival), departure: day(departure), type }
  expect((await service.ask(`/agencies/${agency.slug}/bookings`, json)).status).toBe(201)
}
const RANGE = { from: day(0), to: day(6) }

test('lists the arrivals that are closed and opened, with the rules that refuse them, and saves nothing', async () => {
  await service.put(path, { restrictions: [{ from: day(0), to: day(1), rule: 'maxStay', value: 1 }] })
  const before = await service.get(path)
  const restrictions = {
    restrictions: [
      { from: day(2), to: day(3), rule: 'closedToArrival', value: true },
      { from: day(5), to: day(6), rule: 'minStayArrival', value: 4 },
      { from: day(4), to: day(5), rule: 'closedToDeparture', value: true },
    ],
  }
  const { status, body } = await preview({ restrictions, ...RANGE })
  expect([status, body]).toEqual([
    200,
    {
      nights: 2,
      soldNow: 5,
      soldThen: 4,
      changes: [
        { arrival: day(0), isSold: true, refusals: [{ rule: 'maxStay', date: day(0), value: 1 }] },
        {
          arrival: day(2),
          isSold: false,
          refusals: [
            { rule: 'closedToArrival', date: day(2), value: true },
            { rule: 'closedToDeparture', date: day(4), value: true },
          ],
        },
        { arrival: day(5), isSold: false, refusals: [{ rule: 'minStay', date: day(5), value: 4 }] },
      ],
    },
  ])
  expect((await service.get(path)).body).toEqual(before.body)
  const id = uuidOf(agency.id)
  const [left] = await service.database.sql`
    select count(*)::int as lines from audit_line where agency_id = ${id} and route like '%preview%'`
  expect(left as unknown).toEqual({ lines: 0 })
})

test('booked nights count neither before nor after, and the stays are as long as a minimum stay above two', async () => {
  await book(0, 4, 'block')
  const restrictions = { restrictions: [{ rule: 'stopSell', value: true }] }
  const { changes } = (await preview({ restrictions, ...RANGE })).body
  expect(changes.map(({ arrival }: { arrival: string }) => arrival)).toEqual([day(4), day(5)])
  await service.patch(`/agencies/${agency.slug}/units/sea-view`, { minStay: 5 })
  expect((await preview({ restrictions, ...RANGE })).body.nights).toBe(5)
})

test('is allowed for every role of the agency', async () => {
  const { secret } = await service.accessToken(agency, 'viewer')
  expect((await preview({ restrictions: {}, ...RANGE }, secret)).status).toBe(200)
})

test.each<[string, object]>([
  ['to', { restrictions: {}, from: day(0), to: day(367) }],
  ['to', { restrictions: {}, from: day(1), to: day(0) }],
  ['restrictions', RANGE],
  ['nights', { restrictions: {}, ...RANGE, nights: 367 }],
  [
    'restrictions.restrictions[0].to',
    { ...RANGE, restrictions: { restrictions: [{ from: day(1), to: day(1), rule: 'stopSell', value: true }] } },
  ],
])('names what is wrong: %s', async (field, json) => {
  const { status, body } = await preview(json)
  expect([status, body.errors[0].field]).toEqual([400, field])
  expect(body.errors[0].message).toStartWith(field)
})

const SEED = Number(process.env['PREVIEW_SEED'] ?? 20_270_701)
test(`agrees with what partners are answered before and after the same restrictions are saved (seed ${SEED})`, async () => {
  const random = new SeededRandom(SEED)
  const { secret } = await service.key(agency)
  await service.patch(`/agencies/${agency.slug}/units/sea-view`, { turnoverNights: 1 })
  await book(3, 6)
  await book(15, 17, 'block')
  const range = { from: day(-10), to: day(30) }
  const sold = async (nights: number) => {
    const arrivals: string[] = []
    for (let n = -10; n < 30; n++) {
      const stay = { unit: 'sea-view', arrival: day(n), departure: day(n + nights) }
      const { status, body } = await service.asPartner(secret, '/quote', stay)
      if (status === 200 && body.available) arrivals.push(day(n))
    }
    return arrivals
  }
  let differences = 0
  for (let round = 0; round < 12; round++) {
    const restrictions = restrictionsJson(generatedRestrictions(random, ABOUT))
    const nights = random.int(1, 5)
    const { body } = await preview({ restrictions, ...range, nights })
    const before = await sold(nights)
    expect((await service.put(path, restrictions)).status).toBe(200)
    const after = await sold(nights)
    const changed = (isSold: boolean) =>
      body.changes
        .filter((change: { isSold: boolean }) => change.isSold === isSold)
        .map(({ arrival }: { arrival: string }) => arrival)
    differences += body.changes.length
    expect([body.soldNow, body.soldThen]).toEqual([before.length, after.length])
    expect(changed(false)).toEqual(before.filter((arrival) => !after.includes(arrival)))
    expect(changed(true)).toEqual(after.filter((arrival) => !before.includes(arrival)))
  }
  expect(differences).toBeGreaterThan(50)
})
