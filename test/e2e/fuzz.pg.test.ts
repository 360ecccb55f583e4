import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { Conformity, type Document, isOfBusyMachine } from '../support/conformity.ts'
import { send } from '../support/http-call.ts'
import { rounds } from '../support/long-run.ts'
import { RequestGenerator } from '../support/request-generator.ts'
import { sampleId, sampleRules } from '../support/samples.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

const REQUESTS = rounds({ push: 5_000, long: 20_000 })
/** So few that the lists of one agency, two of a request at most, run or wait: a further one would be refused. */
const AT_ONCE = 16
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

let service: TestService
let key: string
let document: Document
const bookingIds: string[] = [sampleId('bkg', 'none'), 'bkg_none']
/** Of answers to reads, and of quotes. */
const tags: string[] = []
const cursors = ['start']
/** When the units existed. */
let opened = ''
const guestIds: string[] = [sampleId('gst', 'none'), 'gst_none']

beforeAll(async () => {
  service = await startTestService()
  const agency = await service.agency()
  key = (await service.key(agency)).secret
  for (const [slug, turnoverNights] of [
    ['sea-view', 0],
    ['garden', 2],
  ] as const)
    await service.unit(agency, { slug, rules: sampleRules({ turnoverNights, minStay: 1 + turnoverNights }) })
  // No request books it, so that every search that is answered has an offer.
  await service.unit(agency, { slug: 'attic' })
  await service.feeType(agency)
  opened = new Date().toISOString()
  document = (await service.call('/openapi.json')).body
})
afterAll(() => service.close())

test(`${REQUESTS} requests drawn from the OpenAPI document get only answers that it allows, and never a 5xx (FUZZ_SEED=${seed})`, async () => {
  const generator = new RequestGenerator(document, new SeededRandom(seed), {
    unit: () => ['sea-view', 'garden'],
    units: () => ['sea-view', 'garden,sea-view', 'garden,', 'garden,none'],
    'If-None-Match': () => tags,
    'If-Match': () => tags,
    'path /partner/v1/units/{slug}': () => ['sea-view', 'garden'],
    'path /partner/v1/bookings/{id}': () => bookingIds,
    'path /partner/v1/bookings/{id}/cancel': () => bookingIds,
    'path /partner/v1/bookings/{id}/history': () => bookingIds,
    asOf: () => [opened, opened.replace('Z', '+00:00'), '2020-01-01T00:00Z', '2098-01-01T00:00:00Z'],
    'path /partner/v1/guests/{id}': () => guestIds,
    after: () => cursors,
    // Dates near to one another: a window is a quarter at most.
    'query /partner/v1/search arrival': () => ['2027-02-27', '2027-04-01', '2028-02-28'],
    'query /partner/v1/search departure': () => ['2027-02-28', '2027-04-08', '2028-03-01'],
    'query /partner/v1/search from': () => ['2027-02-28', '2027-04-01', '2027-04-30'],
    'query /partner/v1/search to': () => ['2027-04-30', '2027-05-15', '2027-07-02'],
    city: () => ['Lisbon', 'lisbon', 'Porto'],
  })
  const conformity = new Conformity(document)
  const faults: string[] = []
  const statuses = new Map<number, number>()
  let offers = 0

  const sendOne = async () => {
    const { method, path, headers, body } = generator.next()
    const sent = { method, headers, token: key, ...(body === null ? {} : { raw: body }) }
    const { status, text, body: answer, headers: answered } = await send(service.url + path, sent)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const tag = answered.get('etag')
    // Only the newest: an older one is seldom current.
    if (tag !== null && status === 200 && tags.push(tag) > 20) tags.shift()
    if (status === 201 && bookingIds.length < 500) bookingIds.push(answer.booking.id)
    if (status === 200 && answer?.changes !== undefined && cursors.length < 500) cursors.push(answer.cursor)
    if (status === 200 && answer?.guests !== undefined && guestIds.length < 500)
      guestIds.push(...answer.guests.slice(0, 3).map(({ id }: { id: string }) => id))
    if (status === 200 && answer?.offers !== undefined) offers += answer.offers.length
    const found = conformity.faultsIn({ method, path, status, headers: answered, body: answer })
    if ((status >= 500 && !isOfBusyMachine(text)) || found.length > 0)
      faults.push(`${method} ${path} ${body} → ${status} ${text.slice(0, 300)} ${found.join('; ')}`)
  }
  let left = REQUESTS
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      // On a push, offers are expected 15 times: too few to rely on.
      while (left-- > 0 || (offers === 0 && left > -REQUESTS)) await sendOne()
    }),
  )

  console.log(Object.fromEntries([...statuses].sort(([a], [b]) => a - b)))
  expect(faults.slice(0, 5)).toEqual([])
  expect([service.logged, service.bugs]).toEqual([[], []])
  // It was no use if it never got anywhere. Of 20,000, the rarest, 412, comes some 30 times, and offers some 60.
  const often = [200, 201, 304, 400, 404, 409, 422]
  for (const status of rounds({ push: often, long: [...often, 412] }))
    expect(statuses.get(status) ?? 0).toBeGreaterThan(0)
  expect(offers).toBeGreaterThan(0)
}, 300_000)

test('after all that, every night was sold once, and rows and answers agree', async () => {
  const [overlaps] = await service.database.sql`
    select count(*)::int as n from booking a join booking b
      on a.agency_id = b.agency_id and a.unit_id = b.unit_id and a.booking_id < b.booking_id
      and a.status <> 'cancelled' and b.status <> 'cancelled' and a.arrival < b.departure and b.arrival < a.departure`
  expect(overlaps?.['n']).toBe(0)
  const { body } = await service.call('/bookings', { key })
  const [rows] = await service.database.sql`select count(*)::int as n from booking`
  expect(body.totalItems).toBe(rows?.['n'])
})
