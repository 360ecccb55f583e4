/** See docs/contract.md#authentication: one test per rule and per row of the scope table. */

import { describe, expect, test } from 'bun:test'
import { SCOPES, type Scope } from '../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { sampleId } from '../support/samples.ts'
import { type PartnerCall, sharedTestService } from '../support/test-service.ts'

const service = await sharedTestService()
const agency = await service.agency()
await service.unit(agency, { slug: 'sea-view' })
const { secret: key } = await service.key(agency)
const stay = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
const bookingId = (await service.call('/bookings', { key, json: stay })).body.booking.id

const UNAUTHORIZED = { status: 401, body: { code: 'UNAUTHORIZED' } }
const getMe = (authorization?: string): Promise<HttpAnswer> =>
  service.call('/me', authorization === undefined ? {} : { headers: { authorization } })

describe('Authentication', () => {
  test('1. every request except GET /openapi.json carries Authorization: Bearer <API_KEY>', async () => {
    const { secret } = await service.key(agency)
    expect((await getMe(`Bearer ${secret}`)).status).toBe(200)
    expect((await service.call('/openapi.json')).status).toBe(200)
    for (const [path, call] of everyRoute()) expect(await service.call(path, call)).toMatchObject(UNAUTHORIZED)
  })
  test('2. only the SHA-256 hash of a key is stored', async () => {
    const { secret, key } = await service.key(agency)
    expect(secret).toStartWith('hr_live_')
    const [row] = await service.database.sql`select * from api_key where key_id = ${uuidOf(key.id)}`
    expect(JSON.stringify(row)).not.toContain(secret.slice(15))
    expect(row?.['secret_sha256']).toBe(new Bun.CryptoHasher('sha256').update(secret).digest('hex'))
  })
  test('3. a plan without API access: 403 FEATURE_DISABLED', async () => {
    const other = await service.agency({ plan: { ...agency.plan, apiAccess: false } })
    const { secret: key } = await service.key(other)
    const answer = await service.call('/me', { key })
    expect(answer).toMatchObject({ status: 403, body: { code: 'FEATURE_DISABLED' } })
    expect(answer.headers.get('x-ratelimit-limit')).toBe(String(other.plan.requestsPerMinute))
  })
  test('5. GET /me needs no scope', async () => {
    const { secret: key } = await service.key(agency, { scopes: [] })
    expect((await service.call('/me', { key })).status).toBe(200)
  })
  test('6. outside the scopes: 403 SCOPE_MISSING, naming the scope', async () => {
    const { secret: key } = await service.key(agency, { scopes: ['read:units'] })
    const answer = await service.call('/guests', { key })
    expect(answer).toMatchObject({ status: 403, body: { code: 'SCOPE_MISSING', scope: 'read:guests' } })
  })
  test('8. an expired key answers 401 like a revoked one', async () => {
    const { secret } = await service.key(agency, { expiresAt: Date.now() - 1 })
    expect(await getMe(`Bearer ${secret}`)).toMatchObject(UNAUTHORIZED)
    const { secret: lasting } = await service.key(agency, { expiresAt: Date.now() + 60_000 })
    expect((await getMe(`Bearer ${lasting}`)).status).toBe(200)
  })
  test('8. revocation is immediate for new requests, and leaves other keys alone', async () => {
    const { secret, key } = await service.key(agency)
    const { secret: other } = await service.key(agency)
    expect((await getMe(`Bearer ${secret}`)).status).toBe(200)
    const now = Date.now()
    service.ledger.catalogue.putKey({ ...key, revokedAt: now })
    expect(await getMe(`Bearer ${secret}`)).toMatchObject(UNAUTHORIZED)
    expect((await getMe(`Bearer ${other}`)).status).toBe(200)
  })
  describe('9. 401 UNAUTHORIZED is returned for', () => {
    test('a missing header', async () => {
      const answer = await getMe()
      expect(answer).toMatchObject(UNAUTHORIZED)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    })
    test.each([
      ['no scheme', (secret: string) => secret],
      ['another scheme', (secret: string) => `Basic ${secret}`],
      ['no key', () => 'Bearer'],
      ['two keys', (secret: string) => `Bearer ${secret} ${secret}`],
      ['a comma', (secret: string) => `Bearer ${secret}, Bearer ${secret}`],
      ['a key of 10,000 characters', (secret: string) => `Bearer ${secret}${'a'.repeat(10_000)}`],
    ])('a malformed header: %s', async (_, header) => {
      const { secret } = await service.key(agency)
      expect(await getMe(header(secret))).toMatchObject(UNAUTHORIZED)
    })
    test('an unknown key, be it one character away from a known one', async () => {
      const { secret } = await service.key(agency)
      const last = secret.endsWith('A') ? 'B' : 'A'
      expect(await getMe(`Bearer ${secret.slice(0, -1)}${last}`)).toMatchObject(UNAUTHORIZED)
      expect(await getMe(`Bearer ${secret}A`)).toMatchObject(UNAUTHORIZED)
      expect(await getMe(`Bearer ${secret.toUpperCase()}`)).toMatchObject(UNAUTHORIZED)
    })
    test('a revoked key', async () => {
      const { secret } = await service.key(agency, { revokedAt: Date.now() - 1 })
      expect(await getMe(`Bearer ${secret}`)).toMatchObject(UNAUTHORIZED)
    })
    test('an expired key', async () => {
      const { secret } = await service.key(agency, { expiresAt: 1 })
      expect(await getMe(`Bearer ${secret}`)).toMatchObject(UNAUTHORIZED)
    })
    test('an agency account that is not active, from the next request on', async () => {
      const other = await service.agency()
      const { secret } = await service.key(other)
      expect((await getMe(`Bearer ${secret}`)).status).toBe(200)
      service.ledger.catalogue.putAgency({ ...other, status: 'suspended' })
      expect(await getMe(`Bearer ${secret}`)).toMatchObject(UNAUTHORIZED)
    })
  })
  test('the scheme may be written in any case', async () => {
    const { secret } = await service.key(agency)
    expect((await getMe(`bearer ${secret}`)).status).toBe(200)
  })
})

