import { describe, expect, test } from 'bun:test'
import type { KeyHolder } from '../../src/core/catalogue/catalogue.ts'
import {
  LATENCY_BOUNDS_MS,
  type OpenRequest,
  RequestStats,
  type Surface,
} from '../../src/observability/request-stats.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { RecordedSpans } from '../support/recorded-spans.ts'
import { AGENCY } from '../support/samples.ts'

const ROUTE = { surface: 'partner', method: 'GET', path: '/partner/v1/bookings/{id}' } as const
const OTHER = { surface: 'partner', method: 'POST', path: '/partner/v1/bookings' } as const

function opened({ isLogged = false }: { isLogged?: boolean } = {}) {
  const clock = new FakeClock()
  const lines: { fields: object; message: string }[] = []
  const log = { debug: (fields: object, message: string) => void lines.push({ fields, message }) }
  return { clock, lines, requestStats: new RequestStats({ clock, log: isLogged ? log : null }) }
}

function request(change: Partial<OpenRequest> = {}): OpenRequest {
  return { request: new Request('http://localhost/'), arrivedMs: 0, requestId: 'req_1', admission: null, ...change }
}

describe('counts', () => {
  test('are by route and status', () => {
    const { requestStats } = opened()
    const [bookings, book] = [requestStats.route(ROUTE), requestStats.route(OTHER)]
    for (const status of [200, 404, 200]) bookings.answered(request(), status)
    book.answered(request(), 201)
    expect(requestStats.counts().map(({ route, statuses }) => [route, statuses])).toEqual([
      [
        ROUTE,
        [
          { status: 200, count: 2 },
          { status: 404, count: 1 },
        ],
      ],
      [OTHER, [{ status: 201, count: 1 }]],
    ])
  })

  test('of sandboxes are apart, because there partners ask for failures', () => {
    const { requestStats } = opened()
    const book = requestStats.route(OTHER)
    const by = (agency: object) =>
      request({ admission: { holder: { agency, key: { id: 'key_1' } } } as unknown as OpenRequest['admission'] })
    book.answered(by(AGENCY), 201)
    for (const status of [500, 500]) book.answered(by({ ...AGENCY, clock: null }), status)
    expect(requestStats.counts().map(({ route, statuses }) => [route.surface, statuses])).toEqual([
      ['partner', [{ status: 201, count: 1 }]],
      ['sandbox', [{ status: 500, count: 2 }]],
    ])
  })

  test('of every status that HTTP has find their place', () => {
    const { requestStats } = opened()
    const watch = requestStats.route(ROUTE)
    const statuses = Array.from({ length: 500 }, (_, place) => 100 + place)
    for (const status of statuses) watch.answered(request(), status)
    expect(requestStats.counts()[0]?.statuses).toEqual(statuses.map((status) => ({ status, count: 1 })))
  })

  test('of a name that is asked for twice are the same', () => {
    const { requestStats } = opened()
    requestStats.route(ROUTE).answered(request(), 200)
    requestStats.route({ ...ROUTE }).answered(request(), 200)
    expect(requestStats.counts().map(({ statuses }) => statuses)).toEqual([[{ status: 200, count: 2 }]])
  })

  test('hold no time that a request waited because it asked to', async () => {
    const { clock, lines, requestStats } = opened({ isLogged: true })
    const open = request({ arrivedMs: clock.monotonicMs() })
    await clock.advance(20_003)
    open.waitedMs = 20_000
    requestStats.route(ROUTE).answered(open, 200)
    expect(requestStats.counts()[0]?.latencies.sum).toBe(3)
    expect(lines).toMatchObject([{ fields: { durationMs: 3, waitedMs: 20_000 } }])
  })

  test('of a route that nobody asked for are empty', () => {
    const { requestStats } = opened()
    requestStats.route(ROUTE)
    expect(requestStats.counts()[0]).toMatchObject({ statuses: [], latencies: { sum: 0 } })
  })
})

