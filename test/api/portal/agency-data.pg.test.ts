import { beforeEach, describe, expect, test } from 'bun:test'
import type { Agency } from '../../../src/core/catalogue/agency.ts'
import { SCOPES } from '../../../src/core/catalogue/agency.ts'
import { uuidOf } from '../../../src/lib/ids.ts'
import { makeDeliveries } from '../../events/webhooks/support/make-deliveries.ts'
import { sampleId } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

let agency: Agency
let path: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency({ timezone: 'Pacific/Apia' })
  path = `/agencies/${agency.slug}`
})

describe('a key', () => {
  test('shows its secret once, is kept as a hash, and has the four plain read scopes unless told', async () => {
    const { key, secret } = (await service.ask(`${path}/keys`, {})).body
    expect(secret).toMatch(/^hr_live_[\w-]{43}$/)
    expect(key).toMatchObject({
      name: null,
      expiresAt: null,
      revokedAt: null,
      lastUsedAt: null,
      prefix: secret.slice(0, 14),
      scopes: ['read:units', 'read:availability', 'read:rates', 'read:bookings'],
    })
    const list = (await service.get(`${path}/keys`)).body
    expect(list).toEqual({ keys: [key], page: 1, pageSize: 100, totalItems: 1, pageCount: 1 })
    expect(JSON.stringify(list)).not.toContain(secret)
    const [row] = await service.database
      .sql`select api_key::text as "all" from api_key where key_id = ${uuidOf(key.id)}`
    expect(row?.['all']).not.toContain(secret.slice(14))
    expect((await service.asPartner(secret, '/me')).body.key).toMatchObject({ id: key.id, scopes: key.scopes })
  })

  test('has exactly the scopes it was given', async () => {
    const requests = [...SCOPES].reverse()
    const { key, secret } = (await service.ask(`${path}/keys`, { name: 'All', scopes: [...requests, ...requests] }))
      .body
    expect(key.scopes).toEqual([...SCOPES])
    const none = (await service.ask(`${path}/keys`, { scopes: [] })).body
    expect((await service.asPartner(none.secret, '/me')).status).toBe(200)
    expect((await service.asPartner(none.secret, '/units')).body).toMatchObject({ code: 'SCOPE_MISSING' })
    expect((await service.asPartner(secret, '/guests')).status).toBe(200)
  })

  test('is revoked from the next request on, for good, with the time of the first revocation', async () => {
    const { key, secret } = (await service.ask(`${path}/keys`, {})).body
    const other = (await service.ask(`${path}/keys`, {})).body
    const revoked = await service.delete(`${path}/keys/${key.id}`)
    expect(revoked.body.key.revokedAt).toBeString()
    expect((await service.asPartner(secret, '/me')).status).toBe(401)
    expect((await service.asPartner(other.secret, '/me')).status).toBe(200)
    expect((await service.delete(`${path}/keys/${key.id}`)).body).toEqual(revoked.body)
    expect((await service.delete(`${path}/keys/${sampleId('key', 'unknown')}`)).body).toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('expires when it says; a day begins where the agency is', async () => {
    const { key } = (await service.ask(`${path}/keys`, { expiresAt: '2090-03-01' })).body
    // Apia is 13 hours ahead of UTC.
    expect(key.expiresAt).toBe('2090-02-28T11:00:00.000Z')
    expect((await service.ask(`${path}/keys`, { expiresAt: '2020-01-01' })).body).toMatchObject({
      errors: [{ field: 'expiresAt' }],
    })
    expect((await service.ask(`${path}/keys`, { scopes: ['read:all'] })).body).toMatchObject({
      errors: [{ field: 'scopes[0]' }],
    })
  })
})

describe('a fee type', () => {
  test('is in the next quote, and out of it when switched off', async () => {
    const unit = await service.unit(agency)
    const { secret } = await service.key(agency)
    const stay = { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-03' }
    const total = async () => (await service.asPartner(secret, '/quote', stay)).body.quote.total
    const before = await total()
    const made = await service.ask(`${path}/fee-types`, { label: 'City tax', kind: 'percent', pct: 2.5 })
    expect(made.status).toBe(201)
    expect(made.body.feeType).toMatchObject({
      label: 'City tax',
      kind: 'percent',
      amount: null,
      pct: 2.5,
      includesWeeklyCleaning: false,
      application: 'every_stay',
      active: true,
    })
    expect(await total()).toBe(before + 500)
    const off = await service.patch(`${path}/fee-types/${made.body.feeType.id}`, { active: false })
    expect(off.body.feeType).toEqual({ ...made.body.feeType, active: false })
    expect(await total()).toBe(before)
    expect((await service.get(`${path}/fee-types`)).body.feeTypes).toEqual([off.body.feeType])
    expect((await service.asPartner(secret, '/fee-types')).body.feeTypes).toEqual([])
  })

  test.each([
    ['amount', { kind: 'fixed', pct: 5 }],
    ['pct', { kind: 'percent', amount: 5 }],
    ['pct', { kind: 'percent', pct: 100.01 }],
    ['pct', { kind: 'percent', pct: 1.005 }],
    ['amount', { kind: 'fixed', amount: -1 }],
    ['kind', { kind: 'other' }],
    ['application', { kind: 'fixed', amount: 1, application: 'never' }],
  ])('is refused with a wrong %s', async (field, body) => {
    const answer = await service.ask(`${path}/fee-types`, { label: 'Fee', ...body })
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
  })

  test('that changes its kind needs the other value, and forgets the first', async () => {
    const { id } = (await service.ask(`${path}/fee-types`, { label: 'Fee', kind: 'fixed', amount: 5 })).body.feeType
    expect((await service.patch(`${path}/fee-types/${id}`, { kind: 'percent' })).body).toMatchObject({
      errors: [{ field: 'pct' }],
    })
    const changed = await service.patch(`${path}/fee-types/${id}`, { kind: 'percent', pct: 1 })
    expect(changed.body.feeType).toMatchObject({ kind: 'percent', amount: null, pct: 1 })
  })

  test('of every stay is one of 20 at most, also when many are made at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, i) =>
        service.ask(`${path}/fee-types`, { label: `Fee ${i}`, kind: 'fixed', amount: 1 }),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(answers.find(({ status }) => status === 400)?.body).toMatchObject({ errors: [{ field: 'application' }] })
    const onRequest = { label: 'x', kind: 'fixed', amount: 1, application: 'on_request' }
    const { id } = (await service.ask(`${path}/fee-types`, onRequest)).body.feeType
    expect((await service.patch(`${path}/fee-types/${id}`, { application: 'every_stay' })).status).toBe(400)
    expect((await service.patch(`${path}/fee-types/${id}`, { application: 'every_stay', active: false })).status).toBe(
      200,
    )
  })
})

describe('a guest', () => {
  const GUEST = { firstName: 'Ana', lastName: 'Reis', email: 'Ana@example.com', phone: null, nationality: null }

  async function guestOf(arrival: string, departure: string, guest: object) {
    const unit = await service.unit(agency)
    const answer = await service.ask(`${path}/bookings`, { unit: unit.slug, arrival, departure, guest })
    return answer.body.booking.guest
  }

  test('is read with the stays, found by a part of the name, and changed', async () => {
    const { id } = await guestOf('2027-03-01', '2027-03-03', GUEST)
    const found = (await service.get(`${path}/guests/${id}`)).body.guest
    expect(found).toMatchObject({ ...GUEST, stays: [{ arrival: '2027-03-01', status: 'confirmed' }] })
    const changed = await service.patch(`${path}/guests/${id}`, { phone: '+351 1', email: 'ana@example.org' })
    expect(changed.body.guest).toMatchObject({ firstName: 'Ana', phone: '+351 1', email: 'ana@example.org' })
    expect((await service.get(`${path}/guests?search=rei`)).body.guests).toEqual([changed.body.guest])
    expect((await service.get(`${path}/guests?search=nobody`)).body.totalItems).toBe(0)
    const [line] = (await service.get(`${path}/audit`)).body.audit
    expect(line).toMatchObject({ route: 'PATCH /portal/v1/agencies/{agencySlug}/guests/{guestId}', outcome: 'OK' })
  })

  test("keeps the e-mail that is another's to that one, whatever the case", async () => {
    await guestOf('2027-03-01', '2027-03-03', GUEST)
    const other = await guestOf('2027-03-01', '2027-03-03', { ...GUEST, email: 'other@example.com' })
    const answer = await service.patch(`${path}/guests/${other.id}`, { email: 'ANA@example.com' })
    expect(answer.status).toBe(409)
    expect(answer.body).toMatchObject({ code: 'EMAIL_TAKEN', email: 'ANA@example.com' })
    expect((await service.get(`${path}/guests/${other.id}`)).body.guest.email).toBe('other@example.com')
    expect((await service.get(`${path}/audit?outcome=EMAIL_TAKEN`)).body.totalItems).toBe(1)
    expect((await service.patch(`${path}/guests/${other.id}`, { email: null })).body.guest.email).toBeNull()
    expect((await service.patch(`${path}/guests/${other.id}`, { email: 'x' })).body).toMatchObject({
      errors: [{ field: 'email' }],
    })
  })
})

describe('audit and usage', () => {
  test('are filtered, and show partners beside the portal', async () => {
    const unit = await service.unit(agency)
    const { key, secret } = await service.key(agency)
    const stay = { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-03' }
    const { booking } = (await service.asPartner(secret, '/bookings', stay)).body
    await service.asPartner(secret, '/bookings', stay)
    const count = async (query: string) => (await service.get(`${path}/audit?${query}`)).body.totalItems
    expect(await count('actor=key')).toBe(2 + 1)
    expect(await count(`key=${key.id}&outcome=BOOKING_CONFLICT`)).toBe(1)
    expect(await count(`booking=${booking.id}`)).toBe(1)
    expect(await count('actor=key&from=2090-01-01')).toBe(0)
    expect(await count('actor=key&to=2020-01-01')).toBe(0)
    expect(await count('actor=key&from=2020-01-01T00:00:00Z&to=2090-01-01')).toBe(3)
    expect((await service.get(`${path}/audit?from=yesterday`)).body).toMatchObject({ errors: [{ field: 'from' }] })
  })

  test('usage counts the current month to this moment, before it is flushed, and keeps past ones', async () => {
    await service.database.sql`insert into usage_month values (${uuidOf(agency.id)}, '2020-01', 7)`
    const { secret } = await service.key(agency)
    for (let i = 0; i < 3; i++) await service.asPartner(secret, '/me')
    await service.ledger.usage.flush()
    await service.asPartner(secret, '/me')
    const { usage, totalItems, days } = (await service.get(`${path}/usage`)).body
    expect(totalItems).toBe(2)
    expect(usage[0]).toMatchObject({
      used: 4,
      quota: agency.plan.requestsPerMonth,
      remaining: agency.plan.requestsPerMonth - 4,
    })
    expect(usage[1]).toEqual({ month: '2020-01', used: 7, quota: null, remaining: null, resetsAt: null })
    expect(days.reduce((sum: number, { used }: { used: number }) => sum + used, 0)).toBe(4)
    expect(days[0].day).toStartWith(usage[0].month)
  })
})

describe('webhook endpoints', () => {
  const URL_OF_NOBODY = 'http://localhost:9/hooks'

  test('are registered with a secret shown once, listed, changed, rotated and deleted, each in the trail', async () => {
    const made = await service.ask(`${path}/webhook-endpoints`, { url: URL_OF_NOBODY, description: 'Test' })
    expect(made.status).toBe(201)
    expect(made.body.secret).toStartWith('whsec_')
    const { id } = made.body.webhookEndpoint
    expect(made.body.webhookEndpoint).toMatchObject({ url: URL_OF_NOBODY, description: 'Test', status: 'active' })
    const of = `${path}/webhook-endpoints/${id}`
    expect((await service.get(of)).body).toEqual({ webhookEndpoint: made.body.webhookEndpoint })
    expect((await service.get(`${path}/webhook-endpoints`)).body).toMatchObject({
      totalItems: 1,
      webhookEndpoints: [{ id }],
    })
    expect(
      (await service.patch(of, { url: 'http://localhost:10/', description: null })).body.webhookEndpoint,
    ).toMatchObject({
      url: 'http://localhost:10/',
      description: null,
    })
    expect((await service.patch(of, { status: 'active' })).body).toMatchObject({ errors: [{ field: 'pending' }] })
    expect((await service.patch(of, { status: 'active', pending: 'drop' })).body.webhookEndpoint.status).toBe('active')
    const rotated = await service.ask(`${of}/rotate-secret`, { overlapHours: 1 })
    expect(rotated.body.secret).not.toBe(made.body.secret)
    expect(rotated.body.webhookEndpoint.previousSecretUntil).toBeString()
    expect((await service.delete(of)).body.webhookEndpoint.id).toBe(id)
    expect((await service.get(of)).status).toBe(404)
    const { audit } = (await service.get(`${path}/audit?outcome=OK&actor=portal`)).body
    expect(audit).toHaveLength(5)
  })

  test('have events that the agency chooses: by default the contract’s three; those of rates and units can be added', async () => {
    const bookings = ['booking.created', 'booking.updated', 'booking.cancelled']
    const all = [...bookings, 'rates.updated', 'unit.updated']
    const { webhookEndpoint: plain } = (await service.ask(`${path}/webhook-endpoints`, { url: URL_OF_NOBODY })).body
    expect(plain.events).toEqual(bookings)
    const events = [...all].reverse()
    const made = await service.ask(`${path}/webhook-endpoints`, { url: URL_OF_NOBODY, events })
    expect([made.status, made.body.webhookEndpoint.events]).toEqual([201, all])
    const of = `${path}/webhook-endpoints/${made.body.webhookEndpoint.id}`
    const chosen = await service.patch(of, { events: ['unit.updated', 'booking.created', 'unit.updated'] })
    expect([chosen.status, chosen.body.webhookEndpoint.events]).toEqual([200, ['booking.created', 'unit.updated']])
    expect((await service.patch(of, { description: 'Other' })).body.webhookEndpoint.events).toHaveLength(2)
    expect((await service.get(of)).body.webhookEndpoint.events).toEqual(['booking.created', 'unit.updated'])
    for (const faulty of [[], ['ping'], ['booking.moved'], 'unit.updated', null])
      expect(await service.patch(of, { events: faulty })).toMatchObject({ status: 400, body: { code: 'VALIDATION' } })
    await service.delete(of)
    await service.delete(`${path}/webhook-endpoints/${plain.id}`)
  })

  test.each(['http://example.com/', 'https://127.0.0.1/', 'https://user:pw@example.com/', 'no url'])(
    'refuse %s',
    async (url) => {
      const answer = await service.ask(`${path}/webhook-endpoints`, { url })
      expect(answer.status).toBe(400)
      expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field: 'url' }] })
    },
  )

  test('are pinged with the outcome as answer; deliveries are listed and sent again', async () => {
    const { id } = (await service.ask(`${path}/webhook-endpoints`, { url: URL_OF_NOBODY })).body.webhookEndpoint
    const of = `${path}/webhook-endpoints/${id}`
    const ping = await service.ask(`${of}/ping`, undefined, { method: 'POST' })
    expect(ping.body.delivery).toMatchObject({ event: 'ping', status: 'dead', attempts: [{ httpStatus: null }] })
    const unit = await service.unit(agency)
    await service.ask(`${path}/bookings`, { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-03' })
    expect((await service.get(of)).body.webhookEndpoint.waitingEvents).toBe(1)
    await makeDeliveries(service.database.url, service.ledger.epoch)
    expect((await service.get(of)).body.webhookEndpoint.waitingEvents).toBe(0)
    const { deliveries, totalItems } = (await service.get(`${of}/deliveries`)).body
    expect(totalItems).toBe(2)
    const made = deliveries.find(({ event }: { event: string }) => event === 'booking.created')
    const resent = await service.ask(`${path}/deliveries/${made.id}/resend`, undefined, { method: 'POST' })
    expect(resent.body.delivery).toMatchObject({ id: made.id, status: 'pending' })
    const again = await service.ask(`${path}/deliveries/${ping.body.delivery.id}/resend`, undefined, { method: 'POST' })
    expect(again.body).toMatchObject({ errors: [{ field: 'deliveryId' }] })
  })
})

test("one agency's ids are unknown under another's path, on every route", async () => {
  const unit = await service.unit(agency, { slug: 'only-here' })
  const guest = { firstName: 'Ana', lastName: 'Reis', email: 'iso@example.com' }
  const stay = { unit: unit.slug, arrival: '2027-03-01', departure: '2027-03-03', guest }
  const { booking } = (await service.ask(`${path}/bookings`, stay)).body
  const { key } = (await service.ask(`${path}/keys`, {})).body
  const { feeType } = (await service.ask(`${path}/fee-types`, { label: 'x', kind: 'fixed', amount: 1 })).body
  const { webhookEndpoint } = (await service.ask(`${path}/webhook-endpoints`, { url: 'http://localhost:9/' })).body
  const ping = (
    await service.ask(`${path}/webhook-endpoints/${webhookEndpoint.id}/ping`, undefined, { method: 'POST' })
  ).body
  const other = `/agencies/${(await service.agency()).slug}`
  const probes: [string, string, unknown?][] = [
    ['GET', '/units/only-here'],
    ['PATCH', '/units/only-here', { name: 'x' }],
    ['GET', '/units/only-here/rates'],
    ['PUT', '/units/only-here/rates', {}],
    ['GET', '/units/only-here/calendar?from=2027-03-01&to=2027-03-02'],
    ['GET', '/units/only-here/calendar-feed'],
    ['POST', '/units/only-here/calendar-feed'],
    ['POST', '/bookings', stay],
    ['GET', `/bookings/${booking.id}`],
    ['PATCH', `/bookings/${booking.id}`, { status: 'cancelled' }],
    ['PATCH', `/bookings/${booking.id}`, { unit: 'only-here' }],
    ['POST', `/bookings/${booking.id}/cancel`, {}],
    ['PUT', `/bookings/${booking.id}/notes`, { notes: 'x' }],
    ['GET', `/guests/${booking.guest.id}`],
    ['PATCH', `/guests/${booking.guest.id}`, { phone: '1' }],
    ['DELETE', `/keys/${key.id}`],
    ['PATCH', `/fee-types/${feeType.id}`, { active: false }],
    ['GET', `/webhook-endpoints/${webhookEndpoint.id}`],
    ['PATCH', `/webhook-endpoints/${webhookEndpoint.id}`, { description: 'x' }],
    ['DELETE', `/webhook-endpoints/${webhookEndpoint.id}`],
    ['POST', `/webhook-endpoints/${webhookEndpoint.id}/ping`],
    ['POST', `/webhook-endpoints/${webhookEndpoint.id}/rotate-secret`, {}],
    ['GET', `/webhook-endpoints/${webhookEndpoint.id}/deliveries`],
    ['POST', `/deliveries/${ping.delivery.id}/resend`],
  ]
  for (const [method, probe, body] of probes) {
    const answer = await service.ask(other + probe, body, { method })
    expect([probe, answer.status, answer.body.code]).toEqual([probe, 404, 'NOT_FOUND'])
  }
  for (const list of ['units', 'bookings', 'guests', 'keys', 'fee-types', 'webhook-endpoints'])
    expect([list, (await service.get(`${other}/${list}`)).body.totalItems]).toEqual([list, 0])
  expect((await service.get(`${path}/bookings/${booking.id}`)).body.booking).toEqual(booking)
})
