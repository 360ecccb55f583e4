/** A client with the types of the surface: it type-checks with the project, and calls every operation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import createClient from 'openapi-fetch'
import { type PartnerPaths, partnerDocument } from '../../src/api/partner/partner-surface.ts'
import { sampleId } from '../support/samples.ts'
import { startTestService, type TestService } from '../support/test-service.ts'

let service: TestService
// Changes also come as a stream: a client says which of the two it takes.
let sandboxKey: string
let client: ReturnType<typeof createClient<PartnerPaths, 'application/json'>>
beforeAll(async () => {
  service = await startTestService()
  const agency = await service.agency()
  const { secret } = await service.key(agency)
  await service.unit(agency, { slug: 'sea-view' })
  await service.feeType(agency)
  const now = Date.UTC(2027, 2, 1)
  sandboxKey = (await service.key(await service.agency({ clock: { now, target: now } }))).secret
  client = createClient<PartnerPaths, 'application/json'>({
    baseUrl: service.url,
    headers: { Authorization: `Bearer ${secret}` },
  })
})
afterAll(() => service.close())

test('every operation answers a typed client, with the types it was promised', async () => {
  const called = new Set<string>()
  function of<T>(operation: string, { data, error }: { data?: T; error?: unknown }): T {
    called.add(operation)
    if (data === undefined) throw new Error(`${operation}: ${JSON.stringify(error)}`)
    return data
  }
  const stay = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }

  const { tenant, quota } = of('getMe', await client.GET('/partner/v1/me'))
  expect([tenant.currency, quota.used]).toEqual(['EUR', 1])
  const { units } = of('listUnits', await client.GET('/partner/v1/units'))
  const slug = units[0]?.slug ?? ''
  expect(of('getUnit', await client.GET('/partner/v1/units/{slug}', { params: { path: { slug } } })).unit.minStay).toBe(
    1,
  )
  const range = { unit: slug, from: '2027-03-01', to: '2027-04-01' }
  const free = of('getAvailability', await client.GET('/partner/v1/availability', { params: { query: range } }))
  expect(free.blockedNights).toEqual([])
  const { from, to } = range
  const calendar = of(
    'getCalendar',
    await client.GET('/partner/v1/calendar', { params: { query: { from, to, units: slug, prices: 'true' } } }),
  )
  expect([calendar.units[0]?.blocked, calendar.units[0]?.prices?.length]).toEqual([[], 31])
  const search = of(
    'searchStays',
    await client.GET('/partner/v1/search', {
      params: { query: { from, to, nights: 3, each: 'stay', sort: 'arrival' } },
    }),
  )
  const { quote } = of('quoteStay', await client.POST('/partner/v1/quote', { body: stay }))
  const { feeTypes } = of('listFeeTypes', await client.GET('/partner/v1/fee-types'))
  expect(quote.lines.at(-1)?.feeTypeId).toBe(feeTypes[0]?.id ?? null)
  expect([search.totalItems, search.offers[0]?.arrival, search.offers[0]?.total]).toEqual([29, from, quote.total])
  const guest = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' }
  const { booking } = of(
    'createBooking',
    await client.POST('/partner/v1/bookings', {
      body: { ...stay, guest },
      params: { header: { 'Idempotency-Key': 'client-1' } },
    }),
  )
  expect(booking.totalAmount).toBe(quote.total)
  const { bookings, totalItems } = of(
    'listBookings',
    await client.GET('/partner/v1/bookings', { params: { query: { status: 'confirmed' } } }),
  )
  expect([bookings[0]?.id, totalItems]).toEqual([booking.id, 1])
  const byId = { params: { path: { id: booking.id } } }
  expect(of('getBooking', await client.GET('/partner/v1/bookings/{id}', byId)).booking).toEqual(booking)
  const { guests } = of('listGuests', await client.GET('/partner/v1/guests', { params: { query: { search: 'REIS' } } }))
  const read = of(
    'getGuest',
    await client.GET('/partner/v1/guests/{id}', { params: { path: { id: guests[0]?.id ?? '' } } }),
  )
  expect(read.guest.stays[0]?.id).toBe(booking.id)
  const cancelled = of(
    'cancelBooking',
    await client.POST('/partner/v1/bookings/{id}/cancel', { ...byId, body: { reason: 'ill' } }),
  )
  expect(cancelled.booking.status).toBe('cancelled')
  const { history } = of('getBookingHistory', await client.GET('/partner/v1/bookings/{id}/history', byId))
  expect(history.map(({ event, by }) => [event, by])).toEqual([
    ['booking.created', 'you'],
    ['booking.cancelled', 'you'],
  ])
  const text = { parseAs: 'text' } as const
  expect(of('getCheckpoint', await client.GET('/partner/v1/checkpoint', text))).toStartWith('nightledger/')
  const sizes = { params: { query: { from: 0, to: 0 } } }
  expect(of('getCheckpointProof', await client.GET('/partner/v1/checkpoint/proof', sizes)).hashes).toEqual([])
  expect(of('getBookingProof', await client.GET('/partner/v1/bookings/{id}/proof', byId)).entries).toEqual([])
  const other = { arrival: '2028-03-01', departure: '2028-03-05' }
  const stays = [
    { unit: 'sea-view', ...other },
    { unit: 'sea-view', arrival: other.departure, departure: '2028-03-09' },
  ]
  const group = of('createGroup', await client.POST('/partner/v1/bookings/group', { body: { stays } }))
  const taken = await client.POST('/partner/v1/bookings/group', { body: { stays } })
  expect(taken.error?.code === 'BOOKING_CONFLICT' && taken.error.refusals?.map((refusal) => refusal.stay)).toEqual([
    0, 1,
  ])
  const byGroup = { params: { path: { groupId: group.groupId } } }
  const ended = of('cancelGroup', await client.POST('/partner/v1/bookings/group/{groupId}/cancel', byGroup))
  expect(ended.bookings.map(({ groupId, status }) => [groupId, status])).toEqual([
    [group.groupId, 'cancelled'],
    [group.groupId, 'cancelled'],
  ])
  const fromStart = { params: { query: { after: 'start', limit: 1 } } }
  const first = of('listChanges', await client.GET('/partner/v1/changes', fromStart))
  const [change] = first.changes
  expect([change?.event === 'booking.created' && change.data.id, first.hasMore]).toEqual([booking.id, true])
  const rest = { params: { query: { after: first.cursor, wait: 1 } } }
  const { changes } = of('listChanges', await client.GET('/partner/v1/changes', rest))
  const groupOf = (data: object) => ('groupId' in data ? data.groupId : null)
  expect(changes.map(({ event, data }) => [event, data.version, groupOf(data)])).toEqual([
    ['booking.cancelled', 2, null],
    ['booking.created', 1, group.groupId],
    ['booking.created', 1, group.groupId],
    ['booking.cancelled', 2, group.groupId],
    ['booking.cancelled', 2, group.groupId],
  ])
  const own = { headers: { Authorization: `Bearer ${sandboxKey}` } }
  const moved = of(
    'moveTestClock',
    await client.POST('/partner/v1/test/clock', { body: { advanceSeconds: 60 }, ...own }),
  )
  expect(moved.status).toBe('advancing')
  expect(of('getTestClock', await client.GET('/partner/v1/test/clock', own)).now).toMatch(
    /^2027-03-01T00:0[01]:00\.000Z$/,
  )
  const event = { bookingId: sampleId('bkg', 'none'), kind: 'late' as const }
  expect((await client.POST('/partner/v1/test/events', { body: event, ...own })).error?.code).toBe('NOT_FOUND')
  called.add('sendTestEvent')
  expect(of('getOpenApi', await client.GET('/partner/v1/openapi.json')).openapi).toStartWith('3.1')

  const document = JSON.parse(await partnerDocument())
  const all = Object.values<Record<string, { operationId: string }>>(document.paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId }) => operationId)
  expect([...called].sort()).toEqual(all.sort())
})

test('a refusal comes with the members of its code', async () => {
  const { error } = await client.POST('/partner/v1/quote', {
    body: { unit: 'sea-view', arrival: '2027-03-04', departure: '2027-03-01' },
  })
  if (error?.code !== 'VALIDATION') throw new Error(`Expected VALIDATION, got ${error?.code}`)
  expect(error.errors[0]?.field).toBe('departure')
})

test('a conditional read and a booking at the quoted price go through a typed client', async () => {
  const { response } = await client.GET('/partner/v1/units')
  const kept = response.headers.get('etag') ?? ''
  const again = await client.GET('/partner/v1/units', { params: { header: { 'If-None-Match': kept } } })
  expect([again.response.status, again.data]).toEqual([304, undefined])
  const { error } = await client.POST('/partner/v1/bookings', {
    body: { unit: 'sea-view', arrival: '2027-05-01', departure: '2027-05-04' },
    params: { header: { 'If-Match': '"another"' } },
  })
  if (error?.code !== 'QUOTE_CHANGED') throw new Error(`Expected QUOTE_CHANGED, got ${error?.code}`)
  expect(error.quote.total).toBeGreaterThan(0)
})
