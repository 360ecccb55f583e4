import { type Access, RevocationNotStoredError } from '../accounts/store-retries.ts'
import { SlowListError } from '../core/bookings/booking-lists.ts'
import type { FoundOutcome } from '../core/bookings/booking-turns.ts'
import {
  RefusalNotRecordedError,
  SandboxEndsError,
  WriteError,
  type WriteOutcome,
} from '../core/bookings/write-error.ts'
import type { StayRefusal } from '../core/domain/decide-group.ts'
import { formatNight, type Night } from '../core/domain/night.ts'
import type { Rejection, Restrained } from '../core/domain/night-guard.ts'
import { CorruptLedgerError, JournalError, type JournalErrorKind } from '../core/journal/journal-error.ts'
import { MailboxFullError } from '../core/units/unit-actor.ts'
import { AssertionError, unreachable } from '../lib/assert.ts'
import { isDatabaseFailure } from '../lib/deadline.ts'
import { NoPlaceError } from '../lib/queues.ts'
import { VerificationError, type VerificationErrorKind } from '../verify/findings.ts'
import { IdempotencyFullError } from './idempotent-writes.ts'
import { PROBLEMS } from './problem-table.ts'
import { invalid, notFound, type Problem, problem, refusedStays } from './problems.ts'

/** The answer to another request with an `Idempotency-Key` that has been used (docs/design.md#additive-headers). */
export const IDEMPOTENCY_KEY_REUSED = problem(
  'IDEMPOTENCY_KEY_REUSED',
  'This Idempotency-Key was already used for a different request: use a new key',
  {},
)

/** Why a command on bookings changed nothing. The booking commands have recorded it in the audit trail. */
export function problemOfOutcome(outcome: Exclude<FoundOutcome, { kind: 'done' }>): Problem {
  switch (outcome.kind) {
    case 'rejected':
      return problemOfRejection(outcome.rejection)
    case 'not_found':
      return notFound('booking')
    case 'unit_archived':
      return notFound('unit')
    default:
      return unreachable(outcome)
  }
}

/** Why the stays of a group are refused. The booking commands have recorded it in the audit trail. */
export function problemOfStays(refusals: readonly StayRefusal[]): Problem {
  return refusedStays(
    refusals.map(({ stay, rejection }) => ({
      stay,
      problem: rejection === null ? notFound('unit') : problemOfRejection(rejection),
    })),
  )
}

/** More dates than this are not listed in a title; the body has them all. */
const TITLE_NIGHTS_MAX = 5

/** A unit's refusal as it is answered: dates as text, and a title for people (docs/contract.md#errors; docs/design.md#night-guard). */
export function problemOfRejection(rejection: Rejection): Problem {
  switch (rejection.code) {
    case 'MIN_STAY': {
      const { minStay } = rejection
      return problem('MIN_STAY', `Minimum stay for these dates: ${minStay} nights`, { minStay })
    }
    case 'RESTRICTED':
      return problem('RESTRICTED', restrainedTitle(rejection), restrainedJson(rejection))
    case 'BOOKING_CONFLICT': {
      const { from, to, nights, bookableFrom } = rejection.conflict
      return problem('BOOKING_CONFLICT', `These nights are already booked: ${listed(nights)}`, {
        conflict: {
          from: formatNight(from),
          to: formatNight(to),
          nights: nights.map(formatNight),
          bookableFrom: formatOrNull(bookableFrom),
        },
      })
    }
    case 'TURNOVER_BLOCK_CONFLICT': {
      const departure = formatNight(rejection.conflict.departure)
      return problem(
        'TURNOVER_BLOCK_CONFLICT',
        `The arrival falls on a cleaning night after the departure on ${departure}`,
        {
          conflict: { bookableFrom: formatOrNull(rejection.conflict.bookableFrom), departure },
        },
      )
    }
    case 'EXPECTED_EXTENSION_CONFLICT':
      return problem(
        'EXPECTED_EXTENSION_CONFLICT',
        'The current guest is expected to extend their stay into these nights',
        {
          conflicts: rejection.conflicts.map(({ from, to }) => ({ from: formatNight(from), to: formatNight(to) })),
        },
      )
    case 'QUOTE_CHANGED': {
      const { nights, currency, total, lines } = rejection.quote
      return problem(
        'QUOTE_CHANGED',
        `The price is no longer the quoted one: it is now ${total} in minor units of ${currency}`,
        {
          quote: {
            nights,
            currency,
            total,
            lines: lines.map((line) => ({ ...line, from: formatOrNull(line.from), to: formatOrNull(line.to) })),
          },
        },
      )
    }
    case 'INVALID_TRANSITION': {
      const { from, to, possible } = rejection
      return problem('INVALID_TRANSITION', `Cannot change the status of a booking from ${from} to ${to}`, {
        from,
        to,
        possible: [...possible],
      })
    }
    case 'VERSION_CHANGED': {
      const { version } = rejection
      return problem('VERSION_CHANGED', `The booking has changed: its version is now ${version}`, { version })
    }
    case 'VALIDATION':
      return invalid([{ field: rejection.field, message: rejection.message }])
    default:
      return unreachable(rejection)
  }
}

