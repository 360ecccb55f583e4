/** Sandboxes (docs/partner-additions.md#12-sandbox): a test per sentence. What separates them from live agencies is in sandbox-isolation. */
import { beforeAll, describe, expect, test } from 'bun:test'
import type { Agency } from '../../src/core/catalogue/agency.ts'
import { idInShard, shardOf } from '../../src/core/journal/shard.ts'
import { DAY_MS, HOUR_MS, systemClock } from '../../src/lib/clock.ts'
import { uuidOf } from '../../src/lib/ids.ts'
import { eventually } from '../support/eventually.ts'
import type { HttpAnswer } from '../support/http-call.ts'
import { sharedTestService } from '../support/test-service.ts'

const service = await sharedTestService()

interface Made {
  readonly live: Agency
  readonly slug: string
  readonly key: string
  call(path: string, json?: unknown, headers?: Record<string, string>): Promise<HttpAnswer>
  now(): Promise<number>
  /** Moves the time and waits until it is there. */
  advance(ms: number): Promise<void>
}

const SCOPES = ['read:units', 'read:availability', 'read:rates', 'read:bookings', 'read:guests', 'write:bookings']

async function keyOf(slug: string): Promise<string> {
  const { body } = await service.ask(`/agencies/${slug}/keys`, { name: 'Partner', scopes: SCOPES })
  return String(body['secret'])
}

async function makeSandbox(): Promise<Made> {
  const live = await service.agency()
  await service.unit(live, { slug: 'sea-view', checkinTime: '15:00' })
  const made = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
  expect(made).toMatchObject({ status: 201, body: { agency: { slug: `${live.slug}-sandbox`, sandboxOf: live.id } } })
  const slug = String((made.body['agency'] as { slug: string }).slug)
  const key = await keyOf(slug)
  const call: Made['call'] = (path, json, headers = {}) =>
    service.call(path, { key, headers, ...(json === undefined ? {} : { json }) })
  const now = async () => Date.parse(String((await call('/test/clock')).body['now']))
  return {
    live,
    slug,
    key,
    call,
    now,
    advance: async (ms) => {
      expect(await call('/test/clock', { advanceSeconds: ms / 1_000 })).toMatchObject({
        status: 202,
        body: { status: 'advancing' },
      })
      await eventually('the move is over', async () => (await call('/test/clock')).body['status'] === 'ready')
    },
  }
}

const STAY = { unit: 'sea-view', arrival: '2028-07-03', departure: '2028-07-06' }
const bookingOf = ({ body }: HttpAnswer) => body['booking'] as { id: string; status: string; [name: string]: unknown }

