import { cors } from '@elysiajs/cors'
import { Elysia } from 'elysia'

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
  'traceparent',
] as const

/** Answer headers a browser's script may read. */
const EXPOSED_HEADERS = [
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
  'X-Mode',
] as const

/** On every answer. */
export const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS.join(', '),
} as const

/** How long a browser may remember a preflight, in seconds. */
export const PREFLIGHT_MAX_AGE_S = 86_400

/** Answers preflights and nothing else: on the other requests the plugin's hooks would cost more than the answer. */
const preflights = new Elysia().use(
  cors({
    origin: '*',
    credentials: false,
    methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
    allowedHeaders: [...ALLOWED_HEADERS],
    exposeHeaders: [...EXPOSED_HEADERS],
    maxAge: PREFLIGHT_MAX_AGE_S,
  }),
)

/** OPTIONS on any path of an open surface: 204, without a key (docs/contract.md#conventions). */
export async function preflightAnswer(request: Request, requestId: string): Promise<Response> {
  const answer = await preflights.handle(request)
  answer.headers.set('X-Request-Id', requestId)
  // The same for every request.
  answer.headers.delete('Vary')
  return answer
}
