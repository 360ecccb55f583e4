import { PARAMETER_COMPONENTS } from '../../http/openapi/components.ts'
import type { SurfaceDescription } from '../../http/openapi/surface-description.ts'
import { isWrite } from '../../http/operation.ts'
import { PAGE_HEADER, SESSION_COOKIE } from './session-cookie.ts'

const PORTAL_PARAMETERS = {
  IfNoneMatch: PARAMETER_COMPONENTS.IfNoneMatch,
  LastEventId: PARAMETER_COMPONENTS.LastEventId,
  IdempotencyKey: {
    ...PARAMETER_COMPONENTS.IdempotencyKey,
    description:
      'Quoted or unquoted, 1 to 255 characters, scoped to token, agency and route; all tokens of the operator share a scope. For 24 hours, ' +
      'repeating the same request returns the first response with `Idempotency-Replayed: true`, but without a secret; a different request ' +
      'gets 422 `IDEMPOTENCY_KEY_REUSED`. Only 2xx responses are stored. A dry run ignores it.',
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The `version` of the booking in double quotes. If the booking is at another version, nothing is changed, and the response is 412 ' +
      '`VERSION_CHANGED`.',
    schema: { type: 'string' },
    example: '"3"',
  },
  IfMatchRestrictions: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of the restrictions that the change is based on, or a list of tags. If the unit has others by then, nothing is changed, ' +
      'and the response is 412 `RESTRICTIONS_CHANGED`. `*`, or no header: any restrictions.',
    schema: { type: 'string' },
    example: '"Xk0m1yqCjfJ9bW2hA7sLrQ"',
  },
  IfMatchRates: {
    name: 'If-Match',
    in: 'header',
    required: false,
    description:
      'The `ETag` of the rates that the change is based on, or a list of them. If the unit has other rates by then, nothing is changed, and ' +
      'the response is 412 `RATES_CHANGED`. `*`, or no header: any rates.',
    schema: { type: 'string' },
    example: '"Xk0m1yqCjfJ9bW2hA7sLrQ"',
  },
}

/** What the OpenAPI document says about the portal as a whole. */
export const PORTAL_DESCRIPTION = {
  info: {
    title: 'nightledger portal API',
    summary: 'API for the agency and the operator',
    description:
      'Each operation names the lowest role that an access token needs (`x-required-role`): ' +
      '`viewer`, `desk`, `manager` and `owner`, each of which may do everything that those before it may, or `operator`: the PORTAL_TOKEN. ' +
      'An access token opens one agency: paths of another one answer 404. After 20 wrong tokens within a minute, further wrong tokens from the same address get 429; ' +
      "a valid token is always accepted. Amounts are integers in the minor unit of the agency's currency. Dates are `YYYY-MM-DD`.",
  },
  tags: {
    Access: 'Who you are, how you sign in, and the access tokens of programs.',
    People: 'The people of an agency.',
    Agencies: 'Agencies, their plans and status.',
    Keys: 'The keys that partners authenticate with.',
    Units: 'Rental units, their prices and rules.',
    'Fee types': 'Fees included in every quote, and fees on request.',
    Bookings: 'Bookings of every type and status, with guest and notes.',
    Guests: 'Personal data.',
    'Audit and usage': 'Who did what, and how many requests were made.',
    Calendars: 'Unavailable nights, here and as iCalendar for channels.',
    Webhooks: 'Endpoints and their deliveries.',
  },
  securityScheme: {
    name: 'portalToken',
    scheme: {
      type: 'http',
      scheme: 'bearer',
      description: 'An access token of the agency (`hp_live_…`), or the PORTAL_TOKEN.',
    },
  },
  otherSecuritySchemes: [
    {
      name: 'portalSession',
      scheme: {
        type: 'apiKey',
        in: 'cookie',
        name: SESSION_COOKIE,
        description:
          `The page's session (\`POST /portal/session\`). Every method but GET also takes the header \`${PAGE_HEADER}: 1\`, and \`Sec-Fetch-Site: ` +
          'same-origin`, or where browsers do not send that, an `Origin` equal to `Host`: else 403 `CROSS_ORIGIN`. A token in a header takes precedence.',
      },
    },
  ],
  components: { parameters: PORTAL_PARAMETERS },
  requestHeaders: (operation) => [
    ...(operation.isConditional === true ? ['IfNoneMatch'] : []),
    ...(isWrite(operation) ? ['IdempotencyKey'] : []),
    ...(operation.answer.stream === undefined ? [] : ['LastEventId']),
    ...((operation.problems ?? []).includes('VERSION_CHANGED') ? ['IfMatch'] : []),
    ...((operation.problems ?? []).includes('RATES_CHANGED') ? ['IfMatchRates'] : []),
    ...((operation.problems ?? []).includes('RESTRICTIONS_CHANGED') ? ['IfMatchRestrictions'] : []),
  ],
  pathParameters: {
    agencySlug: { description: 'Slug of the agency.' },
    unitSlug: { description: 'Slug of the unit.' },
    bookingId: { description: 'Id of the booking.' },
    guestId: { description: 'Id of the guest.' },
    personId: { description: 'Id of the person.' },
    passkeyId: { description: 'Id of the passkey.' },
    sessionId: { description: 'Id of the session.' },
    tokenId: { description: 'Id of the access token.' },
    keyId: { description: 'Id of the API key.' },
    feeTypeId: { description: 'Id of the fee type.' },
    endpointId: { description: 'Id of the webhook endpoint.' },
    deliveryId: { description: 'Id of the delivery.' },
  },
  problems: ['VALIDATION', 'UNAUTHORIZED', 'NOT_FOUND', 'RATE_LIMITED', 'INTERNAL'],
  problemsOfWrites: ['CROSS_ORIGIN', 'IDEMPOTENCY_KEY_REUSED'],
  problemName: (code) => `${code}_problem`,
  problemsJoined: 'anyOf',
} as const satisfies SurfaceDescription
