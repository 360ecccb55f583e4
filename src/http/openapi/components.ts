/** Parts of an OpenAPI document that many operations refer to. */

const header = (description: string, schema: Record<string, unknown>) => ({ description, schema })

export const HEADER_COMPONENTS = {
  'X-Request-Id': header('The request id you sent, if valid; otherwise a generated one.', { type: 'string' }),
  'X-RateLimit-Limit': header('Requests per minute allowed for this key.', { type: 'integer' }),
  'X-RateLimit-Remaining': header('Requests remaining right now.', { type: 'integer' }),
  'X-RateLimit-Reset': header('When the oldest counted request leaves the rolling minute, in Unix seconds.', {
    type: 'integer',
  }),
  RateLimit: header('See draft-ietf-httpapi-ratelimit-headers.', {
    type: 'string',
    examples: ['"minute";r=59;t=60'],
  }),
  'RateLimit-Policy': header('See draft-ietf-httpapi-ratelimit-headers.', {
    type: 'string',
    examples: ['"minute";q=60;w=60'],
  }),
  'Retry-After': header('Seconds to wait before retrying.', { type: 'integer', minimum: 0 }),
  ETag: header('The entity tag of this answer, in double quotes.', { type: 'string', examples: ['"1k3v9x2m0qz7a"'] }),
  'Cache-Control': header('You may store the answer, but must revalidate it each time.', {
    type: 'string',
    enum: ['private, no-cache'],
  }),
  'Idempotency-Replayed': header('`true` when this response repeats the first one.', {
    type: 'string',
    enum: ['true'],
  }),
  'X-Mode': header('`test` on every answer to the key of a sandbox; on no other answer.', {
    type: 'string',
    enum: ['test'],
  }),
  'WWW-Authenticate': header('The authentication scheme.', { type: 'string', enum: ['Bearer'] }),
}

export const PARAMETER_COMPONENTS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Quoted or unquoted, 1 to 255 characters, scoped to API key and route. For 24 hours, repeating the same request returns the ' +
      'first response with `Idempotency-Replayed: true`; a different request gets 422 `IDEMPOTENCY_KEY_REUSED`. Only 2xx responses are stored.',
    schema: { type: 'string', minLength: 1 },
    example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of an earlier answer, or a list of them. If one is current, the answer is 304 without a body. `*` is always current.',
    schema: { type: 'string' },
    example: '"1k3v9x2m0qz7a"',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of a quote, or a list of them: the stay is booked only if a quote of the same stay and party made now would have ' +
      'one of them, otherwise 412 `QUOTE_CHANGED`. `*` is the same as leaving it out.',
    schema: { type: 'string' },
    example: '"vhc-2f0k5w8s9d1ab"',
  },
  LastEventId: {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description:
      'Of a stream: the `id` of the last event received. The stream continues after it, whatever `after` says. Ignored where the answer is JSON.',
    schema: { type: 'string' },
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description:
      'Your own id for the request: 1 to 128 letters, digits and `. _ : + / = -`. Any other value is replaced.',
    schema: { type: 'string' },
  },
}

export const SECURITY_SCHEME = {
  name: 'apiKey',
  scheme: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'hr_live_…',
    description: "One of the agency's API keys. Each operation names the scope the key needs.",
  },
}
