import type * as Types from './types.ts'

/** Everything that this package throws, except for your own abort and wrong arguments. */
export class NightledgerError extends Error {
  override name = 'NightledgerError'
  /** Of a write: the key that was sent. Repeat it with this key, and it happens once. */
  idempotencyKey: string | null = null
}

/** No complete answer was received, within the tries and the time of the call. Of a write, the outcome is unknown. */
export class NoAnswerError extends NightledgerError {
  override name = 'NoAnswerError'
}

/**
 * The agency's history is not the one that an earlier checkpoint stands for: entries were changed or removed since. Keep both notes, and
 * ask the agency.
 */
export class HistoryRewrittenError extends NightledgerError {
  override name = 'HistoryRewrittenError'
  /** The note of the earlier checkpoint. */
  declare readonly before: string
  /** The note of the checkpoint that does not continue it. */
  declare readonly after: string

  constructor(message: string, before: string, after: string) {
    super(message)
    this.before = before
    this.after = after
  }
}

/** An answer as it was received. */
export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

type Answered = [answer: RawAnswer, body: Readonly<Record<string, unknown>>]

/** The service refused. Each `code` has a class of its own; this one stands for codes that are newer than this package. */
export class ApiError<C extends string = string> extends NightledgerError {
  override name = 'ApiError'
  /** Stable: branch on it. `HTTP_502` and the like if the answer did not come from the service. */
  declare readonly code: C
  declare readonly status: number
  /** Say this when you ask the agency's operator about a request. */
  declare readonly requestId: string | null
  /** For humans. */
  declare readonly title: string
  declare readonly answer: RawAnswer
  /** Of a group: the index of the first refused stay. */
  declare readonly stay?: number
  /** Of a group: every refused stay. */
  declare readonly refusals?: Types.BookingConflictProblemOfStays['refusals']

  constructor(...[answer, body]: Answered) {
    const { status, headers } = answer
    const code = typeof body['code'] === 'string' ? body['code'] : `HTTP_${status}`
    const title = typeof body['title'] === 'string' ? body['title'] : `Answer with status ${status}`
    super(`${title} (${code})`)
    this.code = code as C
    this.status = status
    this.requestId = headers.get('x-request-id')
    this.title = title
    this.answer = answer
    for (const [member, value] of Object.entries(body)) if (!(member in this)) Object.assign(this, { [member]: value })
  }
}

export class ValidationError extends ApiError<'VALIDATION'> {
  declare readonly errors: Types.ValidationProblem['errors']
}
export class UnauthorizedError extends ApiError<'UNAUTHORIZED'> {}
export class FeatureDisabledError extends ApiError<'FEATURE_DISABLED'> {}
export class ScopeMissingError extends ApiError<'SCOPE_MISSING'> {
  declare readonly scope: Types.ScopeMissingProblem['scope']
}
export class NotFoundError extends ApiError<'NOT_FOUND'> {}
export class BookingConflictError extends ApiError<'BOOKING_CONFLICT'> {
  declare readonly conflict: Types.BookingConflictProblem['conflict']
}
export class TurnoverBlockConflictError extends ApiError<'TURNOVER_BLOCK_CONFLICT'> {
  declare readonly conflict: Types.TurnoverBlockConflictProblem['conflict']
}
export class ExpectedExtensionConflictError extends ApiError<'EXPECTED_EXTENSION_CONFLICT'> {
  declare readonly conflicts: Types.ExpectedExtensionConflictProblem['conflicts']
}
export class CursorExpiredError extends ApiError<'CURSOR_EXPIRED'> {}
export class HistoryExpiredError extends ApiError<'HISTORY_EXPIRED'> {}
export class QuoteChangedError extends ApiError<'QUOTE_CHANGED'> {
  /** The present price. Nothing was booked. */
  declare readonly quote: Types.QuoteChangedProblem['quote']
}
export class MinStayError extends ApiError<'MIN_STAY'> {
  /** Nights. */
  declare readonly minStay: number
}
export class RestrictedError extends ApiError<'RESTRICTED'> {
  declare readonly restrictions: Types.RestrictedProblem['restrictions']
  declare readonly alternatives: Types.RestrictedProblem['alternatives']
}
export class IdempotencyKeyReusedError extends ApiError<'IDEMPOTENCY_KEY_REUSED'> {}
export class RateLimitedError extends ApiError<'RATE_LIMITED'> {}
export class QuotaExceededError extends ApiError<'QUOTA_EXCEEDED'> {
  declare readonly quota: number
  declare readonly used: number
  declare readonly resetsAt: string
}
export class InternalError extends ApiError<'INTERNAL'> {}

const CLASSES: Readonly<Record<string, new (...answer: Answered) => ApiError>> = {
  VALIDATION: ValidationError,
  UNAUTHORIZED: UnauthorizedError,
  FEATURE_DISABLED: FeatureDisabledError,
  SCOPE_MISSING: ScopeMissingError,
  NOT_FOUND: NotFoundError,
  BOOKING_CONFLICT: BookingConflictError,
  TURNOVER_BLOCK_CONFLICT: TurnoverBlockConflictError,
  EXPECTED_EXTENSION_CONFLICT: ExpectedExtensionConflictError,
  CURSOR_EXPIRED: CursorExpiredError,
  HISTORY_EXPIRED: HistoryExpiredError,
  QUOTE_CHANGED: QuoteChangedError,
  MIN_STAY: MinStayError,
  RESTRICTED: RestrictedError,
  IDEMPOTENCY_KEY_REUSED: IdempotencyKeyReusedError,
  RATE_LIMITED: RateLimitedError,
  QUOTA_EXCEEDED: QuotaExceededError,
  INTERNAL: InternalError,
}

/** The error of an answer, of the class of its code. */
export function apiErrorOf(answer: RawAnswer): ApiError {
  let body: unknown
  try {
    body = JSON.parse(answer.text)
  } catch {
    // A proxy's page.
  }
  const members = Object(body) as Readonly<Record<string, unknown>>
  const code = String(members['code'])
  const OfCode = Object.hasOwn(CLASSES, code) ? CLASSES[code] : undefined
  const error = new (OfCode ?? ApiError)(answer, members)
  // From the code, because a minifier renames classes.
  if (OfCode !== undefined)
    error.name = `${code.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase())}Error`
  return error
}
