import type { Instant } from '../core/domain/booking.ts'
import { type AttemptOutcome, coarseReason, isAccepted } from './attempt-outcome.ts'
import { retryDelayMs } from './retry-schedule.ts'
import { FAILURES_IN_A_ROW_MAX } from './webhook-endpoint.ts'

/** `attempts`: all finished attempts, which number them. `tries`: finished attempts of the current schedule. */
export interface DeliveryProgress {
  readonly attempts: number
  readonly tries: number
}

export interface EndpointHealth {
  readonly status: 'active' | 'disabled'
  readonly consecutiveFailures: number
}

/** What to store after an attempt. `endpoint` is null when the endpoint does not change. */
export interface AfterAttempt {
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
