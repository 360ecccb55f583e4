import type { Instant } from '../../core/domain/booking.ts'
import { type AttemptOutcome, coarseReason, isAccepted } from './guarded-post.ts'
import { FAILURES_IN_A_ROW_MAX } from './webhook-endpoint.ts'

/** After the end of the failed attempt: 1 min, 5 min, 30 min, 2 h, 6 h; then dead (docs/contract.md#delivery, rule 2). */
export const RETRY_DELAYS_S = [60, 300, 1_800, 7_200, 21_600] as const

/** Jitter only delays an attempt, by at most this share of the delay. */
export const JITTER_MAX = 0.05

/**
 * Milliseconds from the end of a failed attempt to the next one, never less than the schedule says.
 * @param tries finished attempts of this schedule, from 1
 * @param dice random number in [0, 1)
 * @returns null when no attempt is left
 */
export function retryDelayMs(tries: number, dice: number): number | null {
  const seconds = RETRY_DELAYS_S[tries - 1]
  return seconds === undefined ? null : Math.ceil(seconds * 1_000 * (1 + JITTER_MAX * dice))
}

/** `attempts`: all finished attempts, which number them. `tries`: finished attempts of the current schedule. */
interface DeliveryProgress {
  readonly attempts: number
  readonly tries: number
}

interface EndpointHealth {
  readonly status: 'active' | 'disabled'
  readonly consecutiveFailures: number
}

/** What to store after an attempt. `endpoint` is null when the endpoint does not change. */
interface AfterAttempt {
  readonly delivery: {
    readonly status: 'delivered' | 'pending' | 'dead'
    readonly attempts: number
    readonly tries: number
    readonly nextAttemptAt: Instant | null
    readonly finishedAt: Instant | null
  }
  readonly endpoint: (EndpointHealth & { readonly disabledReason: string | null }) | null
}

/**
 * Decides what follows from a finished attempt. Pure. A disabled endpoint stays disabled: attempts that finish late do
 * not change its failure count, and only the agency can enable it.
 * @param endedAt end of the attempt; the delay counts from it
 * @param dice random number in [0, 1), for the jitter
 */
export function afterAttempt(
  delivery: DeliveryProgress,
  endpoint: EndpointHealth,
  outcome: AttemptOutcome,
  { endedAt, dice }: { endedAt: Instant; dice: number },
): AfterAttempt {
  const attempts = delivery.attempts + 1
  const tries = delivery.tries + 1
  if (isAccepted(outcome)) {
    const isReset = endpoint.status === 'active' && endpoint.consecutiveFailures > 0
    return {
      delivery: { status: 'delivered', attempts, tries, nextAttemptAt: null, finishedAt: endedAt },
      endpoint: isReset ? { status: 'active', consecutiveFailures: 0, disabledReason: null } : null,
    }
  }
  const delayMs = retryDelayMs(tries, dice)
  return {
    delivery:
      delayMs === null
        ? { status: 'dead', attempts, tries, nextAttemptAt: null, finishedAt: endedAt }
        : { status: 'pending', attempts, tries, nextAttemptAt: endedAt + delayMs, finishedAt: null },
    endpoint: endpoint.status === 'active' ? afterFailure(endpoint, outcome) : null,
  }
}

function afterFailure(endpoint: EndpointHealth, outcome: AttemptOutcome): AfterAttempt['endpoint'] {
  const consecutiveFailures = endpoint.consecutiveFailures + 1
  if (consecutiveFailures < FAILURES_IN_A_ROW_MAX) {
    return { status: 'active', consecutiveFailures, disabledReason: null }
  }
  return { status: 'disabled', consecutiveFailures, disabledReason: disabledReason(outcome) }
}

function disabledReason(last: AttemptOutcome): string {
  const why = last.kind === 'answered' ? `receiver answered ${last.httpStatus}` : coarseReason(last)
  return `${FAILURES_IN_A_ROW_MAX} consecutive deliveries failed. Last failure: ${why}`
}
