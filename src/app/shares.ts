/**
 * A1  An agency has a share of everything: of whatever it can create, occupy or use up there is a limit of its own, and beyond it the agency alone
 *     waits or is refused, with a code, and with `Retry-After` where waiting helps. Others wait for a step of its work, not for the work.
 *
 * This is the list of those limits, and of what needs none. docs/operating.md#limits-per-agency shows it, and a test fails for a route
 * or a table that is not in it (test/app/shares.test.ts). Each limit is upheld where its constant is.
 */

import { FEE_TYPES_PER_AGENCY_MAX } from '../accounts/fee-commands.ts'
import { MAILS_PER_HOUR_MAX } from '../accounts/invitation-mails.ts'
import { ANSWER_CHARS_PER_PART, BURST_PARTS, PART_ALONE_MS, PART_MS, PAUSE_MS_MAX } from '../accounts/partner-access.ts'
import { PASSKEYS_PER_PERSON_MAX } from '../accounts/passkeys.ts'
import { LINK_READS_PER_MINUTE } from '../accounts/person-sign-in.ts'
import { SESSIONS_PER_AGENCY_MAX, SESSIONS_PER_MEMBER_MAX } from '../accounts/portal-sessions.ts'
import {
  AGENCY_BUDGET_FACTOR,
  BODY_BYTES_PER_REQUEST,
  REFUSAL_LINES_PER_AGENCY_MAX,
  REFUSAL_LINES_PER_MEMBER_MAX,
} from '../accounts/token-rate-limit.ts'
import { UNITS_PER_AGENCY_MAX } from '../accounts/unit-commands.ts'
import { FLOOD_PER_MINUTE, WRONG_TOKENS_PER_MINUTE } from '../accounts/wrong-token-throttle.ts'
import { NOTES_LENGTH_MAX } from '../api/portal/booking-notes.ts'
import { CALENDAR_PAGES_PER_AGENCY_MAX, CALENDARS_PER_UNIT_MAX } from '../api/portal/calendar-texts.ts'
import { RENDERINGS } from '../api/portal/renderings.ts'
import { HELD_OF_SHARD_MAX } from '../cluster/forward/holding.ts'
import { FORWARDED_OF_SHARD_MAX } from '../cluster/forward/owner-route.ts'
import { SEARCHES_PER_AGENCY_MAX } from '../core/bookings/offer-search.ts'
import { LIVE_CREDENTIALS_MAX } from '../core/catalogue/agency.ts'
import { STAY_NIGHTS_MAX } from '../core/domain/night.ts'
import { RESTRICTIONS_MAX } from '../core/domain/restrictions.ts'
import { SEASONS_MAX } from '../core/domain/unit.ts'
import { AGENCY_SHARE_OF_QUEUE } from '../core/journal/waiting-records.ts'
import { WAITING_PER_AGENCY_MAX, WAITING_PER_KEY_MAX } from '../events/changes/waiting-places.ts'
import { POOL_LIMITS, SANDBOX_BURST, SANDBOX_BURST_MS } from '../events/webhooks/send-pool.ts'
import { PINGS_PER_AGENCY_MAX } from '../events/webhooks/webhook-commands.ts'
import { ENDPOINTS_PER_AGENCY_MAX, RESEND_PART_MAX, RESENT_DUE_MAX } from '../events/webhooks/webhook-endpoint.ts'
import { OPEN_PER_AGENCY_MAX } from '../http/idempotent-writes.ts'
import { BODY_BYTES_MAX } from '../http/read-request.ts'
import { LISTS_PER_AGENCY_MAX, LISTS_WAITING_PER_AGENCY_MAX } from '../postgres/stores/list-reads.ts'
import { LIMITS } from './config.ts'

interface Share {
  readonly how: 'create' | 'at once' | 'rate'
  readonly what: string
  /** With its numbers. */
  readonly limit: string
  readonly beyond: string
}

const count = (value: number) => value.toLocaleString('en')
const VALIDATION = '400 `VALIDATION`'
const LIMITED = '429 `RATE_LIMITED`, `Retry-After`'
const BUSY = '500 `INTERNAL`, `Retry-After`; nothing was done'

