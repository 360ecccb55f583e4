import type { FoundOutcome } from '../../core/bookings/booking-request.ts'
import { unreachable } from '../../lib/assert.ts'
import { problemOfRejection } from './problem-of-rejection.ts'
import { notFound, type Problem } from './problems.ts'

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
