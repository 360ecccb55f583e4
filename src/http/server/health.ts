import { Elysia } from 'elysia'
import type { JournalStats } from '../../core/journal/waiting-records.ts'
import { METRICS_CONTENT_TYPE } from '../../observability/metric.ts'
import type { RouteName } from '../../observability/request-stats.ts'
import { type CountedRouteOptions, countedRoute } from '../route.ts'

/** What the readiness probe checks. */
export interface Health {
  stats(): Pick<JournalStats, 'state' | 'waiting' | 'inFlightMs' | 'entries'>
  /** The current writer's epoch, and whether the database accepts writes; rejects when it does not answer in time. */
  fence(): Promise<{ readonly epoch: number; readonly readOnly: string | null }>
  /** Why it should get no requests, by what the fence says (null: nothing) or other nodes. */
  faults(fence: { readonly epoch: number } | null): readonly string[]
}

/** A batch in flight for longer than this means that the database is not taking writes. */
const JOURNAL_LAG_MS_MAX = 2_000
/** What the fault begins with. */
export const JOURNAL_LAG = 'journal: a batch has been in flight'

/**
 * `/healthz`: the process is alive. `/readyz`: it can take bookings now, that is, the database answers and accepts writes, no other
 * process has taken over, and the journal makes progress. Otherwise 503 with the reasons (docs/operating.md#what-runs).
 */
export function healthRoutes(health: Health, options: CountedRouteOptions) {
  const alive = countedRoute(options, named('/healthz'), (_, requestId) => json(200, { status: 'ok' }, requestId))
  const ready = countedRoute(options, named('/readyz'), async (_, requestId) => {
    const { waiting, entries } = health.stats()
    const faults = readinessFaults(health, await health.fence().catch(() => null))
    const status = faults.length === 0 ? 'ready' : 'not ready'
    return json(faults.length === 0 ? 200 : 503, { status, faults, journal: { waiting, entries } }, requestId)
  })
  // Literals: Elysia reads from a handler's source which parts of a request to parse.
  return new Elysia().get('/healthz', ({ request }) => alive(request)).get('/readyz', ({ request }) => ready(request))
}

/** Why the process cannot take bookings; empty: it is ready. @param fence null: the database does not answer */
export function readinessFaults(
  health: Pick<Health, 'stats' | 'faults'>,
  fence: Awaited<ReturnType<Health['fence']>> | null,
): readonly string[] {
  const { state, inFlightMs } = health.stats()
  return [
    ...(fence === null ? ['database: not responding'] : []),
    ...(fence !== null && fence.readOnly !== null ? [`database: ${fence.readOnly}`] : []),
    ...health.faults(fence),
    ...(state === 'fenced' || state === 'closed' ? [`journal: ${state}`] : []),
    ...(inFlightMs > JOURNAL_LAG_MS_MAX ? [`${JOURNAL_LAG} for ${Math.round(inFlightMs)} ms`] : []),
  ]
}

function named(path: string): RouteName {
  return { surface: 'operating', method: 'GET', path }
}

function json(status: number, body: unknown, requestId: string): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': requestId },
  })
}

/** What `/metrics` shows. */
export interface MetricsPage {
  /** Computed on every call. Contains no personal data, no agency name and no secret. */
  text(): Promise<string>
}

/**
 * `/metrics`, for Prometheus. Without a key, like `/healthz` and `/readyz`: all three are for the operator's own network, and must not
 * be reachable from outside (docs/operating/alerts.md).
 */
export function metricsRoute(page: MetricsPage, options: CountedRouteOptions) {
  const answer = countedRoute(
    options,
    { surface: 'operating', method: 'GET', path: '/metrics' },
    async (_, requestId) => metricsAnswer(await page.text(), requestId),
  )
  // A literal: Elysia reads from a handler's source which parts of a request to parse.
  return new Elysia().get('/metrics', ({ request }) => answer(request), { detail: { hide: true } })
}

export function metricsAnswer(text: string, requestId: string): Response {
  const headers = { 'Content-Type': METRICS_CONTENT_TYPE, 'Cache-Control': 'no-store', 'X-Request-Id': requestId }
  return new Response(text, { headers })
}