export const SHARES = {
  keys: share('create', 'API keys', `${LIVE_CREDENTIALS_MAX} that are neither revoked nor expired`, VALIDATION),
  tokens: share('create', 'access tokens', `${LIVE_CREDENTIALS_MAX} that are neither revoked nor expired`, VALIDATION),
  people: share(
    'create',
    'people',
    `${LIVE_CREDENTIALS_MAX}, each with ${PASSKEYS_PER_PERSON_MAX} passkeys and one unused invitation`,
    VALIDATION,
  ),
  endpoints: share('create', 'webhook endpoints', String(ENDPOINTS_PER_AGENCY_MAX), VALIDATION),
  sandbox: share('create', 'sandboxes', '1', '409 `SANDBOX_EXISTS`'),
  units: share('create', 'units', `${count(UNITS_PER_AGENCY_MAX)}, archived ones included`, VALIDATION),
  feeTypes: share('create', 'fee types', `${FEE_TYPES_PER_AGENCY_MAX}, inactive ones included`, VALIDATION),
  rates: share('create', 'seasons of a unit', String(SEASONS_MAX), VALIDATION),
  restrictions: share('create', 'restrictions of a unit', String(RESTRICTIONS_MAX), VALIDATION),
  notes: share('create', 'notes of a booking', `${count(NOTES_LENGTH_MAX)} characters`, VALIDATION),
  nights: share(
    'create',
    'bookings and blocks of a unit',
    `a night is sold once; a stay has ${STAY_NIGHTS_MAX} nights at most`,
    '409 `BOOKING_CONFLICT`, 400 `VALIDATION`',
  ),
  sessions: share(
    'at once',
    'sessions of the page',
    `${SESSIONS_PER_MEMBER_MAX} of a person or token, ${SESSIONS_PER_AGENCY_MAX} of the agency`,
    "the agency's session that was unused for longest ends",
  ),
  waiting: share(
    'at once',
    'long polls and streams of changes',
    `${WAITING_PER_KEY_MAX} of a key, token or person, ${WAITING_PER_AGENCY_MAX} of the agency`,
    LIMITED,
  ),
  pings: share('at once', 'pings', `${PINGS_PER_AGENCY_MAX} at once`, LIMITED),
  resends: share(
    'at once',
    'webhook deliveries that are sent again by their date',
    `${RESEND_PART_MAX} per request, and none while ${RESENT_DUE_MAX} deliveries of the agency are due`,
    LIMITED,
  ),
  lists: share(
    'at once',
    'pages of lists, searches of guests, and reads of the past',
    `${LISTS_PER_AGENCY_MAX} at once, ${LISTS_WAITING_PER_AGENCY_MAX} wait`,
    BUSY,
  ),
  renderings: share('at once', 'large answers that are being written', `${RENDERINGS.shareMax} at once`, BUSY),
  searches: share('at once', 'searches of stays', `${SEARCHES_PER_AGENCY_MAX} at once`, BUSY),
  mailbox: share('at once', 'writes that wait for a unit', `${LIMITS.mailboxMax.fallback} (\`MAILBOX_MAX\`)`, BUSY),
  queue: share(
    'at once',
    'writes that wait for the database',
    `${count(LIMITS.journalWaitingMax.fallback * AGENCY_SHARE_OF_QUEUE)} (half of \`JOURNAL_WAITING_MAX\`)`,
    BUSY,
  ),
  idempotency: share('at once', 'requests with an `Idempotency-Key` in progress', count(OPEN_PER_AGENCY_MAX), BUSY),
  held: share(
    'at once',
    'requests that wait for the node of their shard, or for its answer',
    `${count(HELD_OF_SHARD_MAX)} held and ${count(FORWARDED_OF_SHARD_MAX)} forwarded of its shard`,
    BUSY,
  ),
  keyRequests: share(
    'rate',
    'requests of a key, those to `/mcp` included',
    'per minute as in the plan; per month those of all keys together',
    `${LIMITED}; 429 \`QUOTA_EXCEEDED\`, \`Retry-After\``,
  ),
  largeAnswers: share(
    'rate',
    'large answers',
    `one part of ${count(ANSWER_CHARS_PER_PART)} characters per ${PART_MS} ms while other agencies are served, per ${PART_ALONE_MS} ms otherwise, and ${BURST_PARTS} at once; a search counts by the stays it prices`,
    `it is delayed; a key that asks for one that would wait for more than ${PAUSE_MS_MAX / 1_000} s gets ${LIMITED}`,
  ),
  tokenRequests: share(
    'rate',
    'requests of people and access tokens',
    `${count(LIMITS.portalRequestsPerMinute.fallback)} per minute and person or token (\`PORTAL_REQUESTS_PER_MINUTE\`), of the agency ${AGENCY_BUDGET_FACTOR} times as many; each ${count(ANSWER_CHARS_PER_PART)} characters of an answer and ${count(BODY_BYTES_PER_REQUEST)} bytes of a body count as another`,
    LIMITED,
  ),
  signIns: share(
    'rate',
    'wrong tokens, passkeys and links',
    `${WRONG_TOKENS_PER_MINUTE} per minute of an address, and as many for a person`,
    `${LIMITED}; a valid one is accepted all the same, a passkey only while fewer than ${FLOOD_PER_MINUTE} come from its address`,
  ),
  links: share(
    'rate',
    'reads of a link that lets a person in',
    `${LINK_READS_PER_MINUTE} per minute of the link`,
    LIMITED,
  ),
  body: share('rate', 'the body of a request', `${count(BODY_BYTES_MAX)} bytes`, '413 `VALIDATION`'),
  auditLines: share(
    'rate',
    'audit lines of refused writes in the portal',
    `${REFUSAL_LINES_PER_MEMBER_MAX} per minute of a person or token, ${REFUSAL_LINES_PER_AGENCY_MAX} of the agency`,
    'further ones are counted in one line per outcome and minute',
  ),
  mails: share('rate', 'invitations that are mailed', `${MAILS_PER_HOUR_MAX} per hour`, 'the link is only shown'),
  attempts: share(
    'rate',
    'webhook attempts',
    `${POOL_LIMITS.perAgencyMax} at once; of a sandbox, ${(SANDBOX_BURST * 1_000) / SANDBOX_BURST_MS} a second`,
    'the others wait for their turn',
  ),
  calendars: share(
    'rate',
    'reads of calendar addresses',
    `${CALENDARS_PER_UNIT_MAX} per minute of a unit; ${count(CALENDAR_PAGES_PER_AGENCY_MAX)} pages written per minute of the agency`,
    LIMITED,
  ),
} as const satisfies Record<string, Share>

