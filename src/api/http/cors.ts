/** CORS is open on every surface that a browser may call: any origin, no credentials (docs/contract.md#conventions). */

/** Request headers a browser may send. */
export const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'X-Request-Id',
] as const

/** Answer headers a browser's script may read. */
export const EXPOSED_HEADERS = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'ETag',
  'X-Request-Id',
  'Idempotency-Replayed',
  'WWW-Authenticate',
] as const

/** On every answer. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS.join(', '),
} as const

/** How long a browser may remember a preflight, in seconds. */
export const PREFLIGHT_MAX_AGE_S = 86_400
