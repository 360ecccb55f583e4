/** See docs/contract.md#errors, docs/contract.md#limits, docs/contract.md#conventions and docs/contract.md#versioning: one test per row that a REST request can show. */
import { beforeEach, describe, expect, test } from 'bun:test'
import { ROUTE_BOUNDS } from '../../src/app/shares.ts'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import type { Booking } from '../../src/core/domain/booking.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { CALLER, night, requestFor, sampleRules } from '../support/samples.ts'
import { type PartnerCall, sharedTestService, startTestService } from '../support/test-service.ts'

let agency: Agency
let unit: Unit
let key: string

const service = await sharedTestService()
beforeEach(async () => {
  agency = await service.agency()
  key = (await service.key(agency)).secret
  unit = await service.unit(agency, { slug: 'sea-view', rules: sampleRules({ minStay: 2, turnoverNights: 2 }) })
})

const call = (path: string, options: PartnerCall = {}) => service.call(path, { key, ...options })
const post = (arrival: string, departure: string) =>
  call('/bookings', { json: { unit: 'sea-view', arrival, departure } })
const quote = (arrival: string, departure: string) => call('/quote', { json: { unit: 'sea-view', arrival, departure } })
const withPlan = async (plan: Partial<Agency['plan']>) => {
  const limited = await service.agency({ plan: { ...agency.plan, ...plan } })
  return { limited, limitedKey: (await service.key(limited)).secret }
}
/** A guest in house from 2027-03-01 to 2027-03-04 who is expected to stay until 2027-03-10. */
async function guestInHouse(): Promise<Booking> {
  const outcome = await service.ledger.commands.book(
    agency,
    requestFor(unit, '2027-03-01', '2027-03-04', {
      status: 'checked_in',
      expectedUntil: night('2027-03-10'),
      enforcement: 'agency',
    }),
    CALLER,
  )
  if (outcome.kind !== 'done') throw new Error('Cannot prepare a guest in house')
  return outcome.booking
}

