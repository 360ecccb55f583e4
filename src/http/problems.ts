/** Refusals, before they are written as answers: each has a row in the table. */

import { type Static, type TObject, Type } from '@sinclair/typebox'
import { assert } from '../lib/assert.ts'
import { PROBLEMS, type ProblemCode } from './problem-table.ts'
import { FAULTS_MAX, type FieldError } from './validator.ts'

type Members<C extends ProblemCode> = Static<TObject<(typeof PROBLEMS)[C]['members']>>

/** A refusal as it is answered. */
export type ProblemBody<C extends ProblemCode> = C extends ProblemCode
  ? { code: C; title: string; requestId: string } & Members<C>
  : never

/** A refusal, before it is written as an answer. */
export interface Problem {
  readonly code: ProblemCode
  readonly title: string
  readonly status: number
  readonly members: Readonly<Record<string, unknown>>
  /** Whole seconds; becomes `Retry-After`. */
  readonly retryAfterS: number | null
}

/** Makes a refusal with the members that its row declares. */
export function problem<C extends ProblemCode>(
  code: C,
  title: string,
  members: Members<C>,
  options: { readonly status?: number; readonly retryAfterS?: number } = {},
): Problem {
  const status = options.status ?? PROBLEMS[code].status
  return { code, title, status, members, retryAfterS: options.retryAfterS ?? null }
}

/** The members that the refusal of a group has in addition to those of its first refused stay. */
export const REFUSED_STAYS = {
  stay: Type.Integer({ minimum: 0, description: 'Index in `stays` of the first refused stay.' }),
  refusals: Type.Array(
    Type.Object({ stay: Type.Integer({ minimum: 0 }), code: Type.String() }, { additionalProperties: true }),
    { description: 'All refused stays, in order, each with its `code` and the members of that code.' },
  ),
}

export interface RefusedStay {
  readonly stay: number
  readonly problem: Problem
}

/** The refusal of a group: that of its first refused stay, and a list of all. @param refused at least one, in order */
export function refusedStays(refused: readonly RefusedStay[]): Problem {
  const [first] = refused
  assert(first !== undefined, 'Cannot refuse a group: none of its stays is refused')
  const refusals = refused.map(({ stay, problem: { code, members } }) => ({ stay, code, ...members }))
  const { stay, problem: of } = first
  return { ...of, title: `stays[${stay}]: ${of.title}`, members: { ...of.members, stay, refusals } }
}

/** The error body: `code`, `title`, `requestId`, then the members of the code (docs/contract.md#error-body). */
export function problemBody(
  { code, title, members }: Problem,
  ids: { readonly requestId: string; readonly traceId?: string },
): string {
  return JSON.stringify({ code, title, ...ids, ...members })
}

/** @param errors at least one; no more than `FAULTS_MAX` are listed */
export function invalid(errors: readonly FieldError[], options: { status?: number } = {}): Problem {
  return problem(
    'VALIDATION',
    errors[0]?.message ?? 'The request is malformed',
    { errors: errors.slice(0, FAULTS_MAX) },
    options,
  )
}

export function invalidField(field: string, rest: string, options: { status?: number } = {}): Problem {
  return invalid([{ field, message: `${field} ${rest}` }], options)
}

/** Errors of a member as errors of the body that contains it. */
export function within(member: string, errors: readonly FieldError[]): FieldError[] {
  return errors.map(({ field, message }) => ({ field: `${member}.${field}`, message: `${member}.${message}` }))
}

/** What a 404 can name. */
type Thing =
  | 'unit'
  | 'booking'
  | 'group'
  | 'guest'
  | 'route'
  | 'agency'
  | 'sandbox'
  | 'key'
  | 'access token'
  | 'person'
  | 'passkey'
  | 'session'
  | 'fee type'
  | 'webhook endpoint'
  | 'delivery'

export function notFound(what: Thing): Problem {
  return problem('NOT_FOUND', `No such ${what}`, {})
}

const SLUG_SHOWN_MAX = 64

/** Where a request names several units, and one of them is unknown. */
export function unknownUnit(slug: string): Problem {
  return problem('NOT_FOUND', `No such unit: ${slug.slice(0, SLUG_SHOWN_MAX).toWellFormed()}`, {})
}
