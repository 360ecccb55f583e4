/**
 * The outcome of every request: counted per route in fixed arrays, and logged one by one if the log level asks for it. A read is
 * answered in under 20 microseconds, so counting costs two reads of the clock and three additions: no labels are
 * hashed and nothing is allocated. The metrics page builds its series from the arrays when it is scraped.
 *
 * - T1 Labels are bounded: a route is named by its template, never by the requested path, and is known when the service
 *   is composed.
 */
import { isSandbox } from '../core/catalogue/agency.ts'
import type { KeyHolder } from '../core/catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import { Histogram, type HistogramReading } from '../lib/measures.ts'
import { traceIdIn, traceparentIn } from '../lib/traceparent.ts'
import type { Span, Tracer } from '../lib/tracer.ts'

/**
 * Upper bounds of the latency histogram, in milliseconds, inclusive. Reads are answered from memory in tens of microseconds,
 * writes in the time of a commit, and a write waits at most 5 s while the database is away.
 */
export const LATENCY_BOUNDS_MS = [
  0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000,
] as const

const SURFACES = ['partner', 'sandbox', 'portal', 'mcp', 'page', 'docs', 'operating', 'none'] as const
export type Surface = (typeof SURFACES)[number]

/** Surfaces whose requests get spans. Probes and files are frequent, and not worth tracing. */
const TRACED: ReadonlySet<Surface> = new Set(['partner', 'portal', 'mcp'])

/** `path`: the template, `/partner/v1/bookings/{id}`; never the requested path (T1). */
export interface RouteName {
  readonly surface: Surface
  readonly method: string
  readonly path: string
}

/** Requests for which there is no route. */
export const UNKNOWN_ROUTE: RouteName = { surface: 'none', method: 'any', path: 'unknown' }

/** The part of a request that carries its trace. */
type TracedRequest = Pick<Request, 'headers'>

/** A request that is being served. */
export interface OpenRequest {
  readonly request: TracedRequest
  /** As `arrived` returned it. */
  readonly arrivedMs: number
  readonly requestId: string
  /** With the holder of its API key, if it came with one. Null: it was not admitted, or needs no credentials. */
  readonly admission: { readonly holder?: KeyHolder } | null
  /** How long it has waited because it asked to, milliseconds: no part of its latency. */
  waitedMs?: number
}

/** Called for each request of one route. */
interface RouteWatch {
  /** The moment a request arrives, milliseconds of the monotonic clock. */
  arrived(request: TracedRequest): number
  /** Its answer is ready. To be called once, last. */
  answered(request: OpenRequest, status: number): void
}

/** What a route has answered since the start. */
export interface RouteCounts {
  readonly route: RouteName
  /** Answers by status; only statuses that occurred. */
  readonly statuses: readonly { readonly status: number; readonly count: number }[]
  /** From the arrival of a request until its answer was ready, milliseconds. */
  readonly latencies: HistogramReading
}

/** Logs requests one by one: pino's shape. */
interface RequestLog {
  debug(fields: object, message: string): void
}

/** Every route's counts. */
export class RequestStats {
  readonly #clock: Clock
  readonly #log: RequestLog | null
  readonly #tracer: Tracer | null
  readonly #routes = new Map<string, RouteStats>()

  /** @param options.log null: no log line per request @param options.tracer null or left out: no span per request */
  constructor(options: { clock: Clock; log: RequestLog | null; tracer?: Tracer | null }) {
    this.#clock = options.clock
    this.#log = options.log
    this.#tracer = options.tracer ?? null
  }

  /** The watch of a route; the same counts for the same name. Call it when the service is composed (T1). */
  route(name: RouteName): RouteWatch {
    const key = `${name.surface} ${name.method} ${name.path}`
    const requestStats = this.#routes.get(key) ?? new RouteStats(name, this.#clock)
    this.#routes.set(key, requestStats)
    const watch = this.#log === null ? requestStats : new LoggedRoute(requestStats, this.#clock, this.#log)
    return this.#tracer === null || !TRACED.has(name.surface) ? watch : new TracedRoute(watch, name, this.#tracer)
  }

  counts(): RouteCounts[] {
    return [...this.#routes.values()].flatMap((requestStats) => requestStats.counts())
  }
}

/** HTTP has statuses from 100 to 599. */
const STATUS_MIN = 100
const STATUS_COUNT = 500

class RouteStats implements RouteWatch {
  readonly route: RouteName
  readonly #clock: Clock
  readonly #statuses = new Float64Array(STATUS_COUNT)
  /** Those that are not 0 there: to look for them at each scrape, in hundreds of routes, would hold up requests for milliseconds. */
  readonly #answered: number[] = []
  readonly #latencies = new Histogram(LATENCY_BOUNDS_MS)
  /** Sandboxes are counted separately, because partners can request failures and slow responses there. */
  #ofSandboxes: RouteStats | null = null