describe('Errors', () => {
  test('400 VALIDATION: malformed parameters or body; title names the first offending field and what would pass', async () => {
    const { status, body } = await post('2027-02-30', 'x')
    expect(status).toBe(400)
    expect(body).toMatchObject({
      code: 'VALIDATION',
      title: 'arrival must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31',
    })
    expect(body.errors.map(({ field }: { field: string }) => field)).toEqual(['arrival', 'departure'])
  })
  test('400 VALIDATION: departure not after arrival', async () => {
    expect(await post('2027-03-04', '2027-03-04')).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION', errors: [{ field: 'departure' }] },
    })
  })
  test('400 VALIDATION: availability range missing, negative or over 366 days', async () => {
    for (const range of ['', '&from=2027-03-02&to=2027-03-01', '&from=2027-01-01&to=2028-01-03'])
      expect(await call(`/availability?unit=sea-view${range}`)).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION' },
      })
  })
  test('401 UNAUTHORIZED', async () => {
    expect(await call('/me', { key: null })).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
  })
  test('403 FEATURE_DISABLED: plan has no API access', async () => {
    const { limitedKey } = await withPlan({ apiAccess: false })
    expect(await call('/units', { key: limitedKey })).toMatchObject({ status: 403, body: { code: 'FEATURE_DISABLED' } })
  })
  test('403 SCOPE_MISSING: scope', async () => {
    const { secret } = await service.key(agency, { scopes: [] })
    expect(await call('/units', { key: secret })).toMatchObject({
      status: 403,
      body: { code: 'SCOPE_MISSING', scope: 'read:units' },
    })
  })
  test('404 NOT_FOUND: unknown unit slug, booking, guest or route', async () => {
    for (const path of ['/units/none', '/bookings/none', '/guests/none', '/none', '/units/', '/quote'])
      expect(await call(path)).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  })
  test('409 BOOKING_CONFLICT: nights taken meanwhile; conflict', async () => {
    await post('2027-03-03', '2027-03-06')
    expect(await post('2027-03-01', '2027-03-05')).toMatchObject({
      status: 409,
      body: {
        code: 'BOOKING_CONFLICT',
        conflict: {
          from: '2027-03-03',
          to: '2027-03-05',
          nights: ['2027-03-03', '2027-03-04'],
          bookableFrom: '2027-03-08',
        },
      },
    })
  })
  test('409 BOOKING_CONFLICT says neither by which booking nor by whom', async () => {
    const { body } = await post('2027-03-03', '2027-03-06')
    const refused = await post('2027-03-03', '2027-03-06')
    expect(Object.keys(refused.body.conflict).sort()).toEqual(['bookableFrom', 'from', 'nights', 'to'])
    expect(JSON.stringify(refused.body)).not.toContain(body.booking.id)
  })
  test('409 TURNOVER_BLOCK_CONFLICT: cleaning block after the previous stay; conflict carries bookableFrom', async () => {
    await post('2027-03-01', '2027-03-04')
    for (const arrival of ['2027-03-04', '2027-03-05'])
      expect(await post(arrival, '2027-03-09')).toMatchObject({
        status: 409,
        body: { code: 'TURNOVER_BLOCK_CONFLICT', conflict: { bookableFrom: '2027-03-06', departure: '2027-03-04' } },
      })
    expect((await post('2027-03-06', '2027-03-09')).status).toBe(201)
  })
  test('409 EXPECTED_EXTENSION_CONFLICT: a guest in house is expected to extend into these dates; conflicts', async () => {
    await guestInHouse()
    expect(await post('2027-03-07', '2027-03-12')).toMatchObject({
      status: 409,
      body: { code: 'EXPECTED_EXTENSION_CONFLICT', conflicts: [{ from: '2027-03-04', to: '2027-03-10' }] },
    })
  })
  test('422 MIN_STAY: stay below the effective minimum (quote, create booking); minStay', async () => {
    for (const ask of [post, quote])
      expect(await ask('2027-03-01', '2027-03-02')).toMatchObject({
        status: 422,
        body: { code: 'MIN_STAY', minStay: 2 },
      })
  })
  test('429 RATE_LIMITED: per-minute budget exhausted; header Retry-After in seconds', async () => {
    const { limitedKey } = await withPlan({ requestsPerMinute: 2 })
    const since = Date.now()
    await call('/me', { key: limitedKey })
    await call('/me', { key: limitedKey })
    const refused = await call('/me', { key: limitedKey })
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } })
    const wait = Number(refused.headers.get('retry-after'))
    // A minute after the first request, seen from the third.
    expect(wait).toBeGreaterThanOrEqual(60 - (Date.now() - since) / 1_000)
    expect(wait).toBeLessThanOrEqual(61)
  })
  test('429 QUOTA_EXCEEDED: monthly quota used up; quota, used, resetsAt', async () => {
    const { limitedKey } = await withPlan({ requestsPerMonth: 2 })
    await call('/me', { key: limitedKey })
    expect((await call('/me', { key: limitedKey })).body.quota).toMatchObject({ used: 2, quota: 2, remaining: 0 })
    const before = Date.now()
    const refused = await call('/me', { key: limitedKey })
    const after = Date.now()
    const resetsAt = refused.body.resetsAt
    expect(refused).toMatchObject({ status: 429, body: { code: 'QUOTA_EXCEEDED', quota: 2, used: 2 } })
    expect(resetsAt).toEndWith('-01T00:00:00.000Z')
    const wait = Number(refused.headers.get('retry-after'))
    expect(wait).toBeGreaterThanOrEqual((Date.parse(resetsAt) - after) / 1_000)
    expect(wait).toBeLessThanOrEqual((Date.parse(resetsAt) - before) / 1_000 + 1)
  })
  test('500 INTERNAL: what is known of the outcome, and Retry-After', async () => {
    const broken = await startTestService({ limits: { queuedMsMax: 150 } })
    try {
      const other = await broken.agency()
      const { secret } = await broken.key(other)
      await broken.unit(other, { slug: 'sea-view' })
      await broken.database.sql`alter table booking rename to booking_away`
      const read = await broken.call('/bookings', { key: secret })
      expect(read).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
      expect(read.body.title).toBe('The database did not answer. Try again')
      expect(Number(read.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(JSON.stringify(read.body)).not.toMatch(/relation|booking_away|select/)
      expect(broken.logged).toHaveLength(1)
      expect(broken.bugs).toEqual([])
    } finally {
      await broken.close()
    }
  })

  test('the 409 codes occur only on POST /bookings: a quote of the same stays is 200 with available false', async () => {
    await guestInHouse()
    for (const [arrival, departure, reasons] of [
      ['2027-03-02', '2027-03-04', ['BOOKING_CONFLICT']],
      ['2027-03-04', '2027-03-06', ['TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT']],
      ['2027-03-07', '2027-03-12', ['EXPECTED_EXTENSION_CONFLICT']],
    ] as const)
      expect(await quote(arrival, departure)).toMatchObject({ status: 200, body: { available: false, reasons } })
  })
  test('checks run in order: minimum stay, cleaning block, announced extension, hard night guard', async () => {
    await guestInHouse()
    const codeOf = async (arrival: string, departure: string) => (await post(arrival, departure)).body.code
    expect(await codeOf('2027-03-03', '2027-03-04')).toBe('MIN_STAY')
    expect(await codeOf('2027-03-04', '2027-03-06')).toBe('TURNOVER_BLOCK_CONFLICT')
    expect(await codeOf('2027-03-06', '2027-03-12')).toBe('EXPECTED_EXTENSION_CONFLICT')
    expect(await codeOf('2027-03-03', '2027-03-12')).toBe('EXPECTED_EXTENSION_CONFLICT')
    expect(await codeOf('2027-03-02', '2027-03-04')).toBe('BOOKING_CONFLICT')
  })
  test('repeated cancel is not an error', async () => {
    const { id } = (await post('2027-03-01', '2027-03-04')).body.booking
    for (let i = 0; i < 3; i++) expect((await call(`/bookings/${id}/cancel`, { method: 'POST' })).status).toBe(200)
  })
})

