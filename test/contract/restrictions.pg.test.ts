/** Restrictions, from the portal to the answers to partners (docs/partner-additions.md#8-restrictions): a test per sentence. */
import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { type Clock, DAY_MS, dayOf, systemClock } from '../../src/lib/clock.ts'
import { sharedTestService } from '../support/test-service.ts'

let agency: Agency
let key: string
let portal: string

/** How far the clock of the service is ahead of real time. */
let shiftMs = 0
const clock: Clock = { ...systemClock, now: () => systemClock.now() + shiftMs }

const service = await sharedTestService({ clock })
beforeEach(async () => {
  shiftMs = 0
  agency = await service.agency()
  key = (await service.key(agency)).secret
  await service.unit(agency, { slug: 'sea-view', checkinTime: '15:00' })
  portal = `/agencies/${agency.slug}`
})

/** From a Monday to a Thursday. */
const STAY = { unit: 'sea-view', arrival: '2027-07-05', departure: '2027-07-08' }
const path = () => `${portal}/units/sea-view/restrictions`
const put = (json: object, headers: Record<string, string> = {}) =>
  service.ask(path(), json, { method: 'PUT', headers })
const call = (route: string, json?: object) => service.call(route, { key, ...(json === undefined ? {} : { json }) })
const row = (rule: string, value: boolean | number, change: object = {}) => ({
  from: null,
  to: null,
  weekdays: null,
  rule,
  value,
  ...change,
})
const NONE = { restrictions: [], advanceNoticeHours: null, bookingWindowDays: null }

describe('GET and PUT restrictions', () => {
  test('return the list as it was set; omitted members are null or empty', async () => {
    expect((await service.get(path())).body).toEqual(NONE)
    const set = await put({ restrictions: [{ rule: 'stopSell', value: true, from: '2027-07-01' }] })
    expect(set).toMatchObject({
      status: 200,
      body: { ...NONE, restrictions: [row('stopSell', true, { from: '2027-07-01' })] },
    })
    expect((await service.get(path())).body).toEqual(set.body)
    expect((await put({})).body).toEqual(NONE)
  })

  test('have an ETag of the restrictions, and a change based on others is 412 RESTRICTIONS_CHANGED', async () => {
    const none = (await service.get(path())).headers.get('etag') ?? ''
    const seen = (await put({ advanceNoticeHours: 24 }, { 'if-match': none })).headers.get('etag') ?? ''
    expect(await put({ advanceNoticeHours: 48 }, { 'if-match': none })).toMatchObject({
      status: 412,
      body: { code: 'RESTRICTIONS_CHANGED' },
    })
    expect(await put({ advanceNoticeHours: 48 }, { 'if-match': 'mine' })).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'If-Match' }] },
    })
    expect((await service.ask(path(), undefined, { headers: { 'if-none-match': seen } })).status).toBe(304)
    // Changes of rates and master data do not change it.
    await service.patch(`${portal}/units/sea-view`, { basePrice: 20_000 })
    await service.ask(`${portal}/units/sea-view/rates`, {}, { method: 'PUT' })
    expect((await put({}, { 'if-match': seen })).status).toBe(200)
    expect((await service.get(path())).headers.get('etag')).toBe(none)
  })

  test.each<[string, object]>([
    ['restrictions[0].weekdays', { restrictions: [row('stopSell', true, { weekdays: [] })] }],
    ['restrictions[0].to', { restrictions: [row('stopSell', true, { from: '2027-07-01', to: '2027-07-01' })] }],
    ['restrictions[0].value', { restrictions: [row('maxStay', true)] }],
    ['restrictions[0].value', { restrictions: [row('stopSell', 1)] }],
    ['restrictions[0].value', { restrictions: [row('maxStay', 367)] }],
    ['restrictions[0].rule', { restrictions: [row('closed', true)] }],
    ['advanceNoticeHours', { advanceNoticeHours: 8_761 }],
    ['bookingWindowDays', { bookingWindowDays: 0 }],
    ['restrictions', { restrictions: Array.from({ length: 501 }, () => row('stopSell', false)) }],
  ])('what cannot be meant is 400, and names %s', async (field, json) => {
    expect(await put(json)).toMatchObject({ status: 400, body: { code: 'VALIDATION', errors: [{ field }] } })
  })

  test('accept the largest number of rows', async () => {
    const restrictions = Array.from({ length: 500 }, (_, i) =>
      row('minStayArrival', (i % 366) + 1, { weekdays: [1, 7] }),
    )
    expect((await put({ restrictions, bookingWindowDays: 365 })).status).toBe(200)
    expect((await service.get(path())).body.restrictions).toEqual(restrictions)
  })
})