/** The restrictions that refuse a stay to partners, or of which the agency is warned, as JSON. */
export function restrainedJson({ restrictions, alternatives: { previousArrival, nextArrival } }: Restrained) {
  return {
    restrictions: restrictions.map(({ rule, date, value }) => ({ rule, date: formatNight(date), value })),
    alternatives: {
      previousArrival: formatOrNull(previousArrival),
      nextArrival: formatOrNull(nextArrival),
    },
  }
}

/** Why a rule refuses a stay, as a clause for people. */
const REASONS = {
  closedToArrival: (date: string) => `no arrivals on ${date}`,
  closedToDeparture: (date: string) => `no departures on ${date}`,
  maxStay: (date: string, value: number) => `maximum stay for an arrival on ${date}: ${counted(value, 'night')}`,
  stopSell: (date: string) => `the night of ${date} is not for sale`,
  advanceNoticeHours: (date: string, value: number) =>
    `stays must be booked at least ${counted(value, 'hour')} before check-in, too late for ${date}`,
  bookingWindowDays: (date: string, value: number) =>
    `arrivals can be booked at most ${counted(value, 'day')} ahead, and ${date} is later`,
}

function counted(value: number, unit: string): string {
  return `${value} ${unit}${value === 1 ? '' : 's'}`
}

/** What refuses the stay, and which arrivals would be accepted. */
function restrainedTitle(restrained: Restrained): string {
  const { restrictions, alternatives } = restrainedJson(restrained)
  const reasons = restrictions.map(({ rule, date, value }) => REASONS[rule](date, Number(value))).join('; ')
  const arrivals = [alternatives.previousArrival, alternatives.nextArrival].filter((each) => each !== null)
  const others =
    arrivals.length === 0 ? 'no arrival within 30 days is available' : `try an arrival on ${arrivals.join(' or ')}`
  return `This stay cannot be booked: ${reasons}. For the same number of nights, ${others}`
}

function formatOrNull(night: Night | null): string | null {
  return night === null ? null : formatNight(night)
}

function listed(nights: readonly Night[]): string {
  const shown = nights.slice(0, TITLE_NIGHTS_MAX).map(formatNight).join(', ')
  const more = nights.length - TITLE_NIGHTS_MAX
  return more > 0 ? `${shown} and ${more} more` : shown
}

/** `Retry-After`, in seconds: a database that restarts is usually back by then. */
const RETRY_AFTER_S = 2

const NOT_WRITTEN = 'Nothing was changed'
const UNKNOWN =
  'The change may or may not have been made: check with GET /bookings, or repeat the request with the same Idempotency-Key'

const TITLE_OF_JOURNAL_ERROR = {
  full: `${NOT_WRITTEN}: too many writes are already queued. Try again`,
  held_too_long: `${NOT_WRITTEN}: the change could not be written in time. Try again`,
  fenced: `${NOT_WRITTEN}: another process has taken over. Try again`,
  not_owner: `${NOT_WRITTEN}: another node has taken over. Try again`,
  closed: `${NOT_WRITTEN}: this process is shutting down. Try again`,
  poisoned: `${NOT_WRITTEN}: the database rejected the change. This is a bug in the service`,
  outcome_unknown: UNKNOWN,
} as const satisfies Record<JournalErrorKind, string>

const DAMAGED = 'stored data is damaged, and the operator has to repair it'

const CHECK = 'Check whether it was applied before retrying'

const TITLE_OF_WRITE_ERROR = {
  not_written: `${NOT_WRITTEN}: the database did not accept the change. Try again`,
  unknown: `The change may or may not have been made: the database did not answer. ${CHECK}`,
  started: 'The change was started but not completed: repeat the request',
  made: 'The change was made, but its result could not be read: fetch it instead of repeating the request',
} as const satisfies Record<WriteOutcome, string>

const TITLE_OF_CLOSED_ACCESS = {
  key: 'The key is refused for now, but the revocation may not be stored yet: repeat the request',
  access_token: 'The access token is refused for now, but the revocation may not be stored yet: repeat the request',
  person: 'The change of the person is in effect for now, but may not be stored yet: repeat the request',
  agency: 'The agency is suspended for now, but the suspension may not be stored yet: repeat the request',
  session: 'The sign-out is in effect for now, but may not be stored yet: sign out again',
  other_session: 'The sessions have ended for now, but that may not be stored yet: repeat the request',
  calendar_address: 'The old address is refused for now, but the new one may not be stored: change the address again',
} as const satisfies Record<Access, string>

