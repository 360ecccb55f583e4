import { makeSecret } from '../../src/accounts/secrets.ts'
import type { BookingRequest } from '../../src/core/bookings/booking-turns.ts'
import { type Agency, type ApiKey, KEY_PREFIX, type Plan, SCOPES } from '../../src/core/catalogue/agency.ts'
import type { Booking } from '../../src/core/domain/booking.ts'
import { type Night, parseNight } from '../../src/core/domain/night.ts'
import type { SaleMoment } from '../../src/core/domain/restrictions.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { NO_RATES, type UnitRules } from '../../src/core/domain/unit.ts'
import type { Caller } from '../../src/core/journal/record.ts'
import { SHARDS } from '../../src/core/journal/shard.ts'
import { assert } from '../../src/lib/assert.ts'
import { type IdPrefix, systemIds } from '../../src/lib/ids.ts'

export function night(iso: string): Night {
  const parsed = parseNight(iso)
  if (parsed === null) throw new Error(`Cannot use ${iso} in a test: it is not a date`)
  return parsed
}

/** An id of the real form. Different labels give different ids, which sort as their labels do. */
export function sampleId(prefix: IdPrefix, label: string | number): string {
  const hex = Buffer.from(String(label)).toString('hex')
  assert(hex.length <= 32, `Cannot make a sample id: the label '${label}' is longer than 16 bytes`)
  return `${prefix}_${hex.padEnd(32, '0')}`
}

/** Of the chains, by shard. */
export const CHAIN_KEYS: readonly Uint8Array[] = Array.from({ length: SHARDS }, (_, shard) =>
  new Uint8Array(32).fill(shard),
)

export const AGENCY: Agency = {
  id: sampleId('agc', 'a'),
  slug: 'harbour',
  name: 'Harbour Stays',
  currency: 'EUR',
  timezone: 'Europe/Lisbon',
  status: 'active',
  plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 50_000 },
  defaultHoldHours: 48,
  createdAt: 0,
}

/** The moment of sale in tests that do not depend on it. */
export const MOMENT: SaleMoment = { now: Date.UTC(2027, 0, 1), timeZone: AGENCY.timezone, checkinTime: '15:00' }

/** A plan that no test of something else meets the limits of. */
export const AMPLE_PLAN: Plan = { apiAccess: true, requestsPerMinute: 1_000_000, requestsPerMonth: 100_000_000 }

/** A new key with every scope, and its secret as a partner sends it. */
export function sampleKey(change: Partial<ApiKey> = {}): { key: ApiKey; secret: string } {
  const { secret, prefix, sha256 } = makeSecret(KEY_PREFIX)
  const key: ApiKey = {
    id: systemIds('key'),
    agencyId: AGENCY.id,
    name: 'Test key',
    prefix,
    secretSha256: sha256,
    scopes: SCOPES,
    createdAt: Date.UTC(2026, 0, 1),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...change,
  }
  return { key, secret }
}

export const CALLER: Caller = {
  actor: { kind: 'key', id: sampleId('key', 'a') },
  route: 'POST /test',
  requestId: 'req_test',
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
    id: sampleId('unt', 'a'),
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
    registrationNumber: null,
    rules: sampleRules(),
    ...change,
  }
}

export function sampleBooking(change: Partial<Booking> = {}): Booking {
  return {
    id: sampleId('bkg', 'a'),
    unitId: sampleId('unt', 'a'),
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
    groupId: null,
    ...change,
  }
}

/** A partner's request for a stay of two adults. */
export function requestFor(
  unit: Unit,
  arrival: string,
  departure: string,
  change: Partial<BookingRequest> = {},
): BookingRequest {
  return {
    unit,
    stay: { arrival: night(arrival), departure: night(departure) },
    type: 'guest',
    status: 'confirmed',
    source: 'partner',
    sourceRef: null,
    adults: 2,
    children: 0,
    extraBed: false,
    notes: null,
    holdHours: null,
    guest: null,
    enforcement: 'partner',
    ...change,
  }
}
