/** `GET /metrics` of the real service: it reports what it should, and nothing about any agency or person. */
import { afterAll, describe, expect, test } from 'bun:test'
import { version } from '../../../package.json'
import { eventually } from '../../support/eventually.ts'
import { AGENCY_SLUG, GUEST, startMeteredService, UNIT_SLUG } from '../../support/metered-service.ts'
import { TEST_PORTAL_TOKEN, TEST_SECRET_KEY } from '../../support/service-process.ts'

const REQUESTS = 'nightledger_http_requests_total'
const DURATION = 'nightledger_http_request_duration_seconds'
const REFUSALS = 'nightledger_key_refusals_total'

const PARTNER = { surface: 'partner', method: 'GET' }
const UNITS = { ...PARTNER, route: '/partner/v1/units' }
const UNIT = { ...PARTNER, route: '/partner/v1/units/{slug}' }
const BOOK = { surface: 'partner', method: 'POST', route: '/partner/v1/bookings' }
const UNKNOWN = { surface: 'none', method: 'any', route: 'unknown' }

// Enough for the tests up to the last, which uses up what is left.
const metered = await startMeteredService({ requestsPerMinute: 60, requestsPerMonth: 40 }, { LOG_LEVEL: 'debug' })
afterAll(() => metered.close())

/** How much each sample has grown. */
async function growth(
  during: () => Promise<unknown>,
): Promise<(name: string, labels?: Record<string, string>) => number> {
  const before = await metered.scrape()
  await during()
  const after = await metered.scrape()
  return (name, labels) => after.value(name, labels) - before.value(name, labels)
}

function stay(arrival: string, departure: string) {
  return { unit: UNIT_SLUG, arrival, departure, adults: 2, guest: GUEST }
}

describe('requests', () => {
  test('move the counter of their route and status by exactly one each, and no other', async () => {
    const before = await metered.scrape()
    for (let i = 0; i < 3; i++) await metered.partner('/units')
    await metered.partner(`/units/${UNIT_SLUG}`)
    await metered.partner('/units/not-there')
    const after = await metered.scrape()
    const moved = new Map<string, number>()
    for (const { labels, value } of after.samplesOf(REQUESTS)) {
      const by = value - before.value(REQUESTS, labels)
      if (by !== 0) moved.set(`${labels['method']} ${labels['route']} ${labels['status']}`, by)
    }
    expect(Object.fromEntries(moved)).toEqual({
      'GET /partner/v1/units 200': 3,
      [`GET ${UNIT.route} 200`]: 1,
      [`GET ${UNIT.route} 404`]: 1,
      // The scrape before.
      'GET /metrics 200': 1,
    })
    expect(after.countOf(DURATION, UNITS) - before.countOf(DURATION, UNITS)).toBe(3)
    expect(after.countOf(DURATION, UNIT) - before.countOf(DURATION, UNIT)).toBe(2)
  })

  test('that lead nowhere are one series, whatever they asked for', async () => {
    const before = await metered.scrape()
    for (const path of ['/nothing', '/partner/v1/nothing', '/nothing/else?key=value', '/partner/v1/units/a/b'])
      await fetch(metered.service.baseUrl + path)
    const after = await metered.scrape()
    expect(
      after.value(REQUESTS, { ...UNKNOWN, status: '404' }) - before.value(REQUESTS, { ...UNKNOWN, status: '404' }),
    ).toBe(4)
    expect(after.text).not.toContain('nothing')
  })

  test('of every surface are counted: portal, MCP, docs, preflights, probes', async () => {
    const base = metered.service.baseUrl
    const grew = await growth(async () => {
      await metered.portal(`/agencies/${AGENCY_SLUG}`)
      await fetch(`${base}/mcp`, { method: 'POST', body: '{}' })
      await fetch(`${base}/mcp`, { method: 'OPTIONS' })
      await fetch(`${base}/mcp`, { method: 'PUT' })
      await fetch(`${base}/docs`)
      await fetch(`${base}/partner/v1/units`, { method: 'OPTIONS' })
      await fetch(`${base}/portal/v1/agencies/${AGENCY_SLUG}/units/${UNIT_SLUG}/calendar.ics?token=x`)
      await fetch(`${base}/healthz`)
      await fetch(`${base}/readyz`)
    })
    const counted = (surface: string, method: string, route: string, status: string) =>
      grew(REQUESTS, { surface, method, route, status })
    expect([
      counted('portal', 'GET', '/portal/v1/agencies/{agencySlug}', '200'),
      counted('mcp', 'POST', '/mcp', '401'),
      counted('mcp', 'OPTIONS', '/mcp', '204'),
      counted('mcp', 'any', '/mcp', '405'),
      counted('docs', 'GET', '/docs', '200'),
      counted('partner', 'OPTIONS', '/partner/v1/*', '204'),
      counted('portal', 'GET', '/portal/v1/agencies/{agencySlug}/units/{unitSlug}/calendar.ics', '404'),
      counted('operating', 'GET', '/healthz', '200'),
      counted('operating', 'GET', '/readyz', '200'),
    ]).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1])
  })
})

