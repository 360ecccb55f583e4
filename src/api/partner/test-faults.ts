/**
 * Faults on demand: in a sandbox, some values of `sourceRef` choose what a booking meets (docs/partner-additions.md#12-sandbox). Such a
 * booking is checked like any other first, and no rule refuses it before its fault does.
 */
import { type Agency, isSandbox } from '../../core/catalogue/agency.ts'
import { addNights, type Night, type Stay } from '../../core/domain/night.ts'
import type { Rejection } from '../../core/domain/night-guard.ts'
import { JournalError, type JournalErrorKind } from '../../core/journal/journal-error.ts'
import { failureOf, problemOfRejection } from '../../http/problem-of.ts'
import { type Problem, problem } from '../../http/problems.ts'
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
const RETRY_AFTER_S = 1

/** The fault that the reference chooses; null for any other reference, and for every one of a live agency. */
export function faultOf(agency: Agency, sourceRef: string | null): Fault | null {
  if (!isSandbox(agency) || sourceRef?.startsWith(PREFIX) !== true) return null
  return FAULTS.find((fault) => sourceRef === PREFIX + fault) ?? null
}

export function doesRefuse(fault: Fault): fault is Refusing {
  return fault !== 'unknown_outcome' && fault !== 'slow' && fault !== 'disconnect'
}

/** How the fault refuses a booking, with the members that its code has in earnest. */
export function refusalBy(fault: Refusing, stay: Stay, agency: Agency, ledger: Pick<PartnerLedger, 'usage'>): Problem {
  switch (fault) {
    case 'rate_limited': {
      const { requestsPerMinute } = agency.plan
      const title = `Rate limit of ${requestsPerMinute} requests per minute exceeded: retry in ${RETRY_AFTER_S} s`
      return problem('RATE_LIMITED', title, {}, { retryAfterS: RETRY_AFTER_S })
    }
    case 'quota_exceeded': {
      const { quota, resetsAt } = ledger.usage.position(agency.id, agency.plan.requestsPerMonth)
      const title = `Monthly quota of ${quota} requests exhausted: it resets at ${resetsAt}`
      return problem('QUOTA_EXCEEDED', title, { quota, used: quota, resetsAt }, { retryAfterS: RETRY_AFTER_S })
    }
    case 'internal':
      return failed('full')
    default:
      return problemOfRejection(rejectionBy(fault, stay, agency))
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
  { arrival, departure }: Stay,
  { currency }: Agency,
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
      return { code: 'QUOTE_CHANGED', quote: { nights, currency, total: 0, lines: [] } }
  }
}

function next(night: Night): Night {
  return addNights(night, 1)
}

/** An answer that never arrives: the connection is closed before its first byte. */
export function noAnswer(): Response {
  const cut = new ReadableStream({
    pull(controller) {
      controller.error(new Error('Closed a connection: test:disconnect'))
    },
  })
  return new Response(cut, { status: 201 })
}
