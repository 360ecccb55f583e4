import { unreachable } from '../lib/assert.ts'
import type { AddressRefusal } from './address-class.ts'
import type { UrlRefusal } from './endpoint-url.ts'

/**
 * The contract's wording for every outcome that is not the receiver's own response (Events, Delivery rules 5 and 6).
 */
export const COARSE_REASONS = [
  'endpoint address is not publicly routable',
  'endpoint not reachable',
  'no answer within 10s',
] as const
export type CoarseReason = (typeof COARSE_REASONS)[number]

/** Why nothing could be sent: the event's journal entry is damaged, or its month was removed. */
export const UNREADABLE_REASON = 'event could not be read'

/**
 * How one attempt ended. The detailed causes are internal: the service does not describe a receiver's network to
 * others.
 */
export type AttemptOutcome =
  | { readonly kind: 'answered'; readonly httpStatus: number }
  | { readonly kind: 'refused'; readonly refusal: AddressRefusal | UrlRefusal }
  | { readonly kind: 'unreachable'; readonly cause: UnreachableCause }
  | { readonly kind: 'timed_out'; readonly during: 'name' | 'answer' }

/**
 * `name`: the host name did not resolve. `certificate`: the certificate was refused. `connection`: any other failure to
 * connect or send.
 */
export type UnreachableCause = 'name' | 'connection' | 'certificate'

export function isAccepted(outcome: AttemptOutcome): boolean {
  return outcome.kind === 'answered' && outcome.httpStatus >= 200 && outcome.httpStatus <= 299
}

/** The contract's wording for the outcome; null when the receiver answered, because its status is reported instead. */
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

/** Internal name of the cause, for the log and the table; null when the receiver answered. */
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