describe('a booking', () => {
  test('is counted wherever it passes: route, journal, unit, webhook; the conflict after it is one more batch, for its audit line', async () => {
    const before = await metered.scrape()
    expect(await metered.partner('/bookings', stay('2027-05-01', '2027-05-04'))).toBe(201)
    expect(await metered.partner('/bookings', stay('2027-05-02', '2027-05-05'))).toBe(409)
    const delivered = { outcome: 'delivered' }
    await eventually(
      'it was delivered',
      async () => (await metered.scrape()).value('nightledger_webhook_attempts_total', delivered) > 0,
    )
    const after = await metered.scrape()
    const grew = (name: string, labels?: Record<string, string>) =>
      after.value(name, labels) - before.value(name, labels)
    expect([grew(REQUESTS, { ...BOOK, status: '201' }), grew(REQUESTS, { ...BOOK, status: '409' })]).toEqual([1, 1])
    expect(grew('nightledger_journal_entries_total')).toBe(1)
    const batches = 'nightledger_journal_batch_records'
    // What was used of the quota is written twice a second as well.
    expect(after.countOf(batches) - before.countOf(batches)).toBeGreaterThanOrEqual(2)
    const appends = 'nightledger_journal_append_duration_seconds'
    expect(after.countOf(appends) - before.countOf(appends)).toBe(after.countOf(batches) - before.countOf(batches))
    expect(after.value('nightledger_units_resident')).toBe(1)
    expect(grew('nightledger_webhook_attempts_total', delivered)).toBe(1)
    await eventually(
      'nothing is pending',
      async () => (await metered.scrape()).value('nightledger_webhook_deliveries_pending') === 0,
    )
  })

  test('whose webhook is refused leaves a delivery pending, and the attempt under its outcome', async () => {
    metered.receiver.answer = () => new Response(null, { status: 500 })
    expect(await metered.partner('/bookings', stay('2027-06-01', '2027-06-04'))).toBe(201)
    const refused = async () =>
      (await metered.scrape()).value('nightledger_webhook_attempts_total', { outcome: 'status' })
    await eventually('it was refused', async () => (await refused()) === 1)
    expect((await metered.scrape()).value('nightledger_webhook_deliveries_pending')).toBe(1)
  })
})

describe('the writer', () => {
  test('is idle, of the epoch that the fence says, with its database up', async () => {
    const page = await metered.scrape()
    expect(page.value('nightledger_database_up')).toBe(1)
    expect(page.value('nightledger_writer_epoch')).toBe(page.value('nightledger_fence_epoch'))
    await eventually(
      'the journal is idle',
      async () => (await metered.scrape()).value('nightledger_journal_state', { state: 'idle' }) === 1,
    )
    expect(page.value('nightledger_webhook_sender_up')).toBe(1)
  })

  test('tells of its process what a machine would: memory, CPU time, when it began, how late its timers are', async () => {
    const page = await metered.scrape()
    expect(page.value('nightledger_process_resident_memory_bytes')).toBeWithin(20e6, 2e9)
    // Microseconds taken for seconds would be a million at least.
    expect(page.value('nightledger_process_cpu_seconds_total', { mode: 'user' })).toBeWithin(0.01, 100_000)
    const ageS = Date.now() / 1_000 - page.value('nightledger_process_start_time_seconds')
    // Bun begins one of its two clocks again with each test file: no older than the older one says.
    expect(ageS).toBeWithin(0, Math.max(process.uptime(), performance.now() / 1_000) + 60)
    await eventually(
      'timers were sampled',
      async () => (await metered.scrape()).countOf('nightledger_event_loop_delay_seconds') > 0,
    )
    expect(page.value('nightledger_build_info', { version, commit: 'source', bun: Bun.version })).toBe(1)
  })
})

