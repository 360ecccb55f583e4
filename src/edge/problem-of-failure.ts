import { type Access, ClosedHereError } from '../desk/closed-here-error.ts'
import { ListReadError, type ListReadErrorKind } from '../desk/list-read-error.ts'
import { RefusalNotRecordedError } from '../desk/refusal-not-recorded-error.ts'
import { WriteError, type WriteOutcome } from '../desk/write-error.ts'
import { JournalError, type JournalErrorKind } from '../journal/journal-error.ts'
import { AssertionError } from '../lib/assert.ts'
import { isOfDatabase } from '../lib/database-failure.ts'
import { MailboxFullError } from '../units/unit-actor.ts'
import type { VerificationErrorKind } from '../verify/verification-error.ts'
import { VerificationError } from '../verify/verification-error.ts'
import { IdempotencyFullError } from './idempotency.ts'
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

const CHECK = 'Check whether it was applied before retrying'

const TITLE_OF_WRITE_ERROR = {
  not_written: `${NOT_WRITTEN}: the database did not take the change. Try again`,
  unknown: `It is not known whether the change was made: the database did not answer. ${CHECK}`,
  begun: 'The change was begun and is not finished: repeat the request',
  made: 'The change was made, but the answer could not be completed: read the result instead of repeating the change',
} as const satisfies Record<WriteOutcome, string>

const TITLE_OF_CLOSED_ACCESS = {
  key: 'The key is refused here from now on, but its revocation may not be stored yet: repeat the request',
  agency: 'The agency is suspended here from now on, but this may not be stored yet: repeat the request',
  calendar_address: 'The old address is refused here from now on, but a new one may not be stored: change it again',
} as const satisfies Record<Access, string>

const TITLE_OF_VERIFICATION_ERROR = {
  not_started: 'The verification could not start: there was no process for it. Try again',
  ended: 'The verification did not finish: its process ended. Try again',
  failed: 'The verification did not finish: the database did not answer. Try again',
  broken: 'The verification did not finish because of a fault of the service',
  overdue: 'The verification did not finish in ten minutes. Run nightledger verify --database',
  abandoned: 'The verification was ended: nobody waited for it',
} as const satisfies Record<VerificationErrorKind, string>

const TITLE_OF_LIST_ERROR = {
  busy: 'Cannot read the list now: too many list requests of this agency are under way. Try again',
  slow: 'Cannot read the list: it takes longer than 5 s. Narrow the search or the filters, or try again',
} as const satisfies Record<ListReadErrorKind, string>

/** What was thrown while a request was served. A bug ends the process once the answer is on its way. */
export interface Failure {
  readonly problem: Problem
  /** What the audit trail says of a write attempt that ended in it. */
  readonly outcome: 'INTERNAL' | 'OUTCOME_UNKNOWN'
  readonly isBug: boolean
}

/**
 * The answer to whatever a request ended in beside a rejection: 500 INTERNAL, saying what is known of the outcome. Never the error's own
 * message: it may hold what a caller must not see.
 * @param isWrite whether the request could change anything: of a read's failure nothing is said about changes
 */
export function failureOf(error: unknown, { isWrite }: { readonly isWrite: boolean } = { isWrite: true }): Failure {
  const title = isWrite ? titleOfFailedWrite(error) : titleOfFailedRead(error)
  return {
    problem: problem('INTERNAL', title, {}, { retryAfterS: RETRY_AFTER_S }),
    outcome: isWrite && isUnknown(error) ? 'OUTCOME_UNKNOWN' : 'INTERNAL',
    isBug: error instanceof AssertionError,
  }
}

function titleOfFailedWrite(error: unknown): string {
  if (error instanceof AssertionError) return UNKNOWN
  if (error instanceof JournalError) return TITLE_OF_JOURNAL_ERROR[error.kind]
  if (error instanceof WriteError) return TITLE_OF_WRITE_ERROR[error.outcome]
  if (error instanceof ClosedHereError) return TITLE_OF_CLOSED_ACCESS[error.access]
  if (error instanceof RefusalNotRecordedError)
    return `${NOT_WRITTEN}: the request was refused, but the refusal could not be recorded. Try again to see why`
  if (error instanceof MailboxFullError) return `${NOT_WRITTEN}: too many writes to this unit wait already. Try again`
  if (error instanceof IdempotencyFullError)
    return `${NOT_WRITTEN}: too many requests with an Idempotency-Key wait already. Try again`
  // What writes, and what reads after a write, throws the errors above: the database has failed at reading before it.
  if (isOfDatabase(error)) return `${NOT_WRITTEN}: the database did not answer. Try again`
  return `It is not known whether the change was made, because of a fault of the service. ${CHECK}`
}

/** Whether the change may have been made: the same cases in which the title says so. */
function isUnknown(error: unknown): boolean {
  if (error instanceof JournalError) return error.kind === 'outcome_unknown'
  if (error instanceof WriteError) return error.outcome !== 'not_written'
  if (error instanceof ClosedHereError) return true
  if (error instanceof RefusalNotRecordedError) return false
  return !(error instanceof MailboxFullError || error instanceof IdempotencyFullError || isOfDatabase(error))
}

function titleOfFailedRead(error: unknown): string {
  if (error instanceof ClosedHereError) return TITLE_OF_CLOSED_ACCESS[error.access]
  if (error instanceof ListReadError) return TITLE_OF_LIST_ERROR[error.kind]
  if (error instanceof VerificationError) return TITLE_OF_VERIFICATION_ERROR[error.kind]
  return isOfDatabase(error) ? 'The database did not answer. Try again' : 'The service could not answer. Try again'
}
