import { expect, test } from 'bun:test'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

test('the README walk: list, availability, quote, book, blocked, conflict, cancel, free, cancel again', async () => {
  const agency = await service.agency()
  const { secret: key } = await service.key(agency)
  await service.unit(agency, { slug: 'sea-view' })
  const stay = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
  const blocked = async () =>
    (await service.call('/availability?unit=sea-view&from=2027-03-01&to=2027-04-01', { key })).body.blockedNights

  const units = await service.call('/units', { key })
  expect(units).toMatchObject({ status: 200, body: { units: [{ slug: 'sea-view' }] } })
  expect(await blocked()).toEqual([])
  const quote = await service.call('/quote', { key, json: stay })
  expect(quote).toMatchObject({ status: 200, body: { available: true, quote: { nights: 3, total: 35_000 } } })
  const booked = await service.call('/bookings', { key, json: stay })
  expect(booked).toMatchObject({
    status: 201,
    body: { booking: { totalAmount: 35_000, status: 'confirmed', source: 'partner' } },
  })
  expect(await blocked()).toEqual(['2027-03-01', '2027-03-02', '2027-03-03'])
  expect(await service.call('/bookings', { key, json: stay })).toMatchObject({
    status: 409,
    body: { code: 'BOOKING_CONFLICT' },
  })
  const id = booked.body.booking.id
  const cancelled = await service.call(`/bookings/${id}/cancel`, { key, json: { reason: 'ill' } })
  expect(cancelled).toMatchObject({ status: 200, body: { booking: { status: 'cancelled', cancelReason: 'ill' } } })
  expect(await blocked()).toEqual([])
  expect(await service.call(`/bookings/${id}/cancel`, { key, method: 'POST' })).toMatchObject({
    status: 200,
    body: cancelled.body,
  })
})
