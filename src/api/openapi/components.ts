/** Parts of an OpenAPI document that many operations refer to. */

const header = (description: string, schema: Record<string, unknown>) => ({ description, schema })

export const HEADER_COMPONENTS = {
  'X-Request-Id': header("The caller's own id of the request if it is sane, else a new one.", { type: 'string' }),
  'X-RateLimit-Limit': header('Requests per minute that the key has.', { type: 'integer' }),
  'X-RateLimit-Remaining': header('Requests that would pass now.', { type: 'integer' }),
  'X-RateLimit-Reset': header('Unix seconds: when the oldest counted request leaves the rolling minute.', {
    type: 'integer',
  }),
  RateLimit: header('As draft-ietf-httpapi-ratelimit-headers has it.', {
    type: 'string',
    examples: ['"minute";r=59;t=60'],
  }),
  'RateLimit-Policy': header('As draft-ietf-httpapi-ratelimit-headers has it.', {
    type: 'string',
    examples: ['"minute";q=60;w=60'],
  }),
  'Retry-After': header('Whole seconds after which the request may pass.', { type: 'integer', minimum: 0 }),
  'Idempotency-Replayed': header('`true` when this is the first answer again.', { type: 'string', enum: ['true'] }),
  'WWW-Authenticate': header('The scheme to use.', { type: 'string', enum: ['Bearer'] }),
}

export const PARAMETER_COMPONENTS = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'Quoted or bare, 1 to 255 characters, scoped to key and route. Within 24 hours the same request gets the first answer ' +
      'again, with `Idempotency-Replayed: true`; another request gets 422 `IDEMPOTENCY_KEY_REUSED`. Only 2xx answers are kept.',
    schema: { type: 'string', minLength: 1 },
    example: '8e03978e-40d5-43dd-bc93-6894a57f9324',
  },
  RequestId: {
    name: 'X-Request-Id',
    in: 'header',
    required: false,
    description: 'Your own id of the request: 1 to 128 letters, digits and `. _ : + / = -`. Another value is replaced.',
    schema: { type: 'string' },
  },
}

export const SECURITY_SCHEME = {
  name: 'apiKey',
  scheme: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'hr_live_…',
    description: 'An API key of the agency. Each operation names the scope that the key needs.',
  },
}