export type ShareName = keyof typeof SHARES

/** The shares that a route or a table draws on, or why it needs none. */
export type Bound = readonly ShareName[] | { readonly none: string }

const none = (reason: string): Bound => ({ none: reason })
const AGENCY = '/portal/v1/agencies/{agencySlug}'
const UNIT = `${AGENCY}/units/{unitSlug}`
const BOOKING = `${AGENCY}/bookings/{bookingId}`
const ENDPOINT = `${AGENCY}/webhook-endpoints/{endpointId}`
const STATIC = none('a text that is made once, the same for everybody')
const OPERATORS = none("the operator's alone")
const ONE = (...more: ShareName[]): Bound => ['tokenRequests', ...more]
const WRITE = (...more: ShareName[]): Bound => [
  'tokenRequests',
  'body',
  'idempotency',
  'auditLines',
  'queue',
  'held',
  ...more,
]
const KEY_WRITE: Bound = ['keyRequests', 'body', 'idempotency', 'mailbox', 'queue', 'held', 'nights']

/** By method and path. Every route of every surface. */
export const ROUTE_BOUNDS: Readonly<Record<string, Bound>> = {
  'OPTIONS /partner/v1/*': STATIC,
  'GET /docs': STATIC,
  'GET /docs/*': STATIC,
  'GET /portal': STATIC,
  'GET /portal/': STATIC,
  'GET /portal/assets/*': STATIC,
  'GET /.well-known/nightledger-checkpoint-key': STATIC,
  'GET /partner/v1/openapi.json': STATIC,
  'GET /portal/v1/openapi.json': STATIC,
  'GET /healthz': none('for the network of the operator: docs/operating/alerts.md'),
  'GET /readyz': none('for the network of the operator: docs/operating/alerts.md'),
  'GET /metrics': none('for the network of the operator: docs/operating/alerts.md'),
  'GET /partner/v1/me': ['keyRequests'],
  'GET /partner/v1/units': ['keyRequests', 'units', 'largeAnswers'],
  'GET /partner/v1/units/{slug}': ['keyRequests'],
  'GET /partner/v1/availability': ['keyRequests', 'lists', 'largeAnswers'],
  'GET /partner/v1/calendar': ['keyRequests', 'largeAnswers'],
  'GET /partner/v1/search': ['keyRequests', 'searches', 'largeAnswers'],
  'POST /partner/v1/quote': ['keyRequests', 'body', 'rates', 'feeTypes'],
  'GET /partner/v1/fee-types': ['keyRequests', 'feeTypes', 'largeAnswers'],
  'GET /partner/v1/bookings': ['keyRequests', 'lists', 'largeAnswers'],
  'GET /partner/v1/bookings/{id}': ['keyRequests'],
  'GET /partner/v1/bookings/{id}/history': ['keyRequests', 'lists', 'largeAnswers'],
  'POST /partner/v1/bookings': KEY_WRITE,
  'POST /partner/v1/bookings/{id}/cancel': KEY_WRITE,
  'POST /partner/v1/bookings/group': KEY_WRITE,
  'POST /partner/v1/bookings/group/{groupId}/cancel': KEY_WRITE,
  'GET /partner/v1/guests': ['keyRequests', 'lists', 'largeAnswers'],
  'GET /partner/v1/guests/{id}': ['keyRequests', 'lists'],
  'GET /partner/v1/changes': ['keyRequests', 'waiting', 'largeAnswers'],
  'GET /partner/v1/checkpoint': ['keyRequests', 'lists'],
  'GET /partner/v1/checkpoint/proof': ['keyRequests', 'lists'],
  'GET /partner/v1/bookings/{id}/proof': ['keyRequests', 'lists', 'largeAnswers'],
  'GET /partner/v1/test/clock': ['keyRequests'],
  'POST /partner/v1/test/clock': KEY_WRITE,
  'POST /partner/v1/test/events': ['keyRequests', 'body', 'attempts'],
  'POST /mcp': ['keyRequests', 'body', 'lists', 'searches', 'largeAnswers'],
  'GET /portal/v1/me': ONE(),
  'GET /portal/v1/me/sessions': ONE('sessions'),
  'DELETE /portal/v1/me/sessions': WRITE(),
  'DELETE /portal/v1/me/sessions/{sessionId}': WRITE(),
  'GET /portal/v1/me/passkeys': ONE('people'),
  'POST /portal/v1/me/passkeys/options': ONE('people'),
  'POST /portal/v1/me/passkeys': WRITE('people'),
  'PATCH /portal/v1/me/passkeys/{passkeyId}': WRITE(),
  'DELETE /portal/v1/me/passkeys/{passkeyId}': WRITE(),
  'POST /portal/v1/agencies': OPERATORS,
  'GET /portal/v1/agencies': OPERATORS,
  [`GET ${AGENCY}`]: ONE(),
  [`PATCH ${AGENCY}`]: OPERATORS,
  [`GET ${AGENCY}/sandbox`]: ONE(),
  [`POST ${AGENCY}/sandbox`]: WRITE('sandbox', 'units', 'feeTypes', 'mailbox'),
  [`DELETE ${AGENCY}/sandbox`]: WRITE('sandbox'),
  [`POST ${AGENCY}/sandbox/reset`]: WRITE('sandbox', 'units', 'feeTypes', 'mailbox'),
  [`POST ${AGENCY}/sandbox/clock`]: WRITE('sandbox'),
  [`POST ${AGENCY}/people`]: WRITE('people', 'mails'),
  [`GET ${AGENCY}/people`]: ONE('people', 'lists'),
  [`PATCH ${AGENCY}/people/{personId}`]: WRITE(),
  [`DELETE ${AGENCY}/people/{personId}`]: WRITE(),
  [`POST ${AGENCY}/people/{personId}/invitations`]: WRITE('people', 'mails'),
  [`POST ${AGENCY}/access-tokens`]: WRITE('tokens'),
  [`GET ${AGENCY}/access-tokens`]: ONE('tokens'),
  [`DELETE ${AGENCY}/access-tokens/{tokenId}`]: WRITE(),
  [`POST ${AGENCY}/keys`]: WRITE('keys'),
  [`GET ${AGENCY}/keys`]: ONE('keys'),
  [`DELETE ${AGENCY}/keys/{keyId}`]: WRITE(),
  [`POST ${AGENCY}/units`]: WRITE('units', 'mailbox'),
  [`GET ${AGENCY}/units`]: ONE('largeAnswers'),
  [`GET ${UNIT}`]: ONE(),
  [`PATCH ${UNIT}`]: WRITE('mailbox'),
  [`GET ${UNIT}/rates`]: ONE('rates'),
  [`PUT ${UNIT}/rates`]: WRITE('rates', 'mailbox'),
  [`GET ${UNIT}/restrictions`]: ONE('restrictions'),
  [`PUT ${UNIT}/restrictions`]: WRITE('restrictions', 'mailbox'),
  [`POST ${UNIT}/rates/preview`]: ONE('body', 'rates'),
  [`POST ${UNIT}/restrictions/preview`]: ONE('body', 'restrictions', 'largeAnswers'),
  [`POST ${AGENCY}/fee-types`]: WRITE('feeTypes'),
  [`GET ${AGENCY}/fee-types`]: ONE('feeTypes'),
  [`PATCH ${AGENCY}/fee-types/{feeTypeId}`]: WRITE('feeTypes'),
  [`GET ${AGENCY}/bookings`]: ONE('lists', 'largeAnswers'),
  [`GET ${BOOKING}`]: ONE(),
  [`POST ${AGENCY}/bookings`]: WRITE('mailbox', 'nights'),
  [`PATCH ${BOOKING}`]: WRITE('mailbox', 'nights'),
  [`POST ${BOOKING}/cancel`]: WRITE('mailbox'),
  [`POST ${AGENCY}/bookings/group`]: WRITE('mailbox', 'nights'),
  [`POST ${AGENCY}/bookings/group/{groupId}/cancel`]: WRITE('mailbox'),
  [`PUT ${BOOKING}/notes`]: WRITE('notes'),
  [`POST ${BOOKING}/erase-texts`]: WRITE(),
  [`GET ${BOOKING}/quote`]: ONE(),
  [`GET ${BOOKING}/history`]: ONE('lists', 'largeAnswers'),
  [`GET ${AGENCY}/changes`]: ONE('waiting', 'renderings', 'largeAnswers'),
  [`GET ${AGENCY}/guests`]: ONE('lists', 'largeAnswers'),
  [`GET ${AGENCY}/guests/{guestId}`]: ONE('lists'),
  [`PATCH ${AGENCY}/guests/{guestId}`]: WRITE(),
  [`POST ${AGENCY}/guests/{guestId}/erase`]: WRITE('mailbox', 'lists'),
  [`GET ${AGENCY}/audit`]: ONE('lists', 'largeAnswers'),
  [`GET ${AGENCY}/usage`]: ONE(),
  [`GET ${AGENCY}/retention`]: ONE(),
  [`PUT ${AGENCY}/retention`]: WRITE(),
  'POST /portal/v1/retention/run': OPERATORS,
  'GET /portal/v1/verification': OPERATORS,
  [`GET ${AGENCY}/tape`]: ONE('renderings', 'largeAnswers'),
  [`GET ${UNIT}/calendar`]: ONE('nights', 'lists', 'largeAnswers'),
  [`GET ${UNIT}/calendar-feed`]: ONE(),
  [`POST ${UNIT}/calendar-feed`]: WRITE('units'),
  [`GET ${UNIT}/calendar.ics`]: ['calendars'],
  [`POST ${AGENCY}/webhook-endpoints`]: WRITE('endpoints'),
  [`GET ${AGENCY}/webhook-endpoints`]: ONE('endpoints'),
  [`GET ${ENDPOINT}`]: ONE(),
  [`PATCH ${ENDPOINT}`]: WRITE(),
  [`DELETE ${ENDPOINT}`]: WRITE(),
  [`POST ${ENDPOINT}/rotate-secret`]: WRITE(),
  [`POST ${ENDPOINT}/ping`]: WRITE('pings'),
  [`POST ${ENDPOINT}/resend`]: WRITE('resends', 'attempts'),
  [`GET ${ENDPOINT}/deliveries`]: ONE('lists'),
  [`GET ${BOOKING}/deliveries`]: ONE('lists'),
  [`POST ${AGENCY}/deliveries/{deliveryId}/resend`]: WRITE('attempts'),
  'POST /portal/session': ['tokenRequests', 'sessions', 'body', 'lists', 'signIns', 'links'],
  'DELETE /portal/session': none('it gives a place back'),
  'POST /portal/links': ['lists', 'body', 'signIns', 'links'],
  'POST /portal/sign-in/options': none('made without looking anything up, the same for everybody'),
  'GET /portal/oidc/start': none('nobody is known yet, and nothing is kept'),
  'GET /portal/oidc/callback': none(
    'nobody is known yet; callbacks that wait for the provider have a limit of their own',
  ),
}