describe('a sandbox', () => {
  test('has the units and fees of the live agency, with invented guests and stays; the second one is 409', async () => {
    const live = await service.agency()
    await service.unit(live, { slug: 'sea-view', registrationNumber: 'AL 7' })
    await service.ask(`/agencies/${live.slug}/fee-types`, { label: 'City tax', kind: 'fixed', amount: 800 })
    await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
    const slug = `${live.slug}-sandbox`
    const key = await keyOf(slug)
    const units = (await service.call('/units', { key })).body['units'] as object[]
    expect(units).toMatchObject([{ slug: 'sea-view', registrationNumber: 'AL 7' }])
    expect((await service.call('/fee-types', { key })).body['feeTypes']).toMatchObject([
      { label: 'City tax', amount: 800 },
    ])
    const bookings = (await service.call('/bookings', { key })).body['bookings'] as object[]
    expect(bookings).toMatchObject([{ source: 'sandbox', type: 'guest' }])
    expect(await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })).toMatchObject({
      status: 409,
      body: { code: 'SANDBOX_EXISTS', slug },
    })
    expect(await service.ask(`/agencies/${slug}/sandbox`, undefined, { method: 'POST' })).toMatchObject({ status: 409 })
  })

  test('has keys that begin with hr_test_, 10,000 requests a month, and X-Mode: test on every answer', async () => {
    const { key, call } = await makeSandbox()
    expect(key).toStartWith('hr_test_')
    const me = await call('/me')
    expect(me.body).toMatchObject({ quota: { quota: 10_000 } })
    const refused = [
      await call('/units/none'),
      await call('/bookings', {}),
      await call('/nothing'),
      await call('/units/%zz'),
    ]
    for (const answer of [me, ...refused, await call('/units')]) {
      expect(answer.headers.get('x-mode')).toBe('test')
      expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toContain('X-Mode')
    }
    const tag = (await call('/units')).headers.get('etag') ?? ''
    const unchanged = await call('/units', undefined, { 'if-none-match': tag })
    expect([unchanged.status, unchanged.headers.get('x-mode')]).toEqual([304, 'test'])
    const tools = await service.mcp(key, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
    expect(tools.headers.get('x-mode')).toBe('test')
  })

  test('of a live key, no answer has an X-Mode', async () => {
    const live = await service.agency()
    const { secret } = await service.key(live)
    for (const path of ['/me', '/nothing'])
      expect((await service.call(path, { key: secret })).headers.has('x-mode')).toBe(false)
  })

  test('is opened by owners of the live agency and by no other of its people', async () => {
    const { live, slug } = await makeSandbox()
    const status = async (role: string) => {
      const { body } = await service.ask(`/agencies/${live.slug}/access-tokens`, { name: role, role })
      const answer = await service.ask(`/agencies/${slug}/units`, undefined, { token: String(body['secret']) })
      return answer.status
    }
    expect([await status('owner'), await status('manager'), await status('viewer')]).toEqual([200, 404, 404])
    const other = await service.agency()
    const { body } = await service.ask(`/agencies/${other.slug}/access-tokens`, { name: 'x', role: 'owner' })
    const token = String(body['secret'])
    expect((await service.ask(`/agencies/${slug}/units`, undefined, { token })).status).toBe(404)
  })

  test('has no access tokens of its own, and is in no list of agencies', async () => {
    const { slug } = await makeSandbox()
    const made = await service.ask(`/agencies/${slug}/access-tokens`, { name: 'x', role: 'viewer' })
    expect(made).toMatchObject({ status: 403, body: { code: 'FEATURE_DISABLED' } })
    expect((await service.get('/agencies?pageSize=200')).text).not.toContain(slug)
  })

  test('that is reset keeps its keys, and loses stays, guests, the feed and the time', async () => {
    const { live, slug, call, advance } = await makeSandbox()
    const { cursor } = (await call('/changes')).body as { cursor: string }
    const guest = { firstName: 'Mara', lastName: 'Kruse', email: 'mara@example.org' }
    const { id } = bookingOf(await call('/bookings', { ...STAY, guest }))
    await advance(40 * DAY_MS)
    const { body } = await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    expect(body).toMatchObject({ agency: { slug, sandboxOf: live.id } })
    expect((await call(`/bookings/${id}`)).status).toBe(404)
    expect((await call(`/changes?after=${cursor}`)).status).toBe(410)
    expect((await call('/bookings', STAY)).status).toBe(201)
    const now = Date.parse(String((await call('/test/clock')).body['now']))
    expect(Math.abs(now - systemClock.now())).toBeLessThan(10 * DAY_MS)
    const [left] = await service.database.sql<{ guests: number }[]>`
      select count(*)::int as guests from guest where last_name = 'Kruse'`
    expect(left?.guests).toBe(0)
  })

  test('that is reset gets the limit per minute and the lifetime of holds that the live agency has then', async () => {
    const { live, slug } = await makeSandbox()
    await service.patch(`/agencies/${live.slug}`, { plan: { requestsPerMinute: 4_000 }, defaultHoldHours: 7 })
    const { body } = await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    const plan = { apiAccess: true, requestsPerMinute: 4_000, requestsPerMonth: 10_000 }
    expect(body.agency).toMatchObject({ plan, defaultHoldHours: 7 })
    expect((await service.get(`/agencies/${slug}`)).body.agency).toMatchObject({ plan, defaultHoldHours: 7 })
  })

  test('is suspended by its own slug, not with its agency', async () => {
    const { live, slug, call } = await makeSandbox()
    const suspend = (which: string) => service.patch(`/agencies/${which}`, { status: 'suspended' })
    expect([(await suspend(live.slug)).status, (await call('/me')).status]).toEqual([200, 200])
    expect([(await suspend(slug)).status, (await call('/me')).status]).toEqual([200, 401])
  })

  test('that is reset has used as much of the month as before', async () => {
    const { live, call } = await makeSandbox()
    const used = async () => (await call('/me')).body['quota'] as { used: number }
    await used()
    const before = await used()
    await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    expect((await used()).used).toBe(before.used + 1)
  })

  test('takes no cursor of an agency that is there, and tells the holder of one of a former sandbox to begin again', async () => {
    const { live, slug, call } = await makeSandbox()
    const other = await makeSandbox()
    const { secret } = await service.key(live, { scopes: ['read:bookings'] })
    const cursorOf = (answer: HttpAnswer) => String(answer.body['cursor'])
    const own = cursorOf(await call('/changes'))
    const ofLive = cursorOf(await service.call('/changes', { key: secret }))
    const foreign = [ofLive, cursorOf(await other.call('/changes'))]
    const status = async (cursor: string, json?: Record<string, string>) =>
      (await call(`/changes?after=${cursor}`, undefined, json)).status
    const inPortal = async (of: string, cursor: string) =>
      (await service.get(`/agencies/${of}/changes?after=${cursor}`)).status
    const portals = async (of: string) => cursorOf(await service.get(`/agencies/${of}/changes`))
    const [portalOwn, portalLive] = [await portals(slug), await portals(live.slug)]
    expect([await status(own), await inPortal(slug, portalOwn)]).toEqual([200, 200])
    expect(await Promise.all(foreign.map((cursor) => status(cursor)))).toEqual([400, 400])
    expect(await status(own, { accept: 'text/event-stream', 'last-event-id': ofLive })).toBe(400)
    expect((await service.call(`/changes?after=${own}`, { key: secret })).status).toBe(400)
    expect(await inPortal(slug, portalLive)).toBe(400)

    await service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    expect([await status(own), await inPortal(slug, portalOwn), await inPortal(slug, portalLive)]).toEqual([
      410, 410, 400,
    ])
    expect(await Promise.all(foreign.map((cursor) => status(cursor)))).toEqual([400, 400])
    await service.delete(`/agencies/${live.slug}/sandbox`)
    await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
    const again = await keyOf(slug)
    expect((await service.call(`/changes?after=${own}`, { key: again })).status).toBe(410)
  })

  test('whose reset was made but not answered is the new one after the next reset, with the same keys', async () => {
    const { live, slug, call } = await makeSandbox()
    const { catalogue, sandboxRows } = service.ledger
    const former = catalogue.sandboxOf(live.id) as Agency
    const line = {
      auditId: service.ledger.newId('aud'),
      at: systemClock.now(),
      actor: { kind: 'portal', id: null },
      route: 'POST /portal/v1/agencies/{agencySlug}/sandbox/reset',
      outcome: 'OK',
      bookingId: null,
      requestId: null,
      count: 1,
    } as const
    const id = idInShard(shardOf(live.id), service.ledger.newId)
    expect(await sandboxRows.end(former, { id, at: systemClock.now() }, line)).toBe(true)
    const reset = () => service.ask(`/agencies/${live.slug}/sandbox/reset`, undefined, { method: 'POST' })
    const first = await reset()
    expect([first.status, first.body['title']]).toEqual([500, expect.stringContaining('repeat the request')])
    expect(catalogue.agencyBySlug(slug)?.id).toBe(id)
    expect((await reset()).status).toBe(200)
    expect((await call('/units')).body['units']).toHaveLength(1)
  })

  test('that is deleted takes its keys along, and can be made again', async () => {
    const { live, call } = await makeSandbox()
    expect((await service.delete(`/agencies/${live.slug}/sandbox`)).status).toBe(200)
    expect((await call('/me')).status).toBe(401)
    expect((await service.delete(`/agencies/${live.slug}/sandbox`)).status).toBe(404)
    const again = await service.ask(`/agencies/${live.slug}/sandbox`, undefined, { method: 'POST' })
    expect(again).toMatchObject({ status: 201, body: { agency: { slug: `${live.slug}-sandbox` } } })
  })
})

