/** What a booking's page shows beyond the booking: the lines of its total, and the deliveries of its events. */

import { expect, test } from 'bun:test'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { eventually } from '../../support/eventually.ts'
import { sharedTestService } from '../../support/test-service.ts'
import { verifyDatabase } from '../../support/verify-database.ts'

const service = await sharedTestService()

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
    code: 'NOTES_CHANGED',
    notes: 'Two dogs',
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

test('the free texts of a booking are erased everywhere, also from what is in memory, and the trail says who did it', async () => {
  const { path, unit } = await withTwoUnits()
  const agency = service.ledger.catalogue.agencyBySlug(path.split('/').at(-1) ?? '')
  if (agency === null) throw new Error('Cannot find the agency of the test')
  const { secret: key } = await service.key(agency)
  const { cursor } = (await service.call('/changes', { key })).body
  const texts = { sourceRef: 'Ana Reis 1', notes: 'Ana Reis 2' }
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY, ...texts })).body
  await service.ask(`${path}/bookings/${booking.id}/cancel`, { reason: 'Ana Reis 3' })
  const references = async () => {
    const { changes } = (await service.call(`/changes?after=${cursor}`, { key })).body
    return changes.map(({ data }: { data: { sourceRef: string | null } }) => data.sourceRef)
  }
  expect(await references()).toEqual([texts.sourceRef, texts.sourceRef])

  const erased = await service.ask(`${path}/bookings/${booking.id}/erase-texts`, undefined, { method: 'POST' })
  const stored = (await service.get(`${path}/bookings/${booking.id}`)).body.booking
  expect([erased.status, erased.body.booking]).toEqual([200, stored])
  expect(stored).toMatchObject({ notes: null, sourceRef: null, cancelReason: null, status: 'cancelled', version: 2 })
  expect(await references()).toEqual([null, null])
  const { audit } = (await service.get(`${path}/audit?booking=${booking.id}`)).body
  const route = 'POST /portal/v1/agencies/{agencySlug}/bookings/{bookingId}/erase-texts'
  expect([audit[0].route, audit[0].outcome]).toEqual([route, 'OK'])
  // Answers to an `Idempotency-Key` are deleted after 24 hours.
  const tables = await service.database.sql<{ name: string }[]>`
    select format('%I', relname) as "name" from pg_class
    where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace and relname <> 'idempotency'`
  const found = await Promise.all(
    tables.map(({ name }) => service.database.sql.unsafe(`select from ${name} t where t::text like '%Ana Reis%'`)),
  )
  expect(tables.filter((_, i) => (found[i]?.length ?? 0) > 0)).toEqual([])
  expect((await verifyDatabase(service.database.sql)).differences.map(({ message }) => message)).toEqual([])
})

test('the reason that a hold expired stays: it is the own one of the service', async () => {
  const { path, unit } = await withTwoUnits()
  const { booking } = (await service.ask(`${path}/bookings`, { unit, ...STAY, status: 'option' })).body
  const past = new Date(Date.now() - 1_000).toISOString()
  await service.patch(`${path}/bookings/${booking.id}`, { holdExpiresAt: past })
  await eventually('the hold is released', async () => {
    const stored = (await service.get(`${path}/bookings/${booking.id}`)).body.booking
    return stored.cancelReason === 'hold_expired'
  })
  const { body } = await service.ask(`${path}/bookings/${booking.id}/erase-texts`, undefined, { method: 'POST' })
  expect(body.booking).toMatchObject({ status: 'cancelled', cancelReason: 'hold_expired' })
})
