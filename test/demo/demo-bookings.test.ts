/** The demo's bookings: every day of the demo's start has something to do on it. */
import { describe, expect, test } from 'bun:test'
import type { BookingRequest } from '../../src/core/bookings/booking-turns.ts'
import { asNight, type Night } from '../../src/core/domain/night.ts'
import { demoBookings } from '../../src/demo/demo-bookings.ts'
import { demoUnits } from '../../src/demo/demo-data.ts'

const UNITS = demoUnits(2026).map((unit) => ({ ...unit, id: unit.slug }))
const TODAYS = [20_000, 20_578, 20_700].map(asNight)

const isThere = ({ status }: BookingRequest) => status !== 'cancelled'
const guests = (today: Night) => demoBookings(UNITS, today).filter((each) => each.type === 'guest' && isThere(each))

describe.each(TODAYS)('on night %i', (today) => {
  const bookings = demoBookings(UNITS, today)

  test('no two stays of a unit share a night, and each leaves the turnover nights free', () => {
    for (const unit of UNITS) {
      const stays = bookings.filter((each) => each.unit === unit && isThere(each)).map(({ stay }) => stay)
      for (const [i, { departure }] of stays.entries()) {
        const next = stays[i + 1]
        if (next !== undefined) expect(next.arrival - departure).toBeGreaterThanOrEqual(unit.rules.turnoverNights)
      }
    }
  })

  test('guests arrive, depart and stay today, and some of them are seen to already', () => {
    const arrivals = guests(today).filter(({ stay }) => stay.arrival === today)
    expect(new Set(arrivals.map(({ status }) => status))).toEqual(new Set(['confirmed', 'checked_in']))
    const departures = guests(today).filter(({ stay }) => stay.departure === today)
    expect(new Set(departures.map(({ status }) => status))).toEqual(new Set(['checked_in', 'checked_out']))
    const inHouse = guests(today).filter(({ stay }) => stay.arrival < today && stay.departure > today)
    expect(inHouse.length).toBeGreaterThan(3)
    expect(inHouse.every(({ status }) => status === 'checked_in')).toBe(true)
    expect(inHouse.filter(({ expectedUntil }) => expectedUntil != null)).toHaveLength(1)
  })

  test('no stay is checked out before its departure, or still expected after it', () => {
    for (const { status, stay } of guests(today)) {
      if (status === 'checked_out') expect(stay.departure).toBeLessThanOrEqual(today)
      else expect(stay.departure).toBeGreaterThanOrEqual(today)
    }
  })

  test('holds lapse within hours, and within days', () => {
    const holds = bookings.filter(({ status }) => status === 'option').map(({ holdHours }) => holdHours ?? 0)
    expect(holds.filter((hours) => hours < 12).length).toBeGreaterThan(1)
    expect(holds.filter((hours) => hours > 12 && hours <= 120).length).toBeGreaterThan(2)
  })

  test('an owner, maintenance and a block take nights around today', () => {
    const near = bookings.filter(({ stay }) => stay.arrival <= today + 1 && stay.departure >= today)
    expect(new Set(near.map(({ type }) => type))).toEqual(new Set(['guest', 'owner_stay', 'maintenance', 'block']))
  })
})

test('the bookings are the same around any today', () => {
  const [a, b] = TODAYS.map((today) =>
    demoBookings(UNITS, today).map(({ stay, type, status, guest }) => [stay.arrival - today, type, status, guest]),
  )
  expect(a).toEqual(b ?? [])
})