describe('Order of checks: 401 → FEATURE_DISABLED → RATE_LIMITED → QUOTA_EXCEEDED → SCOPE_MISSING → 400 → 404 → 422 → 409', () => {
  const wrongInEveryWay = (key: string | null) =>
    call('/bookings', { key, raw: '{', headers: { 'content-type': 'text/plain' } })

  test('each hides the ones behind it', async () => {
    expect((await wrongInEveryWay('hr_live_none')).body.code).toBe('UNAUTHORIZED')

    const { limited } = await withPlan({ apiAccess: false, requestsPerMinute: 1, requestsPerMonth: 1 })
    const bare = (await service.key(limited, { scopes: [] })).secret
    expect((await wrongInEveryWay(bare)).body.code).toBe('FEATURE_DISABLED')
    expect((await wrongInEveryWay(bare)).body.code).toBe('FEATURE_DISABLED')

    const quick = await withPlan({ requestsPerMinute: 2, requestsPerMonth: 1 })
    const quickKey = (await service.key(quick.limited, { scopes: [] })).secret
    const codes: string[] = []
    for (let i = 0; i < 3; i++) codes.push((await wrongInEveryWay(quickKey)).body.code)
    expect(codes).toEqual(['SCOPE_MISSING', 'QUOTA_EXCEEDED', 'RATE_LIMITED'])

    expect((await wrongInEveryWay(key)).body.code).toBe('VALIDATION')
    expect(
      (await call('/bookings', { json: { unit: 'none', arrival: '2027-03-01', departure: '2027-03-02' } })).body.code,
    ).toBe('NOT_FOUND')
  })
  test('an unknown route is 404 whatever the key', async () => {
    for (const any of [null, 'hr_live_none', key]) expect((await call('/none', { key: any })).status).toBe(404)
  })
})