describe('a stay that is refused', () => {
  const refusal = {
    status: 422,
    body: {
      code: 'RESTRICTED',
      restrictions: [{ rule: 'closedToArrival', date: '2027-07-05', value: true }],
      alternatives: { previousArrival: '2027-07-04', nextArrival: '2027-07-06' },
    },
  }

  test('is 422 RESTRICTED for a quote and a booking, with all rules that refuse and the nearest arrivals', async () => {
    await put({ restrictions: [row('closedToArrival', true, { weekdays: [1] })] })
    expect(await call('/quote', STAY)).toMatchObject(refusal)
    expect(await call('/bookings', STAY)).toMatchObject(refusal)
    const { title } = (await call('/bookings', STAY)).body
    expect(title).toBe(
      'This stay cannot be booked: no arrivals on 2027-07-05. For the same number of nights, try an arrival on 2027-07-04 or 2027-07-06',
    )
    expect((await call('/bookings', { ...STAY, arrival: '2027-07-06' })).status).toBe(201)
  })

  test('gets MIN_STAY for minimum stays, which join that of the unit', async () => {
    await put({ restrictions: [row('minStayThrough', 5, { from: '2027-07-07', to: '2027-07-08' })] })
    expect(await call('/quote', STAY)).toMatchObject({ status: 422, body: { code: 'MIN_STAY', minStay: 5 } })
    expect((await call('/quote', { ...STAY, departure: '2027-07-07' })).status).toBe(200)
    expect((await call('/quote', { ...STAY, departure: '2027-07-10' })).status).toBe(200)
  })

  test('is refused before any 409, and before a price that has changed', async () => {
    const quoted = (await call('/quote', STAY)).headers.get('etag') ?? ''
    await call('/bookings', STAY)
    await put({ restrictions: [row('closedToDeparture', true, { weekdays: [4] })] })
    expect((await call('/bookings', STAY)).body.code).toBe('RESTRICTED')
    await service.ask(`${portal}/units/sea-view`, { basePrice: 1 }, { method: 'PATCH' })
    const booked = await service.call('/bookings', { key, json: STAY, headers: { 'If-Match': quoted } })
    expect([booked.status, booked.body.code]).toEqual([422, 'RESTRICTED'])
  })

  test('leaves its line in the audit trail', async () => {
    await put({ restrictions: [row('stopSell', true)] })
    await call('/bookings', STAY)
    expect((await service.get(`${portal}/audit?outcome=RESTRICTED`)).body.totalItems).toBe(1)
  })

  test('by notice or window is accepted once its time has come', async () => {
    await put({ advanceNoticeHours: 8_760, bookingWindowDays: 1 })
    const soon = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10)
    const later = new Date(Date.now() + 6 * 86_400_000).toISOString().slice(0, 10)
    const answer = await call('/quote', { unit: 'sea-view', arrival: soon, departure: later })
    expect(answer.body.restrictions).toEqual([
      { rule: 'advanceNoticeHours', date: soon, value: 8_760 },
      { rule: 'bookingWindowDays', date: soon, value: 1 },
    ])
    await put({ advanceNoticeHours: 24, bookingWindowDays: 30 })
    expect((await call('/quote', { unit: 'sea-view', arrival: soon, departure: later })).status).toBe(200)
  })
})