const ONE_ROW = none('one row of the service')
const PER_SHARD = none('one row per shard')

/** By table. */
export const TABLE_BOUNDS: Readonly<Record<string, Bound>> = {
  access_token: ['tokens', 'tokenRequests'],
  agency: OPERATORS,
  agency_retention: none('one row per agency'),
  api_key: ['keys', 'tokenRequests'],
  archived_unit: ['units'],
  audit_line: ['tokenRequests', 'keyRequests', 'auditLines'],
  booking: ['nights', 'keyRequests', 'tokenRequests'],
  calendar_feed: ['units'],
  checkpoint: ['keyRequests', 'tokenRequests'],
  checkpoint_key: none('one row per SECRET_KEY'),
  fee_type: ['feeTypes'],
  guest: ['nights', 'keyRequests', 'tokenRequests'],
  guest_erasure: ['nights', 'keyRequests', 'tokenRequests'],
  idempotency: ['keyRequests', 'tokenRequests'],
  journal: ['keyRequests', 'tokenRequests'],
  ledger: ONE_ROW,
  passkey: ['people'],
  person: ['people', 'tokenRequests'],
  person_link: ['people', 'tokenRequests'],
  portal_session: ['sessions'],
  rate_slot: ['keys'],
  secret_key_check: ONE_ROW,
  sending: ONE_ROW,
  sending_node: none('one row per node of the cluster'),
  shard: PER_SHARD,
  shard_chain: PER_SHARD,
  snapshot: ['units'],
  unit: ['units'],
  usage_day: none('one row per agency and day, kept for 13 months'),
  usage_month: none('one row per agency and month'),
  webhook_attempt: ['endpoints', 'keyRequests', 'tokenRequests'],
  webhook_delivery: ['endpoints', 'keyRequests', 'tokenRequests'],
  webhook_endpoint: ['endpoints', 'tokenRequests'],
  webhook_sender: ONE_ROW,
  writer: none('one row per process that waits to serve'),
}

/** As in docs/operating.md. */
export function sharesTable(): string {
  const rows = Object.values<Share>(SHARES).map(
    ({ how, what, limit, beyond }) => `| ${how} | ${what} | ${limit} | ${beyond} |`,
  )
  return ['| kind | of what | limit | beyond it |', '|---|---|---|---|', ...rows].join('\n')
}

function share(how: Share['how'], what: string, limit: string, beyond: string): Share {
  return { how, what, limit, beyond }
}