const TITLE_OF_VERIFICATION_ERROR = {
  not_started: 'The verification could not start: its process did not start. Try again',
  ended: 'The verification did not finish: its process ended. Try again',
  failed: 'The verification did not finish: the database did not answer. Try again',
  broken: 'The verification did not finish because of an error in the service',
  overdue: 'The verification did not finish within ten minutes. Run nightledger verify --database',
  abandoned: 'The verification was stopped: the client disconnected, or the service is shutting down. Try again',
} as const satisfies Record<VerificationErrorKind, string>

/** Between nodes: this one does not decide the shard any more, and nothing was done. The request is forwarded to its owner (src/cluster/forward/). */
export const NOT_OWNER_STATUS = 421

/** Whether a request failed only because another node has the shard of its agency now. */
export function isNotOwner(error: unknown): boolean {
  return error instanceof JournalError && error.kind === 'not_owner'
}

/** A request that failed. If the failure is a bug, the process ends once the answer has been sent. */
export interface Failure {
  readonly problem: Problem
  /** The outcome that the audit trail records for a failed write. */
  readonly outcome: 'INTERNAL' | 'OUTCOME_UNKNOWN'
  readonly isBug: boolean
}

/**
 * The answer to a request that failed with anything but a rejection: 500 INTERNAL, with a title that says what is known about the
 * outcome. It never repeats the error's own message, which may contain what a caller must not see.
 * @param isWrite whether the request could change anything; the title of a failed read says nothing about changes
 */
export function failureOf(error: unknown, { isWrite }: { readonly isWrite: boolean } = { isWrite: true }): Failure {
  const { title, isUnknown } = isWrite ? failedWriteOf(error) : { title: titleOfFailedRead(error), isUnknown: false }
  const status = isNotOwner(error) ? NOT_OWNER_STATUS : PROBLEMS.INTERNAL.status
  return {
    problem: problem('INTERNAL', title, {}, { status, retryAfterS: RETRY_AFTER_S }),
    outcome: isUnknown ? 'OUTCOME_UNKNOWN' : 'INTERNAL',
    isBug: error instanceof AssertionError,
  }
}

/** What is known of a write that failed. `isUnknown`: the change may have been made. */
interface FailedWrite {
  readonly title: string
  readonly isUnknown: boolean
}

function failedWriteOf(error: unknown): FailedWrite {
  if (error instanceof AssertionError) return { title: UNKNOWN, isUnknown: true }
  if (error instanceof JournalError)
    return { title: TITLE_OF_JOURNAL_ERROR[error.kind], isUnknown: error.kind === 'outcome_unknown' }
  if (error instanceof WriteError && !(error instanceof SandboxEndsError))
    return { title: TITLE_OF_WRITE_ERROR[error.outcome], isUnknown: error.outcome !== 'not_written' }
  if (error instanceof RevocationNotStoredError) return { title: TITLE_OF_CLOSED_ACCESS[error.access], isUnknown: true }
  // A write, and a read after a write, throws one of the errors above. So what follows comes from a read before the write, or a refusal.
  const why = whyNotWritten(error)
  if (why !== null) return { title: `${NOT_WRITTEN}: ${why}`, isUnknown: false }
  const title = `The change may or may not have been made, because of an error in the service. ${CHECK}`
  return { title, isUnknown: true }
}

function whyNotWritten(error: unknown): string | null {
  if (error instanceof RefusalNotRecordedError)
    return 'the request was refused, but the refusal could not be recorded. Try again to see why'
  if (error instanceof SandboxEndsError) return 'the sandbox is being reset or deleted. Try again'
  if (error instanceof CorruptLedgerError) return DAMAGED
  if (error instanceof MailboxFullError) return 'too many writes to this unit are already queued. Try again'
  if (error instanceof IdempotencyFullError)
    return 'too many requests with an Idempotency-Key are already queued. Try again'
  if (error instanceof NoPlaceError) return 'this agency has too many list requests in progress. Try again'
  if (error instanceof SlowListError || isDatabaseFailure(error)) return 'the database did not answer. Try again'
  return null
}

function titleOfFailedRead(error: unknown): string {
  if (error instanceof RevocationNotStoredError) return TITLE_OF_CLOSED_ACCESS[error.access]
  if (error instanceof NoPlaceError)
    return 'Cannot read the list: this agency has too many list requests in progress. Try again'
  if (error instanceof SlowListError)
    return 'Cannot read the list: it took longer than 5 s. Narrow the search or the filters, or try again'
  if (error instanceof CorruptLedgerError) return `The service could not answer: ${DAMAGED}`
  if (error instanceof VerificationError) return TITLE_OF_VERIFICATION_ERROR[error.kind]
  return isDatabaseFailure(error) ? 'The database did not answer. Try again' : 'The service could not answer. Try again'
}