describe('keys that are refused', () => {
  test('are counted by the reason, and known by nothing else', async () => {
    const grew = await growth(async () => {
      expect(await metered.partner('/units', undefined, null)).toBe(401)
      expect(await metered.partner('/units', undefined, `nlk_${'x'.repeat(40)}`)).toBe(401)
    })
    expect([grew(REFUSALS, { reason: 'unauthorized' }), grew(REQUESTS, { ...UNITS, status: '401' })]).toEqual([2, 2])
  })

  test('for their quota of the month, or their budget of the minute, are counted apart', async () => {
    const grew = await growth(async () => {
      const statuses: number[] = []
      while (statuses.length < 80) statuses.push(await metered.partner('/units'))
      expect(statuses.at(-1)).toBe(429)
    })
    const [quota, rate] = [grew(REFUSALS, { reason: 'quota_exceeded' }), grew(REFUSALS, { reason: 'rate_limited' })]
    expect(quota).toBeGreaterThan(0)
    expect(rate).toBeGreaterThan(0)
    expect(grew(REQUESTS, { ...UNITS, status: '429' })).toBe(quota + rate)
  })
})

describe('no agency and no person', () => {
  /** After all of the above. */
  const forbidden = () => [
    ...[AGENCY_SLUG, UNIT_SLUG, GUEST.firstName, GUEST.lastName, GUEST.email, 'Harbour', 'Unmentionable'],
    ...[metered.key, metered.key.slice(0, 12), metered.webhookSecret, TEST_PORTAL_TOKEN, TEST_SECRET_KEY],
    ...[`127.0.0.1:${metered.receiver.port}`, new URL(metered.database.url).password || 'postgres://', 'postgres://'],
  ]

  test('is on the page: no agency, unit, guest, key, secret or address', async () => {
    const { text } = await metered.scrape()
    expect(forbidden().filter((word) => text.includes(word))).toEqual([])
    expect(text).not.toMatch(/\b(agc|unt|bkg|gst|key|whe|evt|req)_[0-9a-f]/)
  })

  test('is in the log at debug, but for the ids of agency and key', async () => {
    const log = metered.service.log()
    expect(forbidden().filter((word) => log.includes(word))).toEqual([])
    expect(log).not.toContain('token=')
  })
})

describe('the log at debug', () => {
  test('has one line for each request, with its id as it was answered', async () => {
    const response = await fetch(`${metered.service.baseUrl}/partner/v1/units/abc?secret=1`, {
      headers: { authorization: `Bearer ${metered.key}`, 'x-request-id': 'trace-of-mine' },
    })
    expect(response.headers.get('x-request-id')).toBe('trace-of-mine')
    const lines = () =>
      metered.service
        .log()
        .split('\n')
        .filter((line) => line.includes('trace-of-mine'))
    await eventually('it is logged', () => lines().length > 0)
    expect(lines().map((line) => JSON.parse(line))).toEqual([
      {
        level: 20,
        time: expect.any(String),
        service: 'nightledger',
        msg: 'request answered',
        route: `GET ${UNIT.route}`,
        status: response.status,
        durationMs: expect.any(Number),
        requestId: 'trace-of-mine',
        agencyId: expect.stringMatching(/^agc_/),
        keyId: expect.stringMatching(/^key_/),
      },
    ])
  })
})
