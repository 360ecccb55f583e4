import { unreachable } from '../lib/assert.ts'
import type { AddressRefusal } from './address-class.ts'
import type { UrlRefusal } from './endpoint-url.ts'

/** The contract's words for what is not the receiver's own answer (Events, Delivery rules 5 and 6). */
export const COARSE_REASONS = [
  'endpoint address is not publicly routable',
  'endpoint not reachable',
  'no answer within 10s',
] as const
export type CoarseReason = (typeof COARSE_REASONS)[number]

/** How one attempt ended. The finer causes stay with us: a receiver's network is not ours to describe to others. */
export type AttemptOutcome =
  | { readonly kind: 'answered'; readonly httpStatus: number }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal | UrlRefusal }
  | { readonly kind: 'unreachable'; readonly cause: UnreachableCause }
  | { readonly kind: 'timed_out'; readonly during: 'name' | 'answer' }

/** `name`: it did not resolve; `certificate`: it was refused; `connection`: everything else on the way. */
export type UnreachableCause = 'name' | 'connection' | 'certificate'

export function isAccepted(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299
}

/** The contract's sentence; null when the receiver's own status speaks for itself. */
export function coarseReason(outcome: AttemptOutcome): CoarseReason | null {
  switch (outcome.kind) {
    case 'answered':
      return null
    case 'refused':
      return 'endpoint address is not publicly routable'
    case 'unreachable':
      return 'endpoint not reachable'
    case 'timed_out':
      return 'no answer within 10s'
    default:
      return unreachable(outcome)
  }
}

/** Our own name for the cause, for the log and the table; null when the receiver answered. */
export function causeName(outcome: AttemptOutcome): string | null {
  switch (outcome.kind) {
    case 'answered':
      return null
    case 'refused':
      return outcome.refusal
    case 'unreachable':
      return outcome.cause
    case 'timed_out':
      return `slow_${outcome.during}`
    default:
      return unreachable(outcome)
  }
}
