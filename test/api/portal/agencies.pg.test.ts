import { describe, expect, test } from 'bun:test'
import { uuidOf } from '../../../src/lib/ids.ts'
import { auditTrail } from '../../support/audit-trail.ts'
import { sampleId } from '../../support/samples.ts'
import { sharedTestService } from '../../support/test-service.ts'

const service = await sharedTestService()

const HARBOUR = { slug: 'harbour', name: 'Harbour Stays', currency: 'EUR', timezone: 'Europe/Lisbon' }

async function audit(slug: string) {
  return (await service.get(`/agencies/${slug}/audit`)).body.audit
}

describe('an agency', () => {
  test('is made with the defaults of the design, and listed', async () => {
    const made = await service.ask('/agencies', HARBOUR)
    expect(made.status).toBe(201)
    expect(made.body.agency).toMatchObject({
      ...HARBOUR,
      status: 'active',
      plan: { apiAccess: true, requestsPerMinute: 60, requestsPerMonth: 50_000 },
      defaultHoldHours: 48,
    })
    expect(made.body.agency.id).toStartWith('agc_')
    expect((await service.get('/agencies/harbour')).body.agency).toEqual(made.body.agency)
    const list = await service.get('/agencies?pageSize=200')
    expect(list.body).toMatchObject({ page: 1, pageSize: 200, totalItems: 1, pageCount: 1 })
    expect(list.body.agencies).toEqual([made.body.agency])
    const [row] = await auditTrail(service.database.sql)
    expect(row).toMatchObject({ actor_kind: 'portal', route: 'POST /portal/v1/agencies', outcome: 'OK' })
    expect(row?.['request_id']).toBe(made.headers.get('x-request-id'))
  })

  test('has a slug of its own, also when many ask for it at once, and when another process has made it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => service.ask('/agencies', { ...HARBOUR, slug: 'contested' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'SLUG_TAKEN', slug: 'contested' })

    await service.database.sql`
      insert into agency select ${uuidOf(sampleId('agc', 'elsewhere'))}::uuid, 'elsewhere', name, currency, timezone, status, api_access,
        requests_per_minute, requests_per_month, default_hold_hours, created_at from agency where slug = 'contested'`
    expect((await service.get('/agencies/elsewhere')).status).toBe(404)
    expect((await service.ask('/agencies', { ...HARBOUR, slug: 'elsewhere' })).status).toBe(409)
    expect((await service.get('/agencies/elsewhere')).status).toBe(200)
  })

  test.each([
    ['slug', { slug: 'Harbour' }],
    ['slug', { slug: 'a--b' }],
    ['slug', { slug: `${'a'.repeat(61)}` }],
    ['slug', { slug: undefined }],
    ['name', { name: '  ' }],
    ['name', { name: 'a\nb' }],
    ['currency', { currency: 'EURO' }],
    ['currency', { currency: 'XQQ' }],
    ['currency', { currency: 'eur' }],
    ['timezone', { timezone: 'Europe/Atlantis' }],
    ['timezone', { timezone: '+02:00' }],
    ['timezone', { timezone: 'europe/lisbon' }],
    ['timezone', { timezone: 'EUROPE/LISBON' }],
    ['plan.requestsPerMinute', { plan: { requestsPerMinute: 0 } }],
    ['plan.apiAccess', { plan: { apiAccess: 'yes' } }],
    ['defaultHoldHours', { defaultHoldHours: 2_161 }],
  ])('is refused with a wrong %s', async (field, change) => {
    const answer = await service.ask('/agencies', { ...HARBOUR, slug: 'refused', ...change })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'VALIDATION', errors: [{ field }] })
    expect(answer.body.title).toStartWith(field)
  })

  test('of a zone name in use today is taken, old spellings too', async () => {
    for (const [i, timezone] of [
      'Pacific/Apia',
      'America/St_Johns',
      'Europe/Berlin',
      'UTC',
      'Asia/Calcutta',
      'Etc/GMT+5',
    ].entries())
      expect((await service.ask('/agencies', { ...HARBOUR, slug: `zone-${i}`, timezone })).status).toBe(201)
  })

  test('is unknown: 404, on every route of it', async () => {
    for (const path of ['', '/keys', '/units', '/bookings', '/guests', '/audit', '/usage', '/fee-types'])
      expect((await service.get(`/agencies/nobody${path}`)).body).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('keeps slug, currency and time zone whatever a change says, and what a change leaves out', async () => {
    await service.ask('/agencies', { ...HARBOUR, slug: 'steady', plan: { requestsPerMinute: 7 } })
    const answer = await service.patch('/agencies/steady', {
      slug: 'other',
      currency: 'USD',
      timezone: 'UTC',
      id: sampleId('agc', 'x'),
      plan: { requestsPerMonth: 9 },
    })
    expect(answer.body.agency).toMatchObject({
      slug: 'steady',
      currency: 'EUR',
      timezone: 'Europe/Lisbon',
      plan: { apiAccess: true, requestsPerMinute: 7, requestsPerMonth: 9 },
    })
  })

  test('loses nothing of two changes at once', async () => {
    await service.ask('/agencies', { ...HARBOUR, slug: 'busy' })
    await Promise.all([
      service.patch('/agencies/busy', { name: 'Busy' }),
      service.patch('/agencies/busy', { plan: { requestsPerMinute: 5 } }),
      service.patch('/agencies/busy', { defaultHoldHours: 1 }),
    ])
    const expected = { name: 'Busy', plan: { requestsPerMinute: 5 }, defaultHoldHours: 1 }
    expect((await service.get('/agencies/busy')).body.agency).toMatchObject(expected)
    const [row] = await service.database.sql`
      select name, requests_per_minute, default_hold_hours from agency where slug = 'busy'`
    expect({ ...row }).toEqual({ name: 'Busy', requests_per_minute: 5, default_hold_hours: 1 })
  })
})

