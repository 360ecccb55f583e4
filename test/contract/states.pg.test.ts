/** See docs/contract.md#states-and-transitions: one test per row. */
import { describe, expect, test } from 'bun:test'
import { HOUR_MS } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import { firedEvents } from '../support/fired-events.ts'
import { sharedTestService } from '../support/test-service.ts'

let month = 0

const service = await sharedTestService()
const agency = await service.agency({ defaultHoldHours: 5 })
const agencyId = agency.id
const key = (await service.key(agency)).secret
await service.unit(agency, { slug: 'sea-view' })

/** Nights of a month that no other test of this file uses. */
function freshStay() {
  month += 1
  const name = `20${30 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`
  return { unit: 'sea-view', arrival: `${name}-03`, departure: `${name}-06` }
}
const book = async (more: object = {}) => {
  const stay = freshStay()
  const answer = await service.call('/bookings', { key, json: { ...stay, ...more } })
  expect(answer.status).toBe(201)
  return { ...stay, ...answer.body.booking }
}
const cancel = (id: string, json?: object) =>
  service.call(`/bookings/${id}/cancel`, json === undefined ? { key, method: 'POST' } : { key, json })
const blocked = async ({ arrival, departure }: { arrival: string; departure: string }) =>
  (await service.call(`/availability?unit=sea-view&from=${arrival}&to=${departure}`, { key })).body.blockedNights
const events = async (id: string) => (await firedEvents(service.database.sql, id)).map(({ event }) => event)

describe('States and transitions', () => {
  test('(none), POST /bookings, status omitted → confirmed; event booking.created; source is partner', async () => {
    const booking = await book()
    expect(booking).toMatchObject({ status: 'confirmed', source: 'partner', holdExpiresAt: null })
    expect(await events(booking.id)).toEqual(['booking.created'])
  })

  test.each(['option', 'draft'])(
    '(none), POST /bookings, status %s → as requested; nights are blocked; the hold has a lifetime',
    async (status) => {
      const booking = await book({ status, holdHours: 3 })
      expect(booking.status).toBe(status)
      expect(await blocked(booking)).toHaveLength(3)
      expect(Date.parse(booking.holdExpiresAt) - Date.parse(booking.createdAt)).toBe(3 * HOUR_MS)
      expect(await events(booking.id)).toEqual(['booking.created'])
    },
  )

  test('the lifetime of a hold is the agency default when holdHours is omitted or null', async () => {
    for (const more of [{}, { holdHours: null }]) {
      const booking = await book({ status: 'option', ...more })
      expect(Date.parse(booking.holdExpiresAt) - Date.parse(booking.createdAt)).toBe(5 * HOUR_MS)
    }
  })

  test('draft or option, hold lifetime elapses with no confirmation → the hold releases itself', async () => {
    const booking = await book({ status: 'option' })
    const agency = service.ledger.catalogue.agencyById(agencyId)
    if (agency === null) throw new Error('The agency is gone')
    const sooner = Date.now() + 300
    await service.ledger.commands.change(
      agency,
      { bookingId: booking.id, change: { holdExpiresAt: sooner } },
      { actor: { kind: 'portal', id: null }, route: 'test', requestId: null },
    )
    const isOver = async () =>
      (
        await service.database
          .sql`select from booking where booking_id = ${uuidOf(booking.id)} and status = 'cancelled'`
      ).length === 1
    await eventually('the hold is over', isOver)
    const read = await service.call(`/bookings/${booking.id}`, { key })
    expect(read.body.booking).toMatchObject({ status: 'cancelled', cancelReason: 'hold_expired', holdExpiresAt: null })
    expect(await blocked(booking)).toEqual([])
    expect(await events(booking.id)).toEqual(['booking.created', 'booking.cancelled'])
  })

  test('any not yet cancelled, POST /bookings/{id}/cancel → cancelled; nights released, record kept with the reason; event', async () => {
    const booking = await book()
    const answer = await cancel(booking.id, { reason: 'Guest fell ill' })
    expect(answer).toMatchObject({ status: 200, body: { booking: { id: booking.id, status: 'cancelled' } } })
    expect(await blocked(booking)).toEqual([])
    const read = await service.call(`/bookings/${booking.id}`, { key })
    expect(read.body.booking).toMatchObject({ status: 'cancelled', cancelReason: 'Guest fell ill' })
    expect(await events(booking.id)).toEqual(['booking.created', 'booking.cancelled'])
  })

  test('cancelled, POST /bookings/{id}/cancel repeated → 200 with the unchanged booking', async () => {
    const booking = await book()
    const first = await cancel(booking.id, { reason: 'one' })
    const second = await cancel(booking.id, { reason: 'two' })
    expect(second.status).toBe(200)
    expect(second.body).toEqual(first.body)
    expect(await events(booking.id)).toEqual(['booking.created', 'booking.cancelled'])
  })
})
