/**
 * The one table of refusals: code, status, extra members (contract, Errors; design, Additive headers). The compiler finds
 * a rejection of the domain that has no row. REST, MCP and the portal answer from it; the OpenAPI document is made from it.
 */

import { type Static, type TObject, type TProperties, Type } from '@sinclair/typebox'
import { SCOPES } from '../../core/catalogue/agency.ts'
import type { Rejection } from '../../core/domain/rejection.ts'
import type { FieldError } from '../schema/checked.ts'
import { dateText } from '../schema/text-schema.ts'

/** Refusals that do not come from the rules of the domain. */
export type RequestCode =
  | 'VALIDATION'
  | 'UNAUTHORIZED'
  | 'FEATURE_DISABLED'
  | 'SCOPE_MISSING'
  | 'NOT_FOUND'
  | 'SLUG_TAKEN'
  | 'EMAIL_TAKEN'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'RATE_LIMITED'
  | 'QUOTA_EXCEEDED'
  | 'INTERNAL'

export type ProblemCode = RequestCode | Rejection['code']

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
const stringOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description })

export const PROBLEMS = {
  VALIDATION: {
    status: 400,
    when: 'Malformed parameters, headers or body. `title` names the first offending field and what would pass.',
    members: {
      errors: Type.Array(
        Type.Object({
          field: Type.String({ description: 'The offending field, for example `guest.email`.' }),
          message: Type.String({ description: 'Names the field and what would pass.' }),
        }),
      ),
    },
    example: {
      title: 'arrival must be a date YYYY-MM-DD that exists, from 2000-01-01 to 2099-12-31',
      errors: [
        {
          field: 'arrival',
          message: 'arrival must be a date YYYY-MM-DD that exists, from 2000-01-01 to 2099-12-31',
        },
      ],
    },
  },
  UNAUTHORIZED: {
    status: 401,
    when: 'The key is missing, malformed, unknown, revoked or expired, or the agency is not active.',
    members: {},
    example: { title: 'A valid API key is needed: send the header Authorization: Bearer <API_KEY>' },
  },
  FEATURE_DISABLED: {
    status: 403,
    when: "The agency's plan has no API access.",
    members: {},
    example: { title: "The agency's plan does not include API access" },
  },
  SCOPE_MISSING: {
    status: 403,
    when: 'The key lacks the scope that `scope` names.',
    members: { scope: stringOf(SCOPES, 'The missing scope.') },
    example: { title: 'The key lacks the scope write:bookings', scope: 'write:bookings' },
  },
  NOT_FOUND: {
    status: 404,
    when: 'There is no such unit, booking, guest or route in the agency.',
    members: {},
    example: { title: 'There is no such booking' },
  },
  BOOKING_CONFLICT: {
    status: 409,
    when: 'Nights of the stay are taken: someone else was faster.',
    members: {
      conflict: Type.Object({
        from: dateText('First taken night of the wanted stay.'),
        to: dateText('The day after the last taken night of the wanted stay.'),
        nights: Type.Array(dateText('A taken night.')),
        bookableFrom: nullableDate('First later arrival on which a stay of this length can be booked now.'),
      }),
    },
    example: {
      title: 'Nights of the stay are taken: 2027-03-02, 2027-03-03',
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
    when: 'The arrival falls into the cleaning block after the previous stay.',
    members: {
      conflict: Type.Object({
        bookableFrom: nullableDate('First later arrival on which a stay of this length can be booked now.'),
        departure: dateText('The departure after which the unit is cleaned.'),
      }),
    },
    example: {
      title: 'The unit is being cleaned after the departure of 2027-03-04',
      conflict: { bookableFrom: '2027-03-06', departure: '2027-03-04' },
    },
  },
  EXPECTED_EXTENSION_CONFLICT: {
    status: 409,
    when: 'A guest in house is expected to extend into the stay.',
    members: {
      conflicts: Type.Array(
        Type.Object({
          from: dateText('First night that is kept.'),
          to: dateText('The day after the last night that is kept.'),
        }),
      ),
    },
    example: {
      title: 'A guest in house is expected to stay on into these nights',
      conflicts: [{ from: '2027-03-04', to: '2027-03-08' }],
    },
  },
  INVALID_TRANSITION: {
    status: 409,
    when: 'The booking cannot go from its status to the wanted one.',
    members: {
      from: Type.String(),
      to: Type.String(),
      possible: Type.Array(Type.String({ description: 'A status that may follow.' })),
    },
    example: {
      title: 'A booking that is cancelled cannot become confirmed',
      from: 'cancelled',
      to: 'confirmed',
      possible: [],
    },
  },
  SLUG_TAKEN: {
    status: 409,
    when: 'Another agency, or another unit of the agency, has the slug. Archived units keep theirs.',
    members: { slug: Type.String() },
    example: { title: 'The slug sea-view is taken', slug: 'sea-view' },
  },
  EMAIL_TAKEN: {
    status: 409,
    when: 'Another guest of the agency has the e-mail.',
    members: { email: Type.String() },
    example: { title: 'Another guest has the e-mail ana@example.com', email: 'ana@example.com' },
  },
  MIN_STAY: {
    status: 422,
    when: 'The stay is below the effective minimum.',
    members: { minStay: Type.Integer({ minimum: 1, description: 'Nights a stay with this arrival must have.' }) },
    example: { title: 'A stay with this arrival has at least 3 nights', minStay: 3 },
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    when: 'The `Idempotency-Key` was sent before with another request.',
    members: {},
    example: { title: 'This Idempotency-Key was sent before with another request: use a new one' },
  },
  RATE_LIMITED: {
    status: 429,
    when: 'The budget of requests per minute is used up. `Retry-After` says when to come again.',
    members: {},
    example: { title: 'The budget of 60 requests per minute is used up: try again in 12 s' },
  },
  QUOTA_EXCEEDED: {
    status: 429,
    when: 'The monthly quota is used up, until the 1st of the next month (UTC).',
    members: {
      quota: Type.Integer({ description: 'Requests per month.' }),
      used: Type.Integer({ description: 'Requests of this month.' }),
      resetsAt: Type.String({ format: 'date-time', description: 'When the next month begins.' }),
    },
    example: {
      title: 'The quota of 50000 requests per month is used up until 2027-04-01T00:00:00.000Z',
      quota: 50_000,
      used: 50_000,
      resetsAt: '2027-04-01T00:00:00.000Z',
    },
  },
  INTERNAL: {
    status: 500,
    when: 'A fault of the service; `title` says what is known of the outcome. Safe to retry with backoff.',
    members: {},
    example: { title: 'Nothing was changed: the database did not answer in time. Try again' },
  },
} as const satisfies Record<ProblemCode, Row>

type Members<C extends ProblemCode> = Static<TObject<(typeof PROBLEMS)[C]['members']>>

/** A refusal, before it is written as an answer. */
export interface Problem {
  readonly code: ProblemCode
  readonly title: string
  readonly status: number
  readonly members: Readonly<Record<string, unknown>>
  /** Whole seconds; becomes `Retry-After`. */
  readonly retryAfterS: number | null
}

/** Makes a refusal with the members that its row asks for. */
export function problem<C extends ProblemCode>(
  code: C,
  title: string,
  members: Members<C>,
  options: { readonly status?: number; readonly retryAfterS?: number } = {},
): Problem {
  const status = options.status ?? PROBLEMS[code].status
  return { code, title, status, members, retryAfterS: options.retryAfterS ?? null }
}

/** The error body: `code`, `title`, `requestId`, then the members of the code (contract, Error body). */
export function problemBody({ code, title, members }: Problem, requestId: string): string {
  return JSON.stringify({ code, title, requestId, ...members })
}

/** No more are listed: a body can be wrong in thousands of places. */
const ERRORS_MAX = 20

/** @param errors at least one */
export function invalid(errors: readonly FieldError[], options: { status?: number } = {}): Problem {
  return problem(
    'VALIDATION',
    errors[0]?.message ?? 'The request is malformed',
    { errors: errors.slice(0, ERRORS_MAX) },
    options,
  )
}

export function invalidField(field: string, rest: string, options: { status?: number } = {}): Problem {
  return invalid([{ field, message: `${field} ${rest}` }], options)
}

/** What an answer of 404 may speak of. */
type Thing = 'unit' | 'booking' | 'guest' | 'route' | 'agency' | 'key' | 'fee type' | 'webhook endpoint' | 'delivery'

export function notFound(what: Thing): Problem {
  return problem('NOT_FOUND', `There is no such ${what}`, {})
}