describe('latency', () => {
  test('is what passed from arrival to answer', async () => {
    const { requestStats, clock } = opened()
    const watch = requestStats.route(ROUTE)
    await clock.advance(1_000)
    const arrivedMs = watch.arrived(request().request)
    await clock.advance(30)
    watch.answered(request({ arrivedMs }), 200)
    const latencies = requestStats.counts()[0]?.latencies
    expect(latencies?.sum).toBe(30)
    expect(
      latencies?.counts.map((count, place) => (count > 0 ? LATENCY_BOUNDS_MS[place] : null)).filter(Boolean),
    ).toEqual([50])
  })
})

describe('the log', () => {
  const holder = { agency: AGENCY, key: { id: 'key_1', name: 'Jane Doe' } } as unknown as KeyHolder

  test('has one line per request at debug: route template, status, duration, request id, agency and key, and nothing else', async () => {
    const { requestStats, clock, lines } = opened({ isLogged: true })
    const watch = requestStats.route(ROUTE)
    const arrivedMs = watch.arrived(request().request)
    await clock.advance(2)
    watch.answered(request({ arrivedMs, admission: { holder } }), 409)
    expect(lines).toEqual([
      {
        fields: {
          route: 'GET /partner/v1/bookings/{id}',
          status: 409,
          durationMs: 2,
          requestId: 'req_1',
          agencyId: AGENCY.id,
          keyId: 'key_1',
        },
        message: 'request answered',
      },
    ])
  })

  test('names the trace of a request that belongs to one', () => {
    const { requestStats, lines } = opened({ isLogged: true })
    const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
    requestStats.route(ROUTE).answered(request({ request: new Request('http://localhost/', { headers }) }), 200)
    expect(lines[0]?.fields).toMatchObject({ requestId: 'req_1', traceId: '4bf92f3577b34da6a3ce929d0e0e4736' })
  })

  test('names nobody for a request without a valid key', () => {
    const { requestStats, lines } = opened({ isLogged: true })
    requestStats.route(ROUTE).answered(request(), 401)
    expect(Object.keys(lines[0]?.fields ?? {})).toEqual(['route', 'status', 'durationMs', 'requestId'])
  })

  test('does not keep a request from being counted', () => {
    const { requestStats } = opened({ isLogged: true })
    requestStats.route(ROUTE).answered(request(), 200)
    expect(requestStats.counts()[0]?.statuses).toEqual([{ status: 200, count: 1 }])
  })
})

describe('a tracer', () => {
  const traced = (surface: Surface, headers: Record<string, string> = {}) => {
    const tracer = new RecordedSpans()
    const requestStats = new RequestStats({ clock: new FakeClock(), log: null, tracer })
    const open = request({ request: new Request('http://localhost/', { headers }) })
    const watch = requestStats.route({ ...ROUTE, surface })
    const arrivedMs = watch.arrived(open.request)
    watch.answered({ ...open, arrivedMs }, 503)
    expect(requestStats.counts()[0]?.statuses).toEqual([{ status: 503, count: 1 }])
    return { spans: tracer.spans, traceparent: open.request.headers.get('traceparent') }
  }

  test('has a span for each request, to which whatever the request does belongs', () => {
    const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const { spans, traceparent } = traced('partner', { traceparent: parent })
    const attributes = {
      'http.request.method': 'GET',
      'http.route': '/partner/v1/bookings/{id}',
      'http.response.status_code': 503,
      'nightledger.request_id': 'req_1',
    }
    const end = { name: 'GET /partner/v1/bookings/{id}', attributes, isError: true }
    expect(spans).toEqual([{ kind: 'request', parent, traceparent: traceparent ?? '', end }])
  })

  test('begins a trace for a request without one, or with one that is malformed', () => {
    for (const headers of [{}, { traceparent: 'x' }])
      expect(traced('portal', headers).spans).toMatchObject([{ kind: 'request', parent: null }])
  })

  test('has no span for probes and files', () => {
    for (const surface of ['operating', 'page', 'docs', 'none'] as const)
      expect(traced(surface)).toEqual({ spans: [], traceparent: null })
  })
})