  constructor(route: RouteName, clock: Clock) {
    this.route = route
    this.#clock = clock
  }

  arrived(): number {
    return this.#clock.monotonicMs()
  }

  answered(request: OpenRequest, status: number): void {
    this.count(request, status, this.#clock.monotonicMs() - request.arrivedMs - (request.waitedMs ?? 0))
  }

  count({ admission }: Pick<OpenRequest, 'admission'>, status: number, latencyMs: number): void {
    const agency = admission?.holder?.agency
    if (agency === undefined || !isSandbox(agency)) {
      this.#count(status, latencyMs)
      return
    }
    this.#ofSandboxes ??= new RouteStats({ ...this.route, surface: 'sandbox' }, this.#clock)
    this.#ofSandboxes.#count(status, latencyMs)
  }

  #count(status: number, latencyMs: number): void {
    const count = this.#countOf(status)
    if (count === 0) this.#answered.push(status)
    this.#statuses[status - STATUS_MIN] = count + 1
    this.#latencies.count(latencyMs)
  }

  #countOf(status: number): number {
    return this.#statuses[status - STATUS_MIN] ?? 0
  }

  /** Of the route, and separately of sandboxes. */
  counts(): RouteCounts[] {
    const statuses = this.#answered
      .toSorted((a, b) => a - b)
      .map((status) => ({ status, count: this.#countOf(status) }))
    const own = { route: this.route, statuses, latencies: this.#latencies.read() }
    return [own, ...(this.#ofSandboxes?.counts() ?? [])]
  }
}

class LoggedRoute implements RouteWatch {
  readonly #requestStats: RouteStats
  readonly #clock: Clock
  readonly #log: RequestLog
  readonly #route: string

  constructor(requestStats: RouteStats, clock: Clock, log: RequestLog) {
    this.#requestStats = requestStats
    this.#clock = clock
    this.#log = log
    this.#route = `${requestStats.route.method} ${requestStats.route.path}`
  }

  arrived(): number {
    return this.#requestStats.arrived()
  }

  /** Of the caller, only ids: a name or an e-mail would be personal data, a path or a query may hold a secret. */
  answered(open: OpenRequest, status: number): void {
    const { request, arrivedMs, requestId, admission, waitedMs = 0 } = open
    const latencyMs = this.#clock.monotonicMs() - arrivedMs - waitedMs
    this.#requestStats.count(open, status, latencyMs)
    const holder = admission?.holder
    const who = holder === undefined ? {} : { agencyId: holder.agency.id, keyId: holder.key.id }
    const durationMs = Math.round(latencyMs * 1_000) / 1_000
    const waited = waitedMs === 0 ? {} : { waitedMs: Math.round(waitedMs) }
    const ids = { requestId, ...traceIdIn(request), ...who }
    this.#log.debug({ route: this.#route, status, durationMs, ...waited, ...ids }, 'request answered')
  }
}

class TracedRoute implements RouteWatch {
  readonly #watch: RouteWatch
  readonly #name: RouteName
  readonly #tracer: Tracer
  readonly #spans = new WeakMap<TracedRequest, Span>()

  constructor(watch: RouteWatch, name: RouteName, tracer: Tracer) {
    this.#watch = watch
    this.#name = name
    this.#tracer = tracer
  }

  /** From here on, the request carries the span, and so do its log lines, entries and webhooks. */
  arrived(request: TracedRequest): number {
    const span = this.#tracer.start('request', traceparentIn(request))
    request.headers.set('traceparent', span.traceparent)
    this.#spans.set(request, span)
    return this.#watch.arrived(request)
  }

  answered(open: OpenRequest, status: number): void {
    this.#watch.answered(open, status)
    const { method, path } = this.#name
    const agencyId = open.admission?.holder?.agency.id
    this.#spans.get(open.request)?.end({
      name: `${method} ${path}`,
      attributes: {
        'http.request.method': method,
        'http.route': path,
        'http.response.status_code': status,
        'nightledger.request_id': open.requestId,
        ...(agencyId !== undefined && { 'nightledger.agency_id': agencyId }),
      },
      isError: status >= 500,
    })
  }
}
