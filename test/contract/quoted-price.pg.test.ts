/** See docs/partner-additions.md#5-book-at-the-price-that-was-shown: a test per sentence, and a race. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import { CALLER, sampleRules } from '../support/samples.ts'
import { sharedTestService, startTestService } from '../support/test-service.ts'

let agency: Agency
let key: string
let unit: Unit

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
  unit = await service.unit(agency, { slug: 'sea-view', name: 'Sea View' })
})

const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-05' }
const quote = (more: object = {}) => service.call('/quote', { key, json: { ...STAY, ...more } })
const tagOf = async (more: object = {}) => (await quote(more)).headers.get('etag') ?? ''
const book = (ifMatch: string | null, more: object = {}, headers: Record<string, string> = {}) =>
  service.call('/bookings', {
    key,
    json: { ...STAY, ...more },
    headers: { ...(ifMatch === null ? {} : { 'If-Match': ifMatch }), ...headers },
  })
const setPrice = (basePrice: number, change: Partial<Unit> = {}) =>
  service.ledger.commands.setUnit(
    agency,
    unit.id,
    (current) => ({ ...(current ?? unit), ...change, rules: sampleRules({ basePrice }) }),
    CALLER,
  )
const bookings = async () => (await service.call('/bookings', { key })).body.totalItems

describe('POST /quote', () => {
  test('answers with an ETag over what the guest would pay: lines, total, currency', async () => {
    const answer = await quote()
    const tag = answer.headers.get('etag') ?? ''
    expect(tag).toMatch(/^"[0-9a-z]+-[0-9a-z]+"$/)
    expect(await tagOf()).toBe(tag)
    const others = [
      await tagOf({ departure: '2027-03-06' }),
      await tagOf({ arrival: '2027-02-28' }),
      await tagOf({ children: 1, extraBed: true }),
    ]
    await setPrice(10_001)
    others.push(await tagOf())
    await setPrice(10_000)
    expect(await tagOf()).toBe(tag)
    await service.feeType(agency, { label: 'Linen', amount: 100 })
    others.push(await tagOf())
    expect(new Set([tag, ...others]).size).toBe(6)
  })
  test('its tag says nothing about availability, adults or the name of the unit: the guest would pay the same', async () => {
    const tag = await tagOf()
    expect(await tagOf({ adults: 5 })).toBe(tag)
    await setPrice(10_000, { name: 'Another name' })
    expect(await tagOf()).toBe(tag)
    await book(null)
    expect((await quote()).body.available).toBe(false)
    expect(await tagOf()).toBe(tag)
  })
  test('its answer is still not to be kept', async () => {
    expect((await quote()).headers.get('cache-control')).toBe('no-store')
  })
  test('a refusal has no tag', async () => {
    expect((await quote({ unit: 'none' })).headers.get('etag')).toBeNull()
  })
  test('its tag outlasts a restart', async () => {
    const first = await startTestService()
    const own = await first.agency()
    const { secret } = await first.key(own)
    await first.unit(own, { slug: 'sea-view' })
    const before = (await first.call('/quote', { key: secret, json: STAY })).headers.get('etag') ?? ''
    const second = await startTestService({ on: first.database })
    const booked = await second.call('/bookings', { key: secret, json: STAY, headers: { 'If-Match': before } })
    expect(booked.status).toBe(201)
    await second.close()
    await first.close()
  })
})

describe('POST /bookings with If-Match', () => {
  test('and the tag of a quote books at its price', async () => {
    const answer = await quote({ children: 1, extraBed: true })
    const booked = await book(answer.headers.get('etag'), { children: 1, extraBed: true })
    expect(booked).toMatchObject({ status: 201, body: { booking: { totalAmount: answer.body.quote.total } } })
  })
  test('and a tag that a quote made now would not carry: 412 QUOTE_CHANGED with the present quote, and nothing is booked', async () => {
    const tag = await tagOf()
    await setPrice(12_000)
    const { body } = await quote()
    const refused = await book(tag)
    expect(refused).toMatchObject({ status: 412, body: { code: 'QUOTE_CHANGED', quote: body.quote } })
    expect(refused.body.quote).toEqual(body.quote)
    expect(refused.body.title).toContain(String(body.quote.total))
    expect(await bookings()).toBe(0)
    expect((await book(await tagOf())).body.booking.totalAmount).toBe(body.quote.total)
  })
  test('changes of fees count like changes of rates', async () => {
    const tag = await tagOf()
    await service.feeType(agency)
    expect((await book(tag)).status).toBe(412)
  })
  test.each([
    ['another stay', { departure: '2027-03-06' }],
    ['another party', { children: 1, extraBed: true }],
  ])('the tag of %s does not pass', async (_, more) => {
    expect((await book(await tagOf(), more)).status).toBe(412)
  })
  test('the tag of another unit does not pass, even at the same price', async () => {
    await service.unit(agency, { slug: 'garden' })
    expect((await book(await tagOf({ unit: 'garden' }))).status).toBe(412)
  })
  test('takes a list, and W/ prefixes', async () => {
    const tag = await tagOf()
    expect((await book(`"x", W/${tag}`)).status).toBe(201)
    expect((await book('"x", "y"', { arrival: '2027-04-01', departure: '2027-04-05' })).status).toBe(412)
  })
  test('* is the same as none', async () => {
    expect((await book('*')).status).toBe(201)
  })
  test.each(['abc', '"abc', '"a" "b"', '"a", *', 'w/"a"', ','])('%s is no entity tag: 400', async (header) => {
    expect(await book(header)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION', errors: [{ field: 'If-Match' }] },
    })
    expect(await bookings()).toBe(0)
  })
  test('is checked after 409, 422 and 404, and its form before 404', async () => {
    await book(null)
    expect(await book('"x"')).toMatchObject({ status: 409, body: { code: 'BOOKING_CONFLICT' } })
    expect((await book('"x"', { unit: 'none' })).status).toBe(404)
    expect((await book('x', { unit: 'none' })).status).toBe(400)
    await setPrice(10_000)
    await service.ledger.commands.setUnit(
      agency,
      unit.id,
      (current) => ({ ...(current ?? unit), rules: sampleRules({ minStay: 9 }) }),
      CALLER,
    )
    expect((await book('"x"', { arrival: '2027-05-01', departure: '2027-05-02' })).status).toBe(422)
  })
  test('holds are checked too', async () => {
    expect((await book('"x"', { status: 'option' })).status).toBe(412)
    expect((await book(await tagOf(), { status: 'option' })).status).toBe(201)
  })
  test('prices in the body stay ignored', async () => {
    const booked = await book(await tagOf(), { totalAmount: 1, quote: { total: 1 } })
    expect(booked.body.booking.totalAmount).toBe((await quote()).body.quote.total)
  })
  test('the refusal is in the audit trail', async () => {
    await book('"x"')
    const { body } = await service.get(`/agencies/${agency.slug}/audit`)
    expect(JSON.stringify(body)).toContain('QUOTE_CHANGED')
  })
  test('needs no scope beyond write:bookings', async () => {
    const { secret } = await service.key(agency, { scopes: ['write:bookings'] })
    const refused = await service.call('/bookings', { key: secret, json: STAY, headers: { 'If-Match': '"x"' } })
    expect(refused.status).toBe(412)
  })
})

describe('a replay by Idempotency-Key', () => {
  const KEY = { 'Idempotency-Key': 'once' }

  test('does not look at If-Match: whatever it is now, the first answer comes again', async () => {
    const tag = await tagOf()
    const first = await book(tag, {}, KEY)
    expect(first.status).toBe(201)
    await setPrice(20_000)
    for (const header of [tag, '"x"', 'malformed', '*', null]) {
      const again = await book(header, {}, KEY)
      expect([header, again.status, again.text]).toEqual([header, 201, first.text])
      expect(again.headers.get('idempotency-replayed')).toBe('true')
    }
    expect(await bookings()).toBe(1)
  })
  test('of a 412 is a new attempt', async () => {
    expect((await book('"x"', {}, KEY)).status).toBe(412)
    expect((await book(await tagOf(), {}, KEY)).status).toBe(201)
  })
})

test('raced against changes of rates and fees, no booking has another price than the one shown', async () => {
  const random = new SeededRandom(412)
  let isOver = false
  const changing = (async () => {
    for (let n = 0; !isOver; n++) {
      await setPrice(random.pick([9_000, 10_000, 11_000]))
      if (n % 10 === 0 && n < 100) await service.feeType(agency, { amount: random.int(1, 9) })
    }
  })()
  const outcomes: Record<number, number> = {}
  await Promise.all(
    Array.from({ length: 8 }, async (_, client) => {
      for (let n = 0; n < 40; n++) {
        const year = 2027 + client
        const arrival = new Date(Date.UTC(year, 0, 1 + 3 * n)).toISOString().slice(0, 10)
        const departure = new Date(Date.UTC(year, 0, 3 + 3 * n)).toISOString().slice(0, 10)
        const shown = await quote({ arrival, departure })
        const answer = await book(shown.headers.get('etag'), { arrival, departure })
        outcomes[answer.status] = (outcomes[answer.status] ?? 0) + 1
        if (answer.status === 201) expect(answer.body.booking.totalAmount).toBe(shown.body.quote.total)
        else expect(answer.body.quote.total).not.toBe(shown.body.quote.total)
      }
    }),
  )
  isOver = true
  await changing
  expect(Object.keys(outcomes)).toEqual(['201', '412'])
  // It was no use if one of them hardly happened.
  expect(Math.min(outcomes[201] ?? 0, outcomes[412] ?? 0)).toBeGreaterThan(5)
})