describe('the agency', () => {
  test('is not refused: answer, dry run and change of dates have warnings beside the booking', async () => {
    await put({ restrictions: [row('stopSell', true, { from: '2027-07-06', to: '2027-07-07' })] })
    const warnings = {
      restrictions: [{ rule: 'stopSell', date: '2027-07-06', value: true }],
      alternatives: { previousArrival: '2027-07-03', nextArrival: '2027-07-07' },
    }
    const tried = await service.ask(`${portal}/bookings?dryRun=true`, STAY)
    expect(tried).toMatchObject({ status: 200, body: { warnings } })
    const once = { headers: { 'idempotency-key': 'a' } }
    const made = await service.ask(`${portal}/bookings`, STAY, once)
    expect(made).toMatchObject({ status: 201, body: { warnings } })
    expect((await service.ask(`${portal}/bookings`, STAY, once)).body).toEqual(made.body)
    const booking = `${portal}/bookings/${made.body.booking.id}`
    expect((await service.patch(booking, { departure: '2027-07-09' })).body.warnings.restrictions).toEqual(
      warnings.restrictions,
    )
    expect((await service.patch(booking, { status: 'checked_in' })).body).not.toHaveProperty('warnings')
  })

  test('gets no warnings without restrictions', async () => {
    expect((await service.ask(`${portal}/bookings`, STAY)).body).not.toHaveProperty('warnings')
    expect(
      (await service.ask(`${portal}/bookings?dryRun=true`, { ...STAY, arrival: '2027-07-07' })).body,
    ).not.toHaveProperty('warnings')
  })

  test('keeps existing bookings, whatever it restricts later', async () => {
    const { id } = (await call('/bookings', STAY)).body.booking
    await put({ restrictions: [row('stopSell', true), row('maxStay', 1)] })
    expect((await call(`/bookings/${id}`)).body.booking.status).toBe('confirmed')
    expect((await service.patch(`${portal}/bookings/${id}`, { status: 'checked_in' })).status).toBe(200)
  })
})

