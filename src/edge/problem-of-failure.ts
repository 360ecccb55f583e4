import { ListReadError, type ListReadErrorKind } from '../desk/list-read-error.ts'
import { JournalError, type JournalErrorKind } from '../journal/journal-error.ts'
import { AssertionError } from '../lib/assert.ts'
import { MailboxFullError } from '../units/unit-actor.ts'
import { type Problem, problem } from './problems.ts'

/** What a caller is told to wait before it tries again, in seconds: a database that restarts is back by then. */
const RETRY_AFTER_S = 2

const NOT_WRITTEN = 'Nothing was changed'
const UNKNOWN =
  'It is not known whether the change was made: look for it with GET /bookings, or repeat the request with the same Idempotency-Key'

const TITLE_OF_JOURNAL_ERROR = {
  full: `${NOT_WRITTEN}: too many writes wait already. Try again`,
  held_too_long: `${NOT_WRITTEN}: the database did not take the change in time. Try again`,
  fenced: `${NOT_WRITTEN}: this process is being replaced by another. Try again`,
  closed: `${NOT_WRITTEN}: this process is ending. Try again`,
  poisoned: `${NOT_WRITTEN}: the database refused the change, which is a fault of the service`,
  outcome_unknown: UNKNOWN,
} as const satisfies Record<JournalErrorKind, string>

const TITLE_OF_LIST_ERROR = {
  busy: 'Cannot read the list now: too many list requests of this agency are under way. Try again',
  slow: 'Cannot read the list: it takes longer than 5 s. Narrow the search or the filters, or try again',
} as const satisfies Record<ListReadErrorKind, string>

/** What was thrown while a request was served. A bug ends the process once the answer is on its way. */
export interface Failure {
  readonly problem: Problem
  readonly isBug: boolean
}

/**
 * The answer to whatever a request ended in beside a rejection: 500 INTERNAL, saying what is known of the outcome. Never the error's own
 * message: it may hold what a caller must not see.
 */
export function failureOf(error: unknown): Failure {
  if (error instanceof AssertionError) return { problem: internal(UNKNOWN), isBug: true }
  if (error instanceof JournalError) return { problem: internal(TITLE_OF_JOURNAL_ERROR[error.kind]), isBug: false }
  if (error instanceof MailboxFullError)
    return { problem: internal(`${NOT_WRITTEN}: too many writes to this unit wait already. Try again`), isBug: false }
  if (error instanceof ListReadError) return { problem: internal(TITLE_OF_LIST_ERROR[error.kind]), isBug: false }
  // Only the journal writes, and it throws its own errors: what else fails has failed at reading.
  return { problem: internal(`${NOT_WRITTEN}: the database did not answer. Try again`), isBug: false }
}

function internal(title: string): Problem {
  return problem('INTERNAL', title, {}, { retryAfterS: RETRY_AFTER_S })
}