test('the pending deliveries of a sandbox are dropped when it is deleted, and those of its live agency are not', async () => {
  const { live } = await makeSandbox()
  const { sql } = service.database
  const statuses: Record<string, string> = {}
  const ids = Object.entries({ live: live.id, sandbox: service.ledger.catalogue.sandboxOf(live.id)?.id ?? '' })
  for (const [, id] of ids)
    await sql`
      insert into webhook_delivery (agency_id, delivery_id, month, endpoint_id, event_id, kind, status, next_attempt_at, created_at)
      values (${uuidOf(id)}, gen_random_uuid(), storage_month(now()), gen_random_uuid(), gen_random_uuid(), 'ping', 'pending', now(), now())`
  expect((await service.delete(`/agencies/${live.slug}/sandbox`)).status).toBe(200)
  for (const [name, id] of ids)
    for (const { status } of await sql`select status from webhook_delivery where agency_id = ${uuidOf(id)}`)
      statuses[name] = status
  expect(statuses).toEqual({ live: 'pending', sandbox: 'dropped' })
})

describe('the time of a sandbox', () => {
  test('stands still, and is where it was moved to', async () => {
    const { now, advance, call } = await makeSandbox()
    const before = await now()
    expect(await now()).toBe(before)
    await advance(HOUR_MS)
    expect(await now()).toBe(before + HOUR_MS)
    const to = new Date(before + DAY_MS).toISOString()
    expect((await call('/test/clock', { now: to })).status).toBe(202)
    await eventually('the move is over', async () => (await now()) === before + DAY_MS)
  })

  test('is refused to a live key, backwards, and beyond 800 days; the title says what would pass', async () => {
    const { live, call, now } = await makeSandbox()
    const { secret } = await service.key(live)
    expect(await service.call('/test/clock', { key: secret })).toMatchObject({
      status: 403,
      body: { code: 'FEATURE_DISABLED' },
    })
    expect(await service.call('/test/clock', { key: secret, json: { advanceSeconds: 1 } })).toMatchObject({
      status: 403,
    })
    const before = new Date((await now()) - 1).toISOString()
    const backwards = await call('/test/clock', { now: before })
    expect([backwards.status, backwards.body['title']]).toEqual([
      400,
      expect.stringContaining('now must not be before'),
    ])
    const far = new Date((await now()) + 801 * DAY_MS).toISOString()
    expect(await call('/test/clock', { now: far })).toMatchObject({ status: 400 })
    expect(await call('/test/clock', { advanceSeconds: 801 * 86_400 })).toMatchObject({ status: 400 })
    for (const json of [{}, { now: far, advanceSeconds: 1 }]) expect((await call('/test/clock', json)).status).toBe(400)
  })

  test('releases each hold at its own moment, in order, with its event; those of others stay', async () => {
    const { call, now, advance } = await makeSandbox()
    const other = await makeSandbox()
    const theirs = bookingOf(await other.call('/bookings', { ...STAY, status: 'option', holdHours: 1 }))
    const start = await now()
    const { cursor } = (await call('/changes')).body as { cursor: string }
    const hold = async (arrival: string, departure: string, holdHours: number) =>
      bookingOf(await call('/bookings', { unit: 'sea-view', arrival, departure, status: 'option', holdHours })).id
    const late = await hold('2028-08-01', '2028-08-05', 48)
    const early = await hold('2028-09-01', '2028-09-05', 24)
    const last = await hold('2028-10-01', '2028-10-05', 72)
    await advance(3 * DAY_MS - HOUR_MS)
    const { changes } = (await call(`/changes?after=${cursor}`)).body as {
      changes: { event: string; occurredAt: string; data: { id: string } }[]
    }
    const cancelled = changes.filter(({ event }) => event === 'booking.cancelled')
    expect(
      cancelled
        .filter(({ data }) => [late, early, last].includes(data.id))
        .map(({ data, occurredAt }) => [data.id, Date.parse(occurredAt) - start]),
    ).toEqual([
      [early, DAY_MS],
      [late, 2 * DAY_MS],
    ])
    expect(bookingOf(await call(`/bookings/${last}`)).status).toBe('option')
    expect(bookingOf(await other.call(`/bookings/${theirs.id}`)).status).toBe('option')
  })

  test('is that of what is made, and a hold is not released by real time', async () => {
    const { call, advance, now } = await makeSandbox()
    await advance(300 * DAY_MS)
    const at = await now()
    const booking = bookingOf(await call('/bookings', { ...STAY, status: 'option', holdHours: 5 }))
    expect(Date.parse(String(booking['createdAt']))).toBe(at)
    expect(Date.parse(String(booking['holdExpiresAt']))).toBe(at + 5 * HOUR_MS)
  })

  test('expires answers kept for an Idempotency-Key after a day', async () => {
    const { call, advance } = await makeSandbox()
    const header = { 'idempotency-key': 'same' }
    const first = bookingOf(await call('/bookings', STAY, header))
    await advance(23 * HOUR_MS)
    expect(bookingOf(await call('/bookings', STAY, header)).id).toBe(first.id)
    await advance(2 * HOUR_MS)
    expect((await call('/bookings', STAY, header)).status).toBe(409)
  })

  test('moves the restrictions by notice', async () => {
    const { slug, call, advance, now } = await makeSandbox()
    const put = { advanceNoticeHours: 48 }
    expect((await service.ask(`/agencies/${slug}/units/sea-view/restrictions`, put, { method: 'PUT' })).status).toBe(
      200,
    )
    const arrival = new Date((await now()) + 200 * DAY_MS).toISOString().slice(0, 10)
    const departure = new Date(Date.parse(arrival) + 3 * DAY_MS).toISOString().slice(0, 10)
    const quote = async () => (await call('/quote', { unit: 'sea-view', arrival, departure })).body
    expect(await quote()).toMatchObject({ available: true })
    await advance(199 * DAY_MS)
    expect(await quote()).toMatchObject({ code: 'RESTRICTED', restrictions: [{ rule: 'advanceNoticeHours' }] })
  })
})

