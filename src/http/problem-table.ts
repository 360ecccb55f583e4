/**
 * The one table of refusals: code, status, extra members (docs/contract.md#errors; docs/design.md#additive-headers). The compiler finds
 * a rejection of the domain that has no row. REST, MCP and the portal answer from it; the OpenAPI document is made from it.
 */

import { type TProperties, Type } from '@sinclair/typebox'
import { ROLES, SCOPES } from '../core/catalogue/agency.ts'
import type { Rejection } from '../core/domain/night-guard.ts'
import { REFUSING_RULES } from '../core/domain/restrictions.ts'
import { QuoteJson } from './quote-schema.ts'
import { dateText } from './text-schema.ts'

interface Row {
  readonly status: number
  /** When it is answered; for the OpenAPI document. */
  readonly when: string
  /** The members in addition to `code`, `title` and `requestId`. */
  readonly members: TProperties
  /** A body as it may come, without `code` and `requestId`. */
  readonly example: { readonly title: string } & Readonly<Record<string, unknown>>
}

const nullableDate = (description: string) => Type.Union([dateText(description), Type.Null()])
const stringOf = <const V extends string>(values: readonly V[], description: string) =>
  Type.Unsafe<V>({ type: 'string', enum: [...values], description })

export const PROBLEMS = {
  VALIDATION: {
    status: 400,
    when: 'Malformed parameters, headers or body. `title` names the first offending field and what is accepted.',
    members: {
      errors: Type.Array(
        Type.Object({
          field: Type.String({ description: 'The offending field, for example `guest.email`.' }),
          message: Type.String({ description: 'Names the field and what is accepted.' }),
        }),
      ),
    },
    example: {
      title: 'arrival must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31',
      errors: [
        {
          field: 'arrival',
          message: 'arrival must be a valid date YYYY-MM-DD from 2000-01-01 to 2099-12-31',
        },
      ],
    },
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The API key is missing, malformed, unknown, revoked or expired, or the agency is suspended.',
    members: {},
    example: { title: 'Missing or invalid API key: send the header Authorization: Bearer <API_KEY>' },
  },
  FEATURE_DISABLED: {
    status: 403,
    when: "The agency's plan has no API access, or the route is only for the keys of a sandbox and this is none.",
    members: {},
    example: { title: "The agency's plan does not include API access" },
  },
  SCOPE_MISSING: {
    status: 403,
    when: 'The API key does not have the scope that `scope` names.',
    members: { scope: stringOf(SCOPES, 'The missing scope.') },
    example: { title: 'The API key does not have the scope write:bookings', scope: 'write:bookings' },
  },
  ROLE_MISSING: {
    status: 403,
    when: 'The access token does not have the role that `role` names, or a higher one. `operator`: access tokens are not accepted.',
    members: { role: stringOf([...ROLES, 'operator'], 'The lowest role that is sufficient.') },
    example: { title: 'This needs the role Manager or a higher one; yours is Desk', role: 'manager' },
  },
  CROSS_ORIGIN: {
    status: 403,
    when: 'A write with a session cookie that was not sent by the page itself.',
    members: {},
    example: {
      title: 'This request did not come from the page: send the header X-Nightledger-Page: 1, from the same origin',
    },
  },
  PEOPLE_ONLY: {
    status: 403,
    when: 'The request is for people only, but came with an access token or from the operator.',
    members: {},
    example: { title: 'Only people have passkeys: sign in as a person of the agency' },
  },
  OIDC_ONLY: {
    status: 403,
    when: 'The operator lets people sign in with the OpenID provider only.',
    members: {},
    example: { title: 'People sign in with the identity provider only: the operator has turned off every other way' },
  },
  LINK_NOT_VALID: {
    status: 401,
    when: 'The link is unknown, used, expired, replaced or of another browser, or its person can no longer sign in.',
    members: {},
    example: { title: 'This link is not valid: it may have been used, expired or replaced. Ask for another one' },
  },
  LAST_OWNER: {
    status: 409,
    when: 'The agency would have no owner left who can sign in. The operator can make the change.',
    members: {},
    example: { title: 'This is the last owner who can sign in: make another person an owner first' },
  },
  LAST_PASSKEY: {
    status: 409,
    when: 'The person would have no passkey left.',
    members: {},
    example: { title: 'This is your last passkey: add another one first' },
  },
  NOT_FOUND: {
    status: 404,
    when: 'No such unit, booking, group, guest or route in the agency.',
    members: {},
    example: { title: 'No such booking' },
  },
  BOOKING_CONFLICT: {
    status: 409,
    when: 'At least one night of the stay is already booked.',
    members: {
      conflict: Type.Object({
        from: dateText('First night of the requested stay that is already booked.'),
        to: dateText('The day after the last night of the requested stay that is already booked.'),
        nights: Type.Array(dateText('A night that is already booked.')),
        bookableFrom: nullableDate(
          'The first later arrival date on which a stay of this length is currently available; null if there is none.',
        ),
      }),
    },
    example: {
      title: 'These nights are already booked: 2027-03-02, 2027-03-03',
      conflict: {
        from: '2027-03-02',
        to: '2027-03-04',
        nights: ['2027-03-02', '2027-03-03'],
        bookableFrom: '2027-03-04',
      },
    },
  },
  TURNOVER_BLOCK_CONFLICT: {
    status: 409,
    when: 'The arrival falls on a cleaning night after the previous stay.',
    members: {
      conflict: Type.Object({
        bookableFrom: nullableDate(
          'The first later arrival date on which a stay of this length is currently available; null if there is none.',
        ),
        departure: dateText('The departure that the cleaning nights follow.'),
      }),
    },
    example: {
      title: 'The arrival falls on a cleaning night after the departure on 2027-03-04',
      conflict: { bookableFrom: '2027-03-06', departure: '2027-03-04' },
    },
  },
  EXPECTED_EXTENSION_CONFLICT: {
    status: 409,
    when: 'The current guest is expected to extend their stay into the requested nights.',
    members: {
      conflicts: Type.Array(
        Type.Object({
          from: dateText('First reserved night.'),
          to: dateText('The day after the last reserved night.'),
        }),
      ),
    },
    example: {
      title: 'The current guest is expected to extend their stay into these nights',
      conflicts: [{ from: '2027-03-04', to: '2027-03-08' }],
    },
  },
  INVALID_TRANSITION: {
    status: 409,
    when: 'The booking cannot change from its current status to the requested one.',
    members: {
      from: Type.String(),
      to: Type.String(),
      possible: Type.Array(Type.String({ description: 'A status the booking can change to.' })),
    },
    example: {
      title: 'Cannot change the status of a booking from cancelled to confirmed',
      from: 'cancelled',
      to: 'confirmed',
      possible: [],
    },
  },
  VERSION_CHANGED: {
    status: 412,
    when: 'The booking is not at the version in `If-Match`: someone else has changed it.',
    members: { version: Type.Integer({ minimum: 1, description: 'The current version of the booking.' }) },
    example: { title: 'The booking has changed: its version is now 4', version: 4 },
  },
  SLUG_TAKEN: {
    status: 409,
    when: 'The slug is used by another agency, or by another unit of this agency. Archived units keep their slugs.',
    members: { slug: Type.String() },
    example: { title: 'The slug sea-view is already in use', slug: 'sea-view' },
  },
  EMAIL_TAKEN: {
    status: 409,
    when: 'Another guest, or another person, of the agency has this e-mail address.',
    members: { email: Type.String() },
    example: { title: 'Another guest already has the e-mail address ana@example.com', email: 'ana@example.com' },
  },
  SANDBOX_EXISTS: {
    status: 409,
    when: 'The agency already has a sandbox, or is one.',
    members: { slug: Type.String({ description: 'Slug of the sandbox.' }) },
    example: { title: 'The agency already has a sandbox: harbour-sandbox', slug: 'harbour-sandbox' },
  },
  RATES_CHANGED: {
    status: 412,
    when: 'The rates of the unit do not have an entity tag of `If-Match`: someone else has changed them.',
    members: {},
    example: { title: "The unit's rates have changed since you read them" },
  },
  RESTRICTIONS_CHANGED: {
    status: 412,
    when: 'The restrictions of the unit do not have an entity tag of `If-Match`: someone else has changed them.',
    members: {},
    example: { title: "The unit's restrictions have changed since you read them" },
  },
  NOTES_CHANGED: {
    status: 409,
    when: 'The notes of the booking are not those in `replaces`: someone else has changed them.',
    members: { notes: Type.Union([Type.String(), Type.Null()], { description: 'The notes as they are now.' }) },
    example: { title: 'The notes have changed since you read them', notes: 'Arrives at midnight' },
  },
  QUOTE_CHANGED: {
    status: 412,
    when: 'A quote of this stay would no longer have an entity tag of `If-Match`. Nothing was booked; `quote` is the present price.',
    members: { quote: QuoteJson },
    example: {
      title: 'The price is no longer the quoted one: it is now 40800 in minor units of EUR',
      quote: {
        nights: 4,
        currency: 'EUR',
        total: 40_800,
        lines: [
          {
            kind: 'accommodation',
            label: 'Nightly rate',
            from: '2027-03-01',
            to: '2027-03-05',
            quantity: 4,
            unitAmount: 10_200,
            pct: null,
            amount: 40_800,
            feeTypeId: null,
          },
        ],
      },
    },
  },
  CURSOR_EXPIRED: {
    status: 410,
    when: 'The changes after the cursor are no longer kept, or the ledger was restored from a backup without them.',
    members: {},
    example: {
      title:
        'The changes after this cursor are no longer kept: get a new cursor without after, then read the bookings again',
    },
  },
  HISTORY_EXPIRED: {
    status: 410,
    when: 'The history of the unit at `asOf` is no longer kept: the operator has archived it.',
    members: {},
    example: { title: 'The history of the unit at asOf is no longer kept: ask for a later moment' },
  },
  MIN_STAY: {
    status: 422,
    when: 'The stay is shorter than the effective minimum stay.',
    members: { minStay: Type.Integer({ minimum: 1, description: 'Minimum number of nights for this arrival.' }) },
    example: { title: 'Minimum stay for these dates: 3 nights', minStay: 3 },
  },
  RESTRICTED: {
    status: 422,
    when: 'Restrictions of the unit refuse the stay. `restrictions` lists all of them, `alternatives` the nearest arrivals that would be accepted.',
    members: {
      restrictions: Type.Array(
        Type.Object({
          rule: stringOf(REFUSING_RULES, 'The rule.'),
          date: dateText('The date that the rule was checked for.'),
          value: Type.Union([Type.Boolean(), Type.Integer()]),
        }),
        { description: 'All rules that refuse the stay.' },
      ),
      alternatives: Type.Object(
        {
          previousArrival: nullableDate('The nearest earlier arrival.'),
          nextArrival: nullableDate('The nearest later arrival.'),
        },
        {
          description:
            'The nearest arrivals, within 30 days either way, for which the same number of nights would be accepted now; null: none.',
        },
      ),
    },
    example: {
      title:
        'This stay cannot be booked: no arrivals on 2027-07-04. For the same number of nights, try an arrival on 2027-07-03 or 2027-07-10',
      restrictions: [{ rule: 'closedToArrival', date: '2027-07-04', value: true }],
      alternatives: { previousArrival: '2027-07-03', nextArrival: '2027-07-10' },
    },
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    when: 'The `Idempotency-Key` was already used for a different request.',
    members: {},
    example: { title: 'This Idempotency-Key was already used for a different request: use a new key' },
  },
  RATE_LIMITED: {
    status: 429,
    when: 'The per-minute rate limit is exceeded. `Retry-After` gives the number of seconds to wait.',
    members: {},
    example: { title: 'Rate limit of 60 requests per minute exceeded: retry in 12 s' },
  },
  QUOTA_EXCEEDED: {
    status: 429,
    when: 'The monthly quota is exhausted. It resets on the 1st of the next month (UTC).',
    members: {
      quota: Type.Integer({ description: 'Requests allowed per month.' }),
      used: Type.Integer({ description: 'Requests made this month.' }),
      resetsAt: Type.String({ format: 'date-time', description: 'When the quota resets.' }),
    },
    example: {
      title: 'Monthly quota of 50000 requests exhausted: it resets at 2027-04-01T00:00:00.000Z',
      quota: 50_000,
      used: 50_000,
      resetsAt: '2027-04-01T00:00:00.000Z',
    },
  },
  INTERNAL: {
    status: 500,
    when: 'The service failed; `title` says what is known about the outcome. Safe to retry with backoff.',
    members: {
      traceId: Type.Optional(Type.String({ description: 'Trace ID of a request with a `traceparent` header.' })),
    },
    example: { title: 'Nothing was changed: the database did not answer in time. Try again' },
  },
} as const satisfies Record<string, Row> & Record<Rejection['code'], Row>

export type ProblemCode = keyof typeof PROBLEMS