describe('from the next request on', () => {
  test('a suspended agency is 401 to its partners, an active one is served', async () => {
    await service.ask('/agencies', { ...HARBOUR, slug: 'paused' })
    const { secret } = (await service.ask('/agencies/paused/keys', {})).body
    expect((await service.asPartner(secret, '/me')).status).toBe(200)
    await service.patch('/agencies/paused', { status: 'suspended' })
    expect((await service.asPartner(secret, '/me')).body).toMatchObject({ code: 'UNAUTHORIZED' })
    expect((await service.get('/agencies/paused')).body.agency.status).toBe('suspended')
    await service.patch('/agencies/paused', { status: 'active' })
    expect((await service.asPartner(secret, '/me')).status).toBe(200)
  })

  test('a plan without API access is 403, and its limits are the ones enforced', async () => {
    await service.ask('/agencies', { ...HARBOUR, slug: 'planned' })
    const { secret } = (await service.ask('/agencies/planned/keys', {})).body
    await service.patch('/agencies/planned', { plan: { apiAccess: false } })
    expect((await service.asPartner(secret, '/me')).body).toMatchObject({ code: 'FEATURE_DISABLED' })
    await service.patch('/agencies/planned', { plan: { apiAccess: true, requestsPerMinute: 3, requestsPerMonth: 9 } })
    const me = await service.asPartner(secret, '/me')
    expect(me.body).toMatchObject({ rateLimit: { requestsPerMinute: 3 }, quota: { quota: 9 } })
    expect(me.headers.get('x-ratelimit-limit')).toBe('3')
  })
})

describe('the audit trail', () => {
  test('has each change once, refused ones too, newest first', async () => {
    await service.ask('/agencies', { ...HARBOUR, slug: 'audited' })
    await service.patch('/agencies/audited', { name: 'New name' })
    await service.patch('/agencies/audited', { name: '' })
    const lines = await audit('audited')
    expect(lines.map(({ route, outcome }: { route: string; outcome: string }) => [route, outcome])).toEqual([
      ['PATCH /portal/v1/agencies/{agencySlug}', 'VALIDATION'],
      ['PATCH /portal/v1/agencies/{agencySlug}', 'OK'],
      ['POST /portal/v1/agencies', 'OK'],
    ])
    expect(lines[0]).toMatchObject({ actor: { kind: 'portal', id: null }, bookingId: null, count: 1 })
  })
})
