import type { BookingRequest } from '../core/bookings/booking-turns.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import { addNights, parseNight } from '../core/domain/night.ts'
import type { Unit } from '../core/domain/unit.ts'
import { assert } from '../lib/assert.ts'
import { dayOf } from '../lib/clock.ts'

/** Nobody has these names and addresses: example.com belongs to nobody (RFC 2606). */
const GUESTS = [
  'Ana Example',
  'Bruno Example',
  'Chloé Example',
  'Dmitri Example',
  'Elif Example',
  'Finn Example',
] as const

/** A stay in each of the units, some weeks after today, every fourth of them a hold. */
export function inventedStays(units: readonly Unit[], sandbox: Agency): BookingRequest[] {
  const today = parseNight(dayOf(sandbox.clock?.now ?? sandbox.createdAt, sandbox.timezone))
  assert(today !== null, 'Cannot make a sandbox: today is outside the supported dates')
  return units.map((unit, i) => {
    const [firstName = '', lastName = ''] = (GUESTS[i % GUESTS.length] ?? '').split(' ')
    const arrival = addNights(today, 7 + 3 * i)
    const nights = Math.max(unit.rules.minStay, 3)
    return {
      unit,
      stay: { arrival, departure: addNights(arrival, nights) },
      type: 'guest',
      status: i % 4 === 3 ? 'option' : 'confirmed',
      source: 'sandbox',
      sourceRef: null,
      adults: Math.min(2, unit.maxGuests),
      children: 0,
      extraBed: false,
      notes: null,
      holdHours: null,
      guest: {
        firstName,
        lastName,
        email: `${firstName
          .normalize('NFD')
          .replaceAll(/[^a-z]/gi, '')
          .toLowerCase()}@example.com`,
        phone: null,
        nationality: null,
      },
      enforcement: 'agency',
    }
  })
}