describe('Limits', () => {
  const remaining = ({ headers }: HttpAnswer) => Number(headers.get('x-ratelimit-remaining'))

  test('requests per minute: 600 at once on one key, exactly the budget passes', async () => {
    const { limitedKey } = await withPlan({ requestsPerMinute: 60 })
    const answers = await Promise.all(Array.from({ length: 600 }, () => call('/me', { key: limitedKey })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(540)
  })
  test('requests per minute: each key has its own budget', async () => {
    const { limited, limitedKey } = await withPlan({ requestsPerMinute: 1 })
    const other = (await service.key(limited)).secret
    expect((await call('/me', { key: limitedKey })).status).toBe(200)
    expect((await call('/me', { key: limitedKey })).status).toBe(429)
    expect((await call('/me', { key: other })).status).toBe(200)
  })
  test('A1: a key whose agency reads too much books, quotes and looks up all the same; only what may be large is refused', async () => {
    service.ledger.access.takeParts(agency.id, 1_000_000)
    const small = await Promise.all([
      call('/me'),
      call('/units/sea-view'),
      call('/availability?unit=sea-view&from=2027-03-01&to=2027-03-10'),
      quote('2027-03-01', '2027-03-05'),
      post('2027-03-01', '2027-03-05'),
    ])
    expect(small.map(({ status }) => status)).toEqual([200, 200, 200, 200, 201])
    const { id } = small[4].body.booking
    expect((await call(`/bookings/${id}/cancel`, { method: 'POST' })).status).toBe(200)
    const large = Object.entries(ROUTE_BOUNDS).flatMap(([route, bound]) => {
      const [, path] = /^GET \/partner\/v1(\/.+)$/.exec(route) ?? []
      const isLarge =
        path !== undefined && path !== '/availability' && !('none' in bound) && bound.includes('largeAnswers')
      return isLarge ? [path.replace('{id}', id)] : []
    })
    const answers = await Promise.all(large.map(async (path) => [path, (await call(path)).status]))
    expect(answers).toEqual(large.map((path) => [path, 429]))
    expect(large).toContain('/units')
    // What a tool is asked for is in the body, which comes too late.
    expect((await service.mcp(key, { jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(429)
  })
  test('requests per month: 200 in parallel at 49,990 of 50,000 let exactly 10 pass, whatever the key', async () => {
    const { limited, limitedKey } = await withPlan({ requestsPerMonth: 50_000 })
    const other = (await service.key(limited)).secret
    const month = new Date().toISOString().slice(0, 7)
    service.ledger.usage.load([{ agencyId: limited.id, month, used: 49_990 }])
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => call('/me', { key: i % 2 ? limitedKey : other })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ body }) => body.code === 'QUOTA_EXCEEDED')).toHaveLength(190)
  })
  test('a refused 429 costs no quota; every other authenticated request costs one', async () => {
    const { limitedKey } = await withPlan({ requestsPerMinute: 4 })
    for (const path of ['/units', '/units/none', '/bookings?page=0']) await call(path, { key: limitedKey })
    expect((await call('/me', { key: limitedKey })).body.quota.used).toBe(4)
    expect((await call('/me', { key: limitedKey })).status).toBe(429)
  })
  test('rate headers on every answer to a key, of any status', async () => {
    const { secret: narrow } = await service.key(agency, { scopes: ['write:bookings'] })
    const booking = { unit: 'sea-view', arrival: '2027-03-01', departure: '2027-03-04' }
    const seen: number[] = []
    const since = Math.floor(Date.now() / 1_000)
    const answers = [
      await call('/bookings', { key: narrow, json: booking }),
      await call('/me', { key: narrow }),
      await call('/bookings', { key: narrow, json: {} }),
      await call('/units', { key: narrow }),
      await call('/none', { key: narrow }),
      await call('/bookings', { key: narrow, json: booking }),
      await call('/bookings', { key: narrow, json: { ...booking, departure: '2027-03-02' } }),
      await call('/bookings', { key: narrow, raw: ' '.repeat(70_000) }),
    ]
    for (const answer of answers) {
      const { headers } = answer
      seen.push(answer.status)
      expect(headers.get('x-ratelimit-limit')).toBe(String(agency.plan.requestsPerMinute))
      expect(Number(headers.get('x-ratelimit-reset'))).toBeWithin(since + 59, Date.now() / 1_000 + 61)
      expect(headers.get('ratelimit-policy')).toBe(`"minute";q=${agency.plan.requestsPerMinute};w=60`)
      expect(headers.get('ratelimit')).toMatch(new RegExp(`^"minute";r=${remaining(answer)};t=([1-5]?\\d|60)$`))
    }
    expect(seen).toEqual([201, 200, 400, 403, 404, 409, 422, 413])
    expect(answers.map(remaining)).toEqual(answers.map((_, i) => agency.plan.requestsPerMinute - 1 - i))
  })
})

describe('Conventions', () => {
  test('bodies are application/json', async () => {
    expect((await call('/me')).headers.get('content-type')).toBe('application/json')
    expect((await call('/none')).headers.get('content-type')).toBe('application/json')
  })
  test('CORS is open on every answer, and no cookies are used', async () => {
    for (const answer of [
      await call('/me'),
      await call('/me', { key: null }),
      await call('/none'),
      await call('/openapi.json'),
    ]) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*')
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false)
      expect(answer.headers.has('set-cookie')).toBe(false)
      expect(answer.headers.get('access-control-expose-headers')).toContain('X-RateLimit-Remaining')
    }
  })
  test('a preflight needs no key, and allows what a browser client sends', async () => {
    const { status, headers } = await call('/bookings', {
      key: null,
      method: 'OPTIONS',
      headers: {
        origin: 'https://partner.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, content-type, idempotency-key',
      },
    })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-methods')).toContain('POST')
    expect(headers.get('access-control-allow-headers')?.toLowerCase()).toContain('idempotency-key')
    expect(headers.has('access-control-allow-credentials')).toBe(false)
    expect(headers.get('x-request-id')).toBeTruthy()
  })
  test('X-Request-Id is taken over if it is sane, else made; also in error bodies', async () => {
    const given = await call('/units/none', { headers: { 'x-request-id': 'trace-1' } })
    expect([given.headers.get('x-request-id'), given.body.requestId]).toEqual(['trace-1', 'trace-1'])
    const made = await call('/units/none', { headers: { 'x-request-id': 'a b' } })
    expect(made.headers.get('x-request-id')).toStartWith('req_')
    expect(made.body.requestId).toBe(made.headers.get('x-request-id'))
  })
  test('HEAD answers as GET does, without the body', async () => {
    const answer = await call('/units', { method: 'HEAD' })
    expect([answer.status, answer.body]).toEqual([200, null])
    expect((await call('/units/none', { method: 'HEAD' })).status).toBe(404)
  })
})
