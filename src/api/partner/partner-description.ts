import { HEADER_COMPONENTS, PARAMETER_COMPONENTS, SECURITY_SCHEME } from '../../http/openapi/components.ts'
import type { SurfaceDescription } from '../../http/openapi/surface-description.ts'
import { WEBHOOKS } from '../../http/openapi/webhooks.ts'
import { type Operation, takesIdempotencyKey } from '../../http/operation.ts'

/** Of every answer to a key. */
const KEY_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit',
  'RateLimit-Policy',
  'X-Mode',
] as const

function answerHeaders(operation: Operation, status: number): readonly string[] {
  // Without a key there is no budget.
  if (status === 401) return ['X-Request-Id', 'WWW-Authenticate']
  const names = operation.isOpen === true ? ['X-Request-Id'] : KEY_HEADERS
  if (status === 429 || status === 500) return [...names, 'Retry-After']
  if (operation.isConditional === true && status <= 304) return [...names, 'ETag', 'Cache-Control']
  if (operation.isTagged === true && status < 300) return [...names, 'ETag']
  return status < 300 && takesIdempotencyKey(operation) ? [...names, 'Idempotency-Replayed'] : names
}

function requestHeaders(operation: Operation): readonly string[] {
  const { isConditional = false, takesIfMatch = false, answer } = operation
  return [
    ...(takesIdempotencyKey(operation) ? ['IdempotencyKey'] : []),
    ...(isConditional ? ['IfNoneMatch'] : []),
    ...(takesIfMatch ? ['IfMatch'] : []),
    ...(answer.stream === undefined ? [] : ['LastEventId']),
    'RequestId',
  ]
}

/** What the OpenAPI document says about the partner API as a whole. */
export const PARTNER_DESCRIPTION = {
  info: {
    title: 'nightledger partner API',
    summary: "One agency's units, availability, prices, bookings and guests",
    description:
      "Amounts are integers in the minor unit of the agency's currency. Dates are `YYYY-MM-DD`; a stay is the " +
      'half-open range `[arrival, departure)`. Changes inside this version are additive only. To try it out, authorize with the key of ' +
      'a sandbox, which begins with `hr_test_`: nothing is real there, and `test/clock` moves its time. The partner guide ' +
      '(docs/partner-guide.md) begins with ten minutes in one.',
  },
  tags: {
    Account: 'The agency and key in use, with rate limit and quota.',
    Units: "The agency's rental units.",
    'Availability and prices': 'Blocked nights, live prices and fees.',
    Bookings: 'Read, create and cancel bookings.',
    Guests: 'Personal data. Requires a separate scope.',
    History: 'Signed checkpoints, which show that nobody has rewritten the history of bookings.',
    Sandbox: 'For trying things out: only with the keys of a sandbox.',
    Description: 'This document.',
    Events: 'Signed webhook messages about booking changes.',
  },
  securityScheme: SECURITY_SCHEME,
  components: { headers: HEADER_COMPONENTS, parameters: PARAMETER_COMPONENTS },
  webhooks: WEBHOOKS,
  // What every route with a key can answer (docs/contract.md#endpoints).
  problems: ['UNAUTHORIZED', 'FEATURE_DISABLED', 'SCOPE_MISSING', 'RATE_LIMITED', 'QUOTA_EXCEEDED', 'INTERNAL'],
  // `BOOKING_CONFLICT` is described as `BookingConflictProblem`.
  problemName: (code) =>
    `${code.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Problem`,
  problemsJoined: 'oneOf',
  requestHeaders,
  headers: { ofAnswer: answerHeaders },
} as const satisfies SurfaceDescription