describe('webhooks of a sandbox', () => {
  test('carry mode: test, wait for the sandbox’s time after a failure, and come again with a fault on demand', async () => {
    // With a sender: sandbox-webhooks.pg.test.ts.
    const { slug, call } = await makeSandbox()
    const endpoint = await service.ask(`/agencies/${slug}/webhook-endpoints`, { url: 'http://localhost:9/hook' })
    expect(endpoint.status).toBe(201)
    const booking = bookingOf(await call('/bookings', STAY))
    const sent = await call('/test/events', { bookingId: booking.id, kind: 'duplicate' })
    expect(sent).toMatchObject({ status: 202, body: { endpoints: 1 } })
    expect((await call('/test/events', { bookingId: booking.id, kind: 'unknown' })).status).toBe(400)
    expect((await call('/test/events', { bookingId: 'bkg_1', kind: 'late' })).status).toBe(404)
  })
})

describe('faults on demand', () => {
  const REFUSED = [
    ['booking_conflict', 409, 'BOOKING_CONFLICT'],
    ['turnover_block_conflict', 409, 'TURNOVER_BLOCK_CONFLICT'],
    ['expected_extension_conflict', 409, 'EXPECTED_EXTENSION_CONFLICT'],
    ['min_stay', 422, 'MIN_STAY'],
    ['restricted', 422, 'RESTRICTED'],
    ['quote_changed', 412, 'QUOTE_CHANGED'],
    ['rate_limited', 429, 'RATE_LIMITED'],
    ['quota_exceeded', 429, 'QUOTA_EXCEEDED'],
    ['internal', 500, 'INTERNAL'],
  ] as const
  let made: Made
  beforeAll(async () => {
    made = await makeSandbox()
  })
  const countOf = async () => Number((await made.call('/bookings?pageSize=1')).body['totalItems'])

  test.each(REFUSED)('test:%s refuses with %d %s, and books nothing', async (fault, status, code) => {
    const before = await countOf()
    expect(await made.call('/bookings', { ...STAY, sourceRef: `test:${fault}` })).toMatchObject({
      status,
      body: { code },
    })
    expect(await countOf()).toBe(before)
  })

  test('test:quote_changed has the present quote of the stay and party, also of a stay that is too short', async () => {
    const { slug } = made
    const units = `/agencies/${slug}/units/sea-view`
    expect((await service.patch(units, { extraBedFee: 700 })).status).toBe(200)
    const stay = { ...STAY, children: 1, extraBed: true }
    const { quote } = (await made.call('/quote', stay)).body
    expect(quote).toMatchObject({ nights: 3, total: 37_100 })
    const refused = async () => (await made.call('/bookings', { ...stay, sourceRef: 'test:quote_changed' })).body
    expect(await refused()).toMatchObject({ code: 'QUOTE_CHANGED', quote })
    expect((await service.patch(units, { minStay: 9 })).status).toBe(200)
    expect(await refused()).toMatchObject({ code: 'QUOTE_CHANGED', quote })
    expect((await service.patch(units, { minStay: 1 })).status).toBe(200)
  })

  test('test:quota_exceeded says to retry when the quota resets', async () => {
    const { headers, body } = await made.call('/bookings', { ...STAY, sourceRef: 'test:quota_exceeded' })
    const retryAt = systemClock.now() + Number(headers.get('retry-after')) * 1_000
    expect(Math.abs(retryAt - Date.parse(String(body['resetsAt'])))).toBeLessThan(120_000)
  })

  test('come after validation and unknown units, and before the rules', async () => {
    const sourceRef = 'test:internal'
    expect((await made.call('/bookings', { ...STAY, departure: STAY.arrival, sourceRef })).status).toBe(400)
    expect((await made.call('/bookings', { ...STAY, unit: 'none', sourceRef })).status).toBe(404)
    await made.call('/bookings', { ...STAY, arrival: '2028-11-01', departure: '2028-11-04' })
    const taken = { ...STAY, arrival: '2028-11-01', departure: '2028-11-04', sourceRef: 'test:min_stay' }
    expect((await made.call('/bookings', taken)).body['code']).toBe('MIN_STAY')
  })

  test('test:unknown_outcome books and says that the outcome is unknown; a repeat with the same key gets the 201', async () => {
    const stay = { ...STAY, arrival: '2029-01-01', departure: '2029-01-05', sourceRef: 'test:unknown_outcome' }
    const header = { 'idempotency-key': 'unknown' }
    const before = await countOf()
    const first = await made.call('/bookings', stay, header)
    expect([first.status, first.body['title']]).toEqual([500, expect.stringContaining('may or may not have been made')])
    const repeated = await made.call('/bookings', stay, header)
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(await countOf()).toBe(before + 1)
  })

  test('test:disconnect books and closes the connection; a repeat with the same key gets the 201', async () => {
    const stay = { ...STAY, arrival: '2029-02-01', departure: '2029-02-05', sourceRef: 'test:disconnect' }
    const header = { 'idempotency-key': 'cut' }
    const before = await countOf()
    expect(made.call('/bookings', stay, header)).rejects.toThrow()
    await eventually('it is booked', async () => (await countOf()) === before + 1)
    expect((await made.call('/bookings', stay, header)).status).toBe(201)
    expect(await countOf()).toBe(before + 1)
  })

  test('are ordinary references with a live key, in groups, and with other names', async () => {
    const { secret } = await service.key(made.live, { scopes: ['read:bookings', 'write:bookings'] })
    const json = { ...STAY, sourceRef: 'test:internal' }
    expect((await service.call('/bookings', { key: secret, json })).status).toBe(201)
    const free = { ...STAY, arrival: '2029-03-01', departure: '2029-03-05' }
    expect((await made.call('/bookings', { ...free, sourceRef: 'test:other' })).status).toBe(201)
  })
})
