/**
 * Faults on demand: in a sandbox, some values of `sourceRef` choose what a booking meets (docs/partner-additions.md#12-sandbox). Such a
 * booking is checked like any other first, and no rule refuses it before its fault does.
 */
import { type Agency, isSandbox } from '../../core/catalogue/agency.ts'
import { addNights, type Night, type Stay } from '../../core/domain/night.ts'
import type { Rejection } from '../../core/domain/night-guard.ts'
import type { Quote } from '../../core/domain/pricing.ts'
import { JournalError, type JournalErrorKind } from '../../core/journal/journal-error.ts'
import { problemOfAccess } from '../../http/key-admission.ts'
import { failureOf, problemOfRejection } from '../../http/problem-of.ts'
import type { Problem } from '../../http/problems.ts'
import type { PartnerLedger } from './partner-route.ts'

const FAULTS = [
  'booking_conflict',
  'turnover_block_conflict',
  'expected_extension_conflict',
  'min_stay',
  'restricted',
  'quote_changed',
  'rate_limited',
  'quota_exceeded',
  'internal',
  // Those below book.
  'unknown_outcome',
  'slow',
  'disconnect',
] as const
export type Fault = (typeof FAULTS)[number]

/** Those that refuse the booking. */
type Refusing = Exclude<Fault, 'unknown_outcome' | 'slow' | 'disconnect'>

/** How long `test:slow` waits with its answer. */
export const SLOW_MS = 20_000
const PREFIX = 'test:'

/** The fault that the reference chooses; null for any other reference, and for every one of a live agency. */
export function faultOf(agency: Agency, sourceRef: string | null): Fault | null {
  if (!isSandbox(agency) || sourceRef?.startsWith(PREFIX) !== true) return null
  return FAULTS.find((fault) => sourceRef === PREFIX + fault) ?? null
}

export function doesRefuse(fault: Fault): fault is Refusing {
  return fault !== 'unknown_outcome' && fault !== 'slow' && fault !== 'disconnect'
}

/** The booking that a fault refuses. */
interface RefusedBooking {
  readonly agency: Agency
  readonly stay: Stay
  /** What the stay costs now. */
  quote(): Quote
}

/** How the fault refuses a booking, with the members that its code has in earnest. */
export function refusalBy(fault: Refusing, booking: RefusedBooking, { usage }: Pick<PartnerLedger, 'usage'>): Problem {
  const { id, plan } = booking.agency
  switch (fault) {
    case 'rate_limited':
      return problemOfAccess({ code: 'RATE_LIMITED', limit: plan.requestsPerMinute, retryAfterS: 1 })
    case 'quota_exceeded': {
      const quota = plan.requestsPerMonth
      // Of a quota of 0, nothing is left either.
      const { resetsAt, retryAfterS } = usage.position(id, 0)
      return problemOfAccess({ code: 'QUOTA_EXCEEDED', quota, used: quota, resetsAt, retryAfterS })
    }
    case 'internal':
      return failed('full')
    default:
      return problemOfRejection(rejectionBy(fault, booking))
  }
}

/** What the caller of a booking is told that was made without its knowing. */
export function unknownOutcome(): Problem {
  return failed('outcome_unknown')
}

function failed(kind: JournalErrorKind): Problem {
  return failureOf(new JournalError(kind, 'A fault on demand')).problem
}

function rejectionBy(
  fault: Exclude<Refusing, 'rate_limited' | 'quota_exceeded' | 'internal'>,
  { stay: { arrival, departure }, quote }: RefusedBooking,
): Rejection {
  const nights = departure - arrival
  switch (fault) {
    case 'booking_conflict': {
      const taken = Array.from({ length: nights }, (_, i) => addNights(arrival, i))
      return {
        code: 'BOOKING_CONFLICT',
        conflict: { from: arrival, to: departure, nights: taken, bookableFrom: departure },
      }
    }
    case 'turnover_block_conflict':
      return { code: 'TURNOVER_BLOCK_CONFLICT', conflict: { bookableFrom: next(arrival), departure: arrival } }
    case 'expected_extension_conflict':
      return { code: 'EXPECTED_EXTENSION_CONFLICT', conflicts: [{ from: arrival, to: departure }] }
    case 'min_stay':
      return { code: 'MIN_STAY', minStay: nights + 1 }
    case 'restricted':
      return {
        code: 'RESTRICTED',
        restrictions: [{ rule: 'closedToArrival', date: arrival, value: true }],
        alternatives: { previousArrival: null, nextArrival: next(arrival) },
      }
    case 'quote_changed':
      return { code: 'QUOTE_CHANGED', quote: quote() }
  }
}

function next(night: Night): Night {
  return addNights(night, 1)
}
