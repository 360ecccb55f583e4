/* The contract's chapter Events and the webhook rows of its Limits, a row a test. How deliveries are made is in test/webhooks/. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { FoundOutcome } from '../../src/core/bookings/booking-turns.ts'
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import { type FiredEvent, firedEvents } from '../support/fired-events.ts'
import { openTestLedger } from '../support/ledger.ts'
import { CALLER, requestFor } from '../support/samples.ts'

const test_ = await openTestLedger()
const agency = await test_.agency()
const unit = await test_.unit(agency)
const other = await test_.unit(agency)
afterAll(() => test_.close())

function idOf(outcome: FoundOutcome): string {
  if (outcome.kind !== 'done') throw new Error('Expected a booking')
  return outcome.booking.id
}

const eventsOf = (bookingId: string): Promise<FiredEvent[]> => firedEvents(test_.database.sql, bookingId)

let day = 0
/** A booking of two nights that no other test uses. */
async function book(change: Parameters<typeof requestFor>[3] = {}): Promise<string> {
  const from = new Date(Date.UTC(2027, 0, 1 + 3 * day++)).toISOString().slice(0, 10)
  const to = new Date(Date.parse(from) + 2 * DAY_MS).toISOString().slice(0, 10)
  return idOf(await test_.ledger.commands.book(agency, requestFor(unit, from, to, change), CALLER))
}

const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com', phone: '+351 1', nationality: 'PT' }

describe('Event kinds', () => {
  test('booking.created: a booking comes to exist, from the portal, the website or a partner key', async () => {
    for (const source of ['portal', 'website', 'partner']) {
      const [event] = await eventsOf(await book({ source }))
      expect(event).toMatchObject({ event: 'booking.created', data: { source } })
    }
  })

  test('booking.updated: status, dates or unit of an existing booking changed', async () => {
    const { commands } = test_.ledger
    for (const change of [{ status: 'checked_in' as const }, { unitId: other.id }]) {
      const bookingId = await book()
      await commands.change(agency, { bookingId, change }, CALLER)
      expect((await eventsOf(bookingId)).map(({ event }) => event)).toEqual(['booking.created', 'booking.updated'])
    }
  })

  test('booking.cancelled: a booking was cancelled and its nights released; once, however often it is asked', async () => {
    const bookingId = await book()
    for (let i = 0; i < 3; i++) await test_.ledger.commands.cancel(agency, { bookingId, reason: null }, CALLER)
    const events = await eventsOf(bookingId)
    expect(events.map(({ event }) => event)).toEqual(['booking.created', 'booking.cancelled'])
    expect(events[1]?.data['status']).toBe('cancelled')
  })

  test('no other events exist: a hold that gets another lifetime is no news', async () => {
    const bookingId = await book({ status: 'option' })
    const change = { holdExpiresAt: Date.now() + HOUR_MS }
    await test_.ledger.commands.change(agency, { bookingId, change }, CALLER)
    expect(await eventsOf(bookingId)).toHaveLength(1)
  })
})

describe('Envelope', () => {
  let events: FiredEvent[]
  let bookingId: string
  beforeAll(async () => {
    bookingId = await book({ guest: GUEST, notes: 'Ana is late', sourceRef: 'REF-7', adults: 3, children: 1 })
    await test_.ledger.commands.cancel(agency, { bookingId, reason: null }, CALLER)
    events = await eventsOf(bookingId)
  })
  const data = () => events[0]?.data ?? {}

  test('id: unique per event', () => {
    expect(new Set(events.map(({ id }) => id)).size).toBe(2)
    for (const { id } of events) expect(id).toMatch(/^evt_[0-9a-f]{32}$/)
  })
  test('event: one of the kinds', () => {
    expect(events.map(({ event }) => event)).toEqual(['booking.created', 'booking.cancelled'])
  })
  test('occurredAt: ISO 8601 timestamp', () => {
    for (const { occurredAt } of events) expect(new Date(occurredAt).toISOString()).toBe(occurredAt)
  })
  test('data.id: booking id', () => expect(data()['id']).toBe(bookingId))
  test('data.unitSlug, data.unitName', () => {
    expect(data()).toMatchObject({ unitSlug: unit.slug, unitName: unit.name })
  })
  test('data.type, data.status, data.source: as on Booking', () => {
    expect(data()).toMatchObject({ type: 'guest', status: 'confirmed', source: 'partner' })
  })
  test("data.sourceRef: caller's reference", () => expect(data()['sourceRef']).toBe('REF-7'))
  test('data.arrival, data.departure: YYYY-MM-DD', () => {
    for (const name of ['arrival', 'departure']) expect(data()[name]).toMatch(/^\d{4}-\d\d-\d\d$/)
  })
  test('data.nights, data.adults, data.children', () => {
    expect(data()).toMatchObject({ nights: 2, adults: 3, children: 1 })
  })
  test('data.totalAmount: minor units', () => expect(data()['totalAmount']).toBe(25_000))
  test('data.currency', () => expect(data()['currency']).toBe(agency.currency))
  test('data is a snapshot of the moment of the event, not of delivery', () => {
    expect(events.map((event) => event.data['status'])).toEqual(['confirmed', 'cancelled'])
  })
  test('it never contains guest personal data', () => {
    expect(JSON.stringify(events)).not.toMatch(/Ana|Reis|example\.com|\+351|late/)
  })
  test('additive: version counts the booking’s changes, and seq orders the agency’s events', () => {
    expect(events.map((event) => event.data['version'])).toEqual([1, 2])
    expect(events[1]?.seq).toBeGreaterThan(events[0]?.seq ?? 0)
  })
})
