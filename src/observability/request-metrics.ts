import { byLabel, FROM_MS, type Metric, only } from './metric.ts'
import type { RouteCounts } from './request-stats.ts'
import type { ServiceStats } from './service-stats.ts'

const ROUTE_LABELS = ['surface', 'method', 'route'] as const

function labelsOf({ surface, method, path }: ServiceStats['routes'][number]['route']) {
  return { surface, method, route: path }
}

/** Without the routes that were never requested, which would be most of the page. */
function answeredRoutes(routes: ServiceStats['routes']): ServiceStats['routes'] {
  return routes.filter(({ statuses }) => statuses.length > 0)
}

/** A series that begins with its first fault has a rate of 0 at that moment, so this one begins earlier. */
function withFaults(statuses: RouteCounts['statuses']): RouteCounts['statuses'] {
  return statuses.some(({ status }) => status === 500) ? statuses : [...statuses, { status: 500, count: 0 }]
}

export const REQUEST_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_http_requests_total',
    type: 'counter',
    help: 'Requests answered, by surface, route template, method and status. All unknown routes share the label "unknown".',
    labels: [...ROUTE_LABELS, 'status'],
    read: ({ routes }) =>
      answeredRoutes(routes).flatMap(({ route, statuses }) =>
        withFaults(statuses).map(({ status, count }) => ({ labels: { ...labelsOf(route), status }, value: count })),
      ),
  },
  {
    name: 'nightledger_http_request_duration_seconds',
    type: 'histogram',
    help: 'Time from the arrival of a request in the process until its answer was ready to send.',
    labels: ROUTE_LABELS,
    read: ({ routes }) =>
      answeredRoutes(routes).map(({ route, latencies }) => ({
        labels: labelsOf(route),
        reading: latencies,
        scale: FROM_MS,
      })),
  },
  {
    name: 'nightledger_http_requests_open',
    type: 'gauge',
    help: 'Requests in progress.',
    read: ({ openRequests }) => only(openRequests),
  },
  {
    name: 'nightledger_key_refusals_total',
    type: 'counter',
    help: 'REST and MCP requests refused before they ran: no valid key, a plan without API access, the rate limit per minute, the quota per month.',
    labels: ['reason'],
    read: ({ access }) =>
      byLabel('reason', {
        unauthorized: access.unauthorized,
        feature_disabled: access.featureDisabled,
        rate_limited: access.rateLimited,
        quota_exceeded: access.quotaExceeded,
      }),
  },
  {
    name: 'nightledger_portal_token_refusals_total',
    type: 'counter',
    help: 'Portal requests without a valid token: without any, with a wrong, expired or revoked one, and with one from an address that had sent 20 of them within a minute (429).',
    labels: ['reason'],
    read: ({ tokenRefusals }) => byLabel('reason', { ...tokenRefusals }),
  },
  {
    name: 'nightledger_portal_sessions',
    type: 'gauge',
    help: "Sessions of the portal's page that have not ended: at most 50 per person or token and 500 per agency.",
    read: ({ sessions }) => only(sessions),
  },
  {
    name: 'nightledger_refused_write_lines',
    type: 'gauge',
    help: 'Audit entries in memory that count writes answered with 401, 429 or 500: one per key, outcome and minute.',
    read: ({ refusedWrites }) => only(refusedWrites.rows),
  },
  {
    name: 'nightledger_refused_writes_unrecorded_total',
    type: 'counter',
    help: 'Writes answered with 401, 429 or 500 that could not be counted in the audit trail.',
    read: ({ refusedWrites }) => only(refusedWrites.uncounted),
  },
  {
    name: 'nightledger_idempotent_requests_open',
    type: 'gauge',
    help: 'Open requests with an Idempotency-Key, including those waiting for an earlier request with the same key.',
    read: ({ idempotentRequests }) => only(idempotentRequests),
  },
  {
    name: 'nightledger_feed_requests_waiting',
    type: 'gauge',
    help: 'Requests that wait for a change; together with the open streams, at most 5,000.',
    read: ({ feed }) => only(feed.waiting.requests),
  },
  {
    name: 'nightledger_feed_streams_open',
    type: 'gauge',
    help: 'Open streams of changes.',
    read: ({ feed }) => only(feed.waiting.streams),
  },
  {
    name: 'nightledger_feed_delay_seconds',
    type: 'histogram',
    help: 'Time from a change being durable until an answer to a request that waited for it was ready.',
    read: ({ feed }) => [{ reading: feed.delayMs, scale: FROM_MS }],
  },
]