describe('calendars and searches', () => {
  const RANGE = 'from=2027-07-05&to=2027-07-09'

  test('nights with stopSell are in blockedNights, in blocked of /calendar, and in the iCalendar feed', async () => {
    const { path: feed } = (await service.get(`${portal}/units/sea-view/calendar-feed`)).body.calendarFeed
    await put({ restrictions: [row('stopSell', true, { from: '2027-07-06', to: '2027-07-08' })] })
    expect((await call(`/availability?unit=sea-view&${RANGE}`)).body.blockedNights).toEqual([
      '2027-07-06',
      '2027-07-07',
    ])
    const [calendar] = (await call(`/calendar?${RANGE}`)).body.units
    expect(calendar).toEqual({ unit: 'sea-view', blocked: [{ from: '2027-07-06', to: '2027-07-08' }] })
    const text = await (await fetch(`${service.url}${feed}`)).text()
    expect(text).toContain('DTSTART;VALUE=DATE:20270706')
    await put({})
    expect((await call(`/availability?unit=sea-view&${RANGE}`)).body.blockedNights).toEqual([])
  })

  test('of a rule without an end, the iCalendar feed has three years, so that it stays short; it has every booked night', async () => {
    const { path: feed } = (await service.get(`${portal}/units/sea-view/calendar-feed`)).body.calendarFeed
    await call('/bookings', { unit: 'sea-view', arrival: '2090-01-01', departure: '2090-01-02' })
    await put({ restrictions: [row('stopSell', true, { weekdays: [1, 3, 5] })] })
    const text = await (await fetch(`${service.url}${feed}`)).text()
    const events = text.split('BEGIN:VEVENT').length - 1
    expect(events).toBeGreaterThan((1_096 * 3) / 7)
    expect(events).toBeLessThan(500)
    expect(text).toContain('DTSTART;VALUE=DATE:20900101')
  })

  test('/calendar?restrictions=true has arrivals, departures, maximum and minimum stays, without the scope for prices', async () => {
    await put({
      restrictions: [
        row('closedToArrival', true, { weekdays: [2] }),
        row('closedToDeparture', true, { weekdays: [5] }),
        row('maxStay', 9, { from: '2027-07-07' }),
        row('minStayThrough', 6, { from: '2027-07-08', to: '2027-07-09' }),
      ],
    })
    const { secret } = await service.key(agency, { scopes: ['read:availability'] })
    const answer = await service.call(`/calendar?${RANGE}&restrictions=true`, { key: secret })
    expect(answer.body.units).toEqual([
      {
        unit: 'sea-view',
        blocked: [],
        minStay: [1, 1, 1, 6],
        arrival: '1011',
        departure: '11110',
        maxStay: [0, 0, 9, 9],
      },
    ])
    const both = (await call(`/calendar?${RANGE}&restrictions=true&prices=true`)).body.units[0]
    expect(Object.keys(both)).toEqual(['unit', 'blocked', 'prices', 'minStay', 'arrival', 'departure', 'maxStay'])
  })

  test('the tag of /calendar covers restrictions, and the days that notice and window allow', async () => {
    const tag = async (query = '&restrictions=true') => (await call(`/calendar?${RANGE}${query}`)).headers.get('etag')
    const none = await tag()
    expect(await tag()).toBe(none)
    expect(await tag('')).not.toBe(none)
    await put({ advanceNoticeHours: 24 })
    const noticed = await tag()
    expect(noticed).not.toBe(none)
    expect(await tag()).toBe(noticed)
  })

  test('the tag of /calendar changes with the calendar when time opens or closes an arrival', async () => {
    await put({ bookingWindowDays: 30 })
    const today = Temporal.PlainDate.from(dayOf(clock.now(), agency.timezone))
    const at = (days: number) => today.add({ days }).toString()
    const range = `from=${at(27)}&to=${at(37)}&restrictions=true`
    const first = await call(`/calendar?${range}`)
    const { arrival } = first.body.units[0]
    expect(arrival).toBe('1111000000')
    shiftMs = 2 * DAY_MS
    const held = { 'if-none-match': first.headers.get('etag') ?? '' }
    const later = await service.call(`/calendar?${range}`, { key, headers: held })
    expect(later).toMatchObject({ status: 200, body: { units: [{ arrival: '1111110000' }] } })
  })

  test('the tag of a page does not depend on what notice and window allow in units on other pages', async () => {
    await service.unit(agency, { slug: 'attic', name: 'Attic' })
    await put({ bookingWindowDays: 30 })
    const tag = async (page: number) =>
      (await call(`/calendar?${RANGE}&restrictions=true&pageSize=1&page=${page}`)).headers.get('etag')
    const before = [await tag(1), await tag(2)]
    shiftMs = 2 * DAY_MS
    expect(await tag(1)).toBe(before[0] ?? '')
    expect(await tag(2)).not.toBe(before[1] ?? '')
  })

  test('/search offers only stays that would be accepted', async () => {
    await put({
      restrictions: [row('closedToArrival', true, { weekdays: [1, 2] }), row('stopSell', true, { from: '2027-07-10' })],
    })
    const { offers } = (await call('/search?from=2027-07-05&to=2027-07-12&nights=2&each=stay&sort=arrival')).body
    expect(offers.map(({ arrival }: { arrival: string }) => arrival)).toEqual(['2027-07-07', '2027-07-08'])
  })
})

test('the MCP tools say what is refused and why', async () => {
  await put({ restrictions: [row('closedToArrival', true, { weekdays: [1] })] })
  const tool = async (name: string, args: object) =>
    (await service.mcp(key, { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })).body
      .result
  expect((await tool('quote_stay', STAY)).content[0].text).toContain('no arrivals on 2027-07-05')
  const { structuredContent } = await tool('get_calendar', { from: '2027-07-05', to: '2027-07-07', restrictions: true })
  expect(structuredContent.units[0]).toMatchObject({ arrival: '01', departure: '111' })
})
