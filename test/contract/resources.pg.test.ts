/** See docs/contract.md#resources-and-their-fields: one test per row of each table. */
import { describe, expect, test } from 'bun:test'
import { BOOKING_STATUSES, BOOKING_TYPES } from '../../src/core/domain/booking.ts'
import { UNIT_STATUSES } from '../../src/core/domain/unit.ts'
import { sharedTestService } from '../support/test-service.ts'

const isString = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value)
const isInteger = (value: unknown) => Number.isSafeInteger(value)
const isBoolean = (value: unknown) => typeof value === 'boolean'
const isDate = (value: unknown) => isString(value) && /^\d{4}-\d{2}-\d{2}$/.test(String(value))
const isTimestamp = (value: unknown) =>
  isString(value) && new Date(String(value)).toISOString() === value && String(value).endsWith('Z')
const orNull = (is: (value: unknown) => boolean) => (value: unknown) => value === null || is(value)
const oneOf = (values: readonly string[]) => (value: unknown) => values.includes(value as string)

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'read:guests', 'write:bookings']

// biome-ignore lint/suspicious/noExplicitAny: bodies as they come
const seen: Record<string, any> = {}

const service = await sharedTestService()
const agency = await service.agency({ name: 'Harbour Stays', currency: 'CHF', timezone: 'Europe/Zurich' })
const key = await service.key(agency)
await service.unit(agency, {
  ...{ slug: 'sea-view', city: null, sizeSqm: null, building: 'B', bathrooms: 1.5 },
  registrationNumber: '00123/AL',
})
await service.feeType(agency, { label: 'Linen & towels' })
await service.feeType(agency, { kind: 'percent', amount: null, basisPoints: 1_250 })
await service.feeType(agency, { label: 'Old', active: false })
const made = await service.call('/bookings', {
  key: key.secret,
  json: {
    unit: 'sea-view',
    arrival: '2027-03-01',
    departure: '2027-03-04',
    sourceRef: 'A-1',
    notes: 'late',
    guest: { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' },
  },
})
const read = (path: string) => service.call(path, { key: key.secret }).then(({ body }) => body)
seen['me'] = await read('/me')
seen['Unit'] = (await read('/units/sea-view')).unit
seen['Booking'] = (await read(`/bookings/${made.body.booking.id}`)).booking
const guestId = (await read('/guests')).guests[0].id
seen['Guest'] = (await read(`/guests/${guestId}`)).guest
seen['FeeTypes'] = (await read('/fee-types')).feeTypes

type Row = readonly [field: string, is: (value: unknown) => boolean]

// biome-ignore lint/suspicious/noExplicitAny: bodies as they come
function rows(table: string, of: () => any, fields: readonly Row[]) {
  describe(table, () => {
    test.each(fields)('%s', (field, is) => {
      const value = field.split('.').reduce((body, name) => body?.[name], of())
      expect({ field, value, isAsTheContractSays: is(value) }).toMatchObject({ isAsTheContractSays: true })
    })
  })
}

rows('Tenant', () => seen['me'].tenant, [
  ['id', (value) => value === agency.id],
  ['name', (value) => value === 'Harbour Stays'],
  ['slug', (value) => value === agency.slug],
  ['currency', (value) => value === 'CHF'],
  ['timezone', (value) => value === 'Europe/Zurich'],
])

rows('Key', () => seen['me'].key, [
  ['id', (value) => value === key.key.id],
  ['name', orNull(isString)],
  ['prefix', (value) => isString(value) && key.secret.startsWith(String(value)) && String(value).length < 20],
  ['scopes', (value) => Array.isArray(value) && value.length === 6 && value.every(oneOf(SCOPES))],
  ['createdAt', isTimestamp],
  ['expiresAt', orNull(isTimestamp)],
])

rows('RateLimit and Quota', () => seen['me'], [
  ['rateLimit.requestsPerMinute', (value) => value === agency.plan.requestsPerMinute],
  ['rateLimit.sharedWith', (value) => JSON.stringify(value) === '["rest","mcp"]'],
  ['quota.month', (value) => value === new Date().toISOString().slice(0, 7)],
  ['quota.used', (value) => value === 2],
  ['quota.quota', (value) => value === agency.plan.requestsPerMonth],
  ['quota.remaining', (value) => value === agency.plan.requestsPerMonth - 2],
  ['quota.resetsAt', (value) => isTimestamp(value) && String(value).endsWith('-01T00:00:00.000Z')],
])

rows('Unit', () => seen['Unit'], [
  ['id', isString],
  ['slug', (value) => value === 'sea-view'],
  ['name', isString],
  ['status', oneOf(UNIT_STATUSES)],
  ['city', (value) => value === null],
  ['area', orNull(isString)],
  ['building', (value) => value === 'B'],
  ['bedrooms', isNumber],
  ['beds', isNumber],
  ['bathrooms', (value) => value === 1.5],
  ['maxGuests', isNumber],
  ['sizeSqm', (value) => value === null],
  ['basePrice', isInteger],
  ['cleaningFee', isInteger],
  ['minStay', isInteger],
  ['checkinTime', isString],
  ['checkoutTime', isString],
  ['instantBook', isBoolean],
  // Additive: docs/partner-additions.md#7-registration-number.
  ['registrationNumber', (value) => value === '00123/AL'],
])

test('Unit: all fields are always present, with the additive one and no others', () => {
  const additive = 'registrationNumber'
  expect(Object.keys(seen['Unit']).sort()).toEqual(
    `area basePrice bathrooms bedrooms beds building checkinTime checkoutTime city cleaningFee id instantBook maxGuests minStay name sizeSqm slug status ${additive}`
      .split(' ')
      .sort(),
  )
})

rows('Booking', () => seen['Booking'], [
  ['id', isString],
  ['unitSlug', (value) => value === 'sea-view'],
  ['unitName', isString],
  ['type', oneOf(BOOKING_TYPES)],
  ['status', oneOf(BOOKING_STATUSES)],
  ['source', (value) => value === 'partner'],
  ['arrival', (value) => value === '2027-03-01'],
  ['departure', (value) => value === '2027-03-04'],
  ['nights', (value) => value === 3],
  ['adults', (value) => value === 2],
  ['children', (value) => value === 0],
  ['totalAmount', isInteger],
  ['sourceRef', (value) => value === 'A-1'],
])

test('Booking: a read carries no guest personal data, and no notes', () => {
  const additive = 'cancelReason cancelledAt createdAt holdExpiresAt updatedAt'
  expect(Object.keys(seen['Booking']).sort()).toEqual(
    `adults arrival children departure id nights source sourceRef status totalAmount type unitName unitSlug ${additive}`
      .split(' ')
      .sort(),
  )
  expect(JSON.stringify(seen['Booking'])).not.toMatch(/Ana|Reis|example\.com|late/)
})

rows('Guest', () => seen['Guest'], [
  ['id', isString],
  ['firstName', (value) => value === 'Ana'],
  ['lastName', (value) => value === 'Reis'],
  ['email', (value) => value === 'ana@example.com'],
  ['phone', (value) => value === null],
  ['nationality', (value) => value === null],
  ['createdAt', isTimestamp],
])

describe('Guest: the single-guest read adds stays', () => {
  test.each([
    ['id', isString],
    ['unitSlug', isString],
    ['arrival', isDate],
    ['departure', isDate],
    ['status', oneOf(BOOKING_STATUSES)],
  ] as Row[])('stays[].%s', (field, is) => {
    expect(is(seen['Guest'].stays[0][field])).toBe(true)
  })
  test('each id works with GET /bookings/{id}', async () => {
    const { id } = seen['Guest'].stays[0]
    expect(await service.call(`/bookings/${id}`, { key: key.secret })).toMatchObject({ body: { booking: { id } } })
  })
})

rows('FeeType', () => seen['FeeTypes'][0], [
  ['id', isString],
  ['label', (value) => value === 'Linen & towels'],
  ['kind', (value) => value === 'fixed'],
  ['amount', (value) => value === 2_500],
  ['pct', (value) => value === null],
  ['includesWeeklyCleaning', isBoolean],
])

test('FeeType: a percentage has pct and no amount', () => {
  expect(seen['FeeTypes'][1]).toMatchObject({ kind: 'percent', pct: 12.5, amount: null })
})
test('FeeType: only active fee types are returned', () => {
  expect(seen['FeeTypes']).toHaveLength(2)
})

describe('Error body', () => {
  test.each([['code'], ['title']])('%s', async (field) => {
    const { body } = await service.call('/units/none', { key: key.secret })
    expect(isString(body[field]) && body[field].length > 0).toBe(true)
  })
})
