/** Writes made with a key: their audit trail and their idempotency (docs/contract.md#conventions; docs/design.md#audit, docs/design.md#additive-headers). */

import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { auditTrail } from '../support/audit-trail.ts'
import type { TestKey } from '../support/ledger.ts'
import { sampleId, sampleRules } from '../support/samples.ts'
import { type PartnerCall, sharedTestService } from '../support/test-service.ts'

let agency: Agency
let key: TestKey

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = await service.key(agency)
  await service.unit(agency, { slug: 'sea-view', rules: sampleRules({ minStay: 2 }) })
  await service.unit(agency, { slug: 'garden' })
})

const BOOK = 'POST /partner/v1/bookings'
const CANCEL = 'POST /partner/v1/bookings/{id}/cancel'
const STAY = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
const post = (json: object, more: PartnerCall = {}) => service.call('/bookings', { key: key.secret, json, ...more })
const cancel = (id: string, more: PartnerCall = { json: {} }) =>
  service.call(`/bookings/${id}/cancel`, { key: key.secret, ...more })
/** The agency's audit lines of keys, oldest first. */
const trail = async (of = agency) =>
  (await auditTrail(service.database.sql, of.id)).filter(
    (line) => line.actor_kind === 'key' && line.route !== 'POST /test',
  )

describe('the audit trail', () => {
  test('has one line for a booking and one for its cancellation: who, which route, which request', async () => {
    const { body } = await post(STAY, { headers: { 'x-request-id': 'mine-1' } })
    await cancel(body.booking.id, { json: {}, headers: { 'x-request-id': 'mine-2' } })
    const common = { actor_id: key.key.id, outcome: 'OK', booking_id: body.booking.id, count: 1 }
    expect(await trail()).toMatchObject([
      { ...common, route: BOOK, request_id: 'mine-1' },
      { ...common, route: CANCEL, request_id: 'mine-2' },
    ])
  })

  const refusals: [code: string, attempt: () => Promise<unknown>, route: string][] = [
    ['VALIDATION', () => post({ ...STAY, adults: 0 }), BOOK],
    ['VALIDATION', () => post({ ...STAY, departure: STAY.arrival }), BOOK],
    ['VALIDATION', () => service.call('/bookings', { key: key.secret, raw: '{' }), BOOK],
    ['VALIDATION', () => service.call('/bookings', { key: key.secret, raw: 'x'.repeat(70_000) }), BOOK],
    ['VALIDATION', () => post(STAY, { headers: { 'idempotency-key': '"' } }), BOOK],
    ['VALIDATION', () => cancel(sampleId('bkg', 'none'), { json: { reason: 5 } }), CANCEL],
    ['VALIDATION', () => cancel('%zz'), CANCEL],
    ['NOT_FOUND', () => post({ ...STAY, unit: 'none' }), BOOK],
    ['NOT_FOUND', () => cancel(sampleId('bkg', 'none')), CANCEL],
    ['NOT_FOUND', () => cancel('a%20b'), CANCEL],
    ['MIN_STAY', () => post({ ...STAY, departure: '2027-03-02' }), BOOK],
    [
      'BOOKING_CONFLICT',
      async () => (await post({ ...STAY, unit: 'garden' })) && post({ ...STAY, unit: 'garden' }),
      BOOK,
    ],
  ]
  test.each(refusals)('has a line for a refused write: %s', async (code, attempt, route) => {
    await attempt()
    expect((await trail()).at(-1)).toMatchObject({ outcome: code, route, actor_id: key.key.id, count: 1 })
  })
  test('has a line for a missing scope', async () => {
    const { secret, key: reader } = await service.key(agency, { scopes: ['read:bookings'] })
    await service.call('/bookings', { key: secret, json: STAY })
    expect(await trail()).toMatchObject([{ outcome: 'SCOPE_MISSING', actor_id: reader.id, route: BOOK }])
  })
  test('has a line for a plan without API access', async () => {
    const other = await service.agency({ plan: { ...agency.plan, apiAccess: false } })
    await service.call('/bookings', { key: (await service.key(other)).secret, json: STAY })
    expect(await trail(other)).toMatchObject([{ outcome: 'FEATURE_DISABLED', route: BOOK }])
  })
  test('has one line for a flood of writes without API access, beyond the budget too, as what they were', async () => {
    const other = await service.agency({ plan: { ...agency.plan, apiAccess: false, requestsPerMinute: 1 } })
    const { secret } = await service.key(other)
    for (let n = 0; n < 5; n++)
      expect((await service.call('/bookings', { key: secret, json: STAY })).body.code).toBe('FEATURE_DISABLED')
    await service.ledger.refusals.flush()
    const lines = await trail(other)
    expect(new Set(lines.map(({ outcome }) => outcome))).toEqual(new Set(['FEATURE_DISABLED']))
    // One more where a minute began in between.
    expect([2, 3]).toContain(lines.length)
    expect(lines.reduce((sum, { count }) => sum + count, 0)).toBe(5)
  })
  test('has one line for a flood of 429s on writes, with their count', async () => {
    const other = await service.agency({ plan: { ...agency.plan, requestsPerMinute: 1 } })
    const { secret } = await service.key(other)
    await service.call('/me', { key: secret })
    await Promise.all(Array.from({ length: 50 }, () => service.call('/bookings', { key: secret, json: STAY })))
    await service.ledger.refusals.flush()
    const lines = await trail(other)
    expect(lines.length).toBeLessThanOrEqual(2)
    expect(lines.reduce((sum, line) => sum + line.count, 0)).toBe(50)
  })
  test('tells who tries a revoked key, one line per key and minute', async () => {
    const { secret, key: revoked } = await service.key(agency, { revokedAt: 1 })
    for (let i = 0; i < 5; i++) expect((await service.call('/bookings', { key: secret, json: STAY })).status).toBe(401)
    await service.call('/units', { key: secret })
    await service.call('/bookings', { key: 'hr_live_nobody', json: STAY })
    await service.ledger.refusals.flush()
    const lines = await trail()
    expect(lines.length).toBeLessThanOrEqual(2)
    for (const line of lines) expect(line).toMatchObject({ outcome: 'UNAUTHORIZED', actor_id: revoked.id })
    expect(lines.reduce((sum, line) => sum + line.count, 0)).toBe(5)
  })
  test('has no line for reads, nor for a quote', async () => {
    for (const path of ['/me', '/units', '/bookings', '/none']) await service.call(path, { key: key.secret })
    await service.call('/quote', { key: key.secret, json: STAY })
    expect(await trail()).toHaveLength(0)
  })
  test('an id that is not one of ours is not written into it', async () => {
    await cancel('x'.repeat(9_000))
    expect((await trail()).at(-1)).toMatchObject({ outcome: 'NOT_FOUND', booking_id: null })
  })
})

