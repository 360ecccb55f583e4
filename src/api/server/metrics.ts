import { Elysia } from 'elysia'
import { type CountedRouteOptions, countedRoute } from '../http/direct-routes.ts'

/** What `/metrics` shows. */
export interface MetricsPage {
  readonly contentType: string
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
    async (_, requestId) =>
      new Response(await page.text(), {
        headers: { 'Content-Type': page.contentType, 'Cache-Control': 'no-store', 'X-Request-Id': requestId },
      }),
  )
  // A literal: Elysia reads from a handler's source which parts of a request to parse.
  return new Elysia().get('/metrics', ({ request }) => answer(request), { detail: { hide: true } })
}