type Route = readonly [path: string, call: PartnerCall]

/** Every route of the scope table, as requests that succeed. */
function routesOf(scope: Scope): Route[] {
  const stay = { unit: 'sea-view', arrival: '2027-04-01', departure: '2027-04-04' }
  switch (scope) {
    case 'read:units':
      return [
        ['/units', {}],
        ['/units/sea-view', {}],
      ]
    case 'read:availability':
      return [['/availability?unit=sea-view&from=2027-03-01&to=2027-03-02', {}]]
    case 'read:rates':
      return [
        ['/quote', { json: stay }],
        ['/fee-types', {}],
      ]
    case 'read:bookings':
      return [
        ['/bookings', {}],
        [`/bookings/${bookingId}`, {}],
      ]
    case 'read:guests':
      return [
        ['/guests', {}],
        [`/guests/${sampleId('gst', 'none')}`, {}],
      ]
    case 'write:bookings':
      return [
        ['/bookings', { json: { ...stay, departure: '2027-04-02' } }],
        [`/bookings/${bookingId}/cancel`, { json: {} }],
      ]
  }
}
const everyRoute = (): Route[] => [['/me', {}], ...SCOPES.flatMap(routesOf)]

describe('4. scopes', () => {
  test.each([...SCOPES])('%s grants its routes, and nothing else does', async (scope) => {
    const { secret: with_ } = await service.key(agency, { scopes: [scope] })
    const { secret: without } = await service.key(agency, { scopes: SCOPES.filter((other) => other !== scope) })
    for (const [path, call] of routesOf(scope)) {
      expect(await service.call(path, { ...call, key: without })).toMatchObject({
        status: 403,
        body: { code: 'SCOPE_MISSING', scope },
      })
      expect([200, 201, 404]).toContain((await service.call(path, { ...call, key: with_ })).status)
    }
  })
})
