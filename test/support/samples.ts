import type { Booking } from '../../src/core/domain/booking.ts'
import { type Night, parseNight } from '../../src/core/domain/night.ts'
import { NO_RATES, type UnitRules } from '../../src/core/domain/rules.ts'
import type { Unit } from '../../src/core/domain/unit.ts'

export function night(iso: string): Night {
  const parsed = parseNight(iso)
  if (parsed === null) throw new Error(`Cannot use ${iso} in a test: it is not a date`)
  return parsed
}

export function sampleRules(change: Partial<UnitRules> = {}): UnitRules {
  return {
    basePrice: 10_000,
    cleaningFee: 5_000,
    extraBedFee: 1_500,
    minStay: 1,
    turnoverNights: 0,
    rates: NO_RATES,
    ...change,
  }
}

export function sampleUnit(change: Partial<Unit> = {}): Unit {
  return {
    id: 'unt_a',
    slug: 'sea-view',
    name: 'Sea View',
    status: 'active',
    city: 'Lisbon',
    area: null,
    building: null,
    bedrooms: 2,
    beds: 3,
    bathrooms: 1.5,
    maxGuests: 4,
    sizeSqm: 62.5,
    checkinTime: '15:00',
    checkoutTime: '10:00',
    instantBook: true,
    rules: sampleRules(),
    ...change,
  }
}

export function sampleBooking(change: Partial<Booking> = {}): Booking {
  return {
    id: 'bkg_a',
    unitId: 'unt_a',
    type: 'guest',
    status: 'confirmed',
    source: 'partner',
    sourceRef: null,
    arrival: night('2027-03-01'),
    departure: night('2027-03-05'),
    adults: 2,
    children: 0,
    extraBed: false,
    totalAmount: 45_000,
    holdExpiresAt: null,
    expectedUntil: null,
    cancelledAt: null,
    cancelReason: null,
    createdAt: Date.UTC(2027, 0, 1),
    updatedAt: Date.UTC(2027, 0, 1),
    version: 1,
    ...change,
  }
}