describe('Idempotency-Key', () => {
  const headers = { 'idempotency-key': 'k-1' }
  const bookings = async () =>
    Number(
      (await service.database.sql`select count(*) as n from booking where agency_id = ${uuidOf(agency.id)}`)[0]?.['n'],
    )

  test('the same request gets the first answer again, marked as replayed, and books once', async () => {
    const first = await post(STAY, { headers })
    const again = await post(STAY, { headers: { 'idempotency-key': '"k-1"' } })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual(first.body)
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ])
    expect(await bookings()).toBe(1)
  })
  test('the first answer stays the answer, though the booking was cancelled meanwhile', async () => {
    const first = await post(STAY, { headers })
    await cancel(first.body.booking.id)
    expect((await post(STAY, { headers })).body).toEqual(first.body)
  })
  test('another request gets 422 IDEMPOTENCY_KEY_REUSED, and a line in the audit trail', async () => {
    await post(STAY, { headers })
    const reused = await post({ ...STAY, adults: 3 }, { headers })
    expect(reused).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } })
    expect((await trail()).at(-1)).toMatchObject({ outcome: 'IDEMPOTENCY_KEY_REUSED' })
  })
  test('members in another order, defaults spelled out and ignored fields make the same request', async () => {
    const first = await post(STAY, { headers })
    const { unit, arrival, departure } = STAY
    const again = await post({ price: 1, departure, adults: 2, status: 'confirmed', arrival, unit }, { headers })
    expect(again.body).toEqual(first.body)
  })
  test('fifty at once make one booking and one answer', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(STAY, { headers })))
    expect(new Set(answers.map(({ status, body }) => `${status} ${JSON.stringify(body)}`)).size).toBe(1)
    expect(answers.filter((answer) => !answer.headers.has('idempotency-replayed'))).toHaveLength(1)
    expect(await bookings()).toBe(1)
  })
  test('only 2xx answers are kept', async () => {
    const blocker = await post(STAY)
    expect((await post(STAY, { headers })).status).toBe(409)
    await cancel(blocker.body.booking.id)
    expect((await post(STAY, { headers })).status).toBe(201)
  })
  test('its scope is the key and the route', async () => {
    const { secret: other } = await service.key(agency)
    const first = await post(STAY, { headers })
    expect((await service.call('/bookings', { key: other, json: STAY, headers })).status).toBe(409)
    const cancelled = await cancel(first.body.booking.id, { json: {}, headers })
    expect(cancelled).toMatchObject({ status: 200, body: { booking: { status: 'cancelled' } } })
    expect((await cancel(first.body.booking.id, { json: {}, headers })).headers.get('idempotency-replayed')).toBe(
      'true',
    )
  })
  test('cancelling another booking under the same key is another request', async () => {
    const [a, b] = [await post(STAY), await post({ ...STAY, unit: 'garden' })]
    await cancel(a.body.booking.id, { json: {}, headers })
    expect((await cancel(b.body.booking.id, { json: {}, headers })).body.code).toBe('IDEMPOTENCY_KEY_REUSED')
  })
  test('1 to 255 characters, quoted or bare', async () => {
    expect((await post(STAY, { headers: { 'idempotency-key': 'k'.repeat(255) } })).status).toBe(201)
    for (const wrong of ['k'.repeat(256), '""', 'a b', 'é'])
      expect(await post(STAY, { headers: { 'idempotency-key': wrong } })).toMatchObject({
        status: 400,
        body: { errors: [{ field: 'Idempotency-Key' }] },
      })
  })
})
