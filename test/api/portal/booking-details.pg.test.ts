/** What a booking's page shows beyond the booking: the lines of its total, and the deliveries of its events. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestService, type TestService } from '../../support/test-service.ts'
import { makeDeliveries } from '../../webhooks/support/make-deliveries.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.close())

const STAY = { arrival: '2027-03-01', departure: '2027-03-05' }

async function withTwoUnits() {
  const agency = await service.agency()
  const path = `/agencies/${agency.slug}`
  const [one, other] = await Promise.all([service.unit(agency), service.unit(agency)])
  return { path, unit: one.slug, other: other.slug }
}

test('the quote of a booking has the lines of its total, until the rates change', async () => {
  const { path, unit } = await withTwoUnits()
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY })).body
  const { quote } = (await service.get(`${path}/bookings/${booking.id}/quote`)).body
  expect(quote.total).toBe(booking.totalAmount)
  expect(quote.nights).toBe(4)
  const sum = quote.lines.reduce((total: number, { amount }: { amount: number }) => total + amount, 0)
  expect(sum).toBe(quote.total)

  await service.patch(`${path}/units/${unit}`, { basePrice: 99_900 })
  expect((await service.get(`${path}/bookings/${booking.id}/quote`)).body.quote.total).toBeGreaterThan(quote.total)
  expect((await service.get(`${path}/bookings/${booking.id}`)).body.booking.totalAmount).toBe(quote.total)
})

test('what is not a guest stay has no price', async () => {
  const { path, unit } = await withTwoUnits()
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY, type: 'maintenance' })).body
  expect((await service.get(`${path}/bookings/${booking.id}/quote`)).body).toEqual({ quote: null })
})

test('a booking that has moved shows the deliveries of both units to every endpoint, and no other booking’s', async () => {
  const { path, unit, other } = await withTwoUnits()
  for (const name of ['one', 'two'])
    await service.ask(`${path}/webhook-endpoints`, { url: 'https://localhost:9/', description: name })
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY })).body
  await service.ask(`${path}/bookings`, { unit, arrival: '2027-04-01', departure: '2027-04-03' })
  await service.patch(`${path}/bookings/${booking.id}`, { unit: other })
  await makeDeliveries(service.database.url, service.ledger.epoch)

  const { deliveries, totalItems } = (await service.get(`${path}/bookings/${booking.id}/deliveries`)).body
  expect(deliveries.map(({ event }: { event: string }) => event)).toEqual([
    ...['booking.updated', 'booking.updated', 'booking.created', 'booking.created'],
  ])
  expect(totalItems).toBe(4)
  for (const { bookingId } of deliveries) expect(bookingId).toBe(booking.id)
  const page = (await service.get(`${path}/bookings/${booking.id}/deliveries?pageSize=3&page=2`)).body
  expect(page.deliveries).toEqual(deliveries.slice(3))

  const { webhookEndpoints } = (await service.get(`${path}/webhook-endpoints`)).body
  const of = (await service.get(`${path}/webhook-endpoints/${webhookEndpoints[0].id}/deliveries`)).body.deliveries
  expect(of.filter(({ bookingId }: { bookingId: string }) => bookingId === booking.id)).toHaveLength(2)
})

test('the audit trail of a booking says what was different before each change', async () => {
  const { path, unit, other } = await withTwoUnits()
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY, status: 'option' })).body
  await service.patch(`${path}/bookings/${booking.id}`, { unit: other, departure: '2027-03-06' })
  await service.ask(`${path}/bookings/${booking.id}/cancel`, { reason: 'Guest fell ill' })

  const { audit } = (await service.get(`${path}/audit?booking=${booking.id}`)).body
  const changes = audit.map(({ change }: { change: Record<string, unknown> }) => change)
  const stay = { ...STAY, unitSlug: unit, status: 'option', type: 'guest', totalAmount: booking.totalAmount }
  expect(changes).toMatchObject([
    { kind: 'booking_cancelled', before: { status: 'option' }, after: { status: 'cancelled', holdExpiresAt: null } },
    { kind: 'booking_changed', before: stay, after: { ...STAY, unitSlug: other, departure: '2027-03-06' } },
    { kind: 'booking_created', unitSlug: unit, before: null, after: stay },
  ])
  expect(JSON.stringify(audit)).not.toContain('fell ill')
})

test('the notes of a booking are set and cleared, but not over what someone else has written meanwhile', async () => {
  const { path, unit } = await withTwoUnits()
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY, notes: 'Two cats' })).body
  const set = (body: object) => service.ask(`${path}/bookings/${booking.id}/notes`, body, { method: 'PUT' })
  const stored = async () => (await service.get(`${path}/bookings/${booking.id}`)).body.booking

  const { status, body } = await set({ notes: 'Two dogs', replaces: 'Two cats' })
  expect([status, body.booking]).toEqual([200, { ...booking, notes: 'Two dogs' }])
  expect((await set({ notes: 'Three cats', replaces: 'Two cats' })).body).toMatchObject({
    ...{ code: 'NOTES_CHANGED', notes: 'Two dogs' },
  })
  expect(await stored()).toEqual({ ...booking, notes: 'Two dogs' })
  // A change of the stay leaves them alone, whoever has read them before.
  await service.patch(`${path}/bookings/${booking.id}`, { departure: '2027-03-06' })
  expect((await stored()).notes).toBe('Two dogs')
  expect((await set({ notes: '' })).body.booking.notes).toBeNull()
  expect((await set({ notes: 'Late', replaces: null })).body.booking.notes).toBe('Late')
  expect((await set({ notes: 'x'.repeat(2_001) })).body).toMatchObject({ errors: [{ field: 'notes' }] })

  const { audit } = (await service.get(`${path}/audit?booking=${booking.id}`)).body
  const route = 'PUT /portal/v1/agencies/{agencySlug}/bookings/{bookingId}/notes'
  const outcomes = audit.filter((line: { route: string }) => line.route === route)
  expect(outcomes.map(({ outcome }: { outcome: string }) => outcome).toReversed()).toEqual([
    ...['OK', 'NOTES_CHANGED', 'OK', 'OK', 'VALIDATION'],
  ])
  expect(JSON.stringify(audit)).not.toContain('dogs')
})
