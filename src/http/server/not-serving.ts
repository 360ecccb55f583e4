import type { IdSource } from '../../lib/ids.ts'
import { plainHeaders, problemAnswer } from '../answer.ts'
import { problem } from '../problems.ts'
import { requestIdOf, targetOf } from '../request.ts'
import { metricsAnswer } from './health.ts'
import type { Answering } from './served-routes.ts'

/** A start takes about a second; after a take-over another process answers at once. */
const RETRY_AFTER_S = 1

/** The fault in `/readyz`, where the metrics have `nightledger_ready` 0. */
export const UNCONFIRMED_FAULT = 'heartbeat: not confirmed by the database, and a standby may have taken over'

/** Why a process listens but does not serve. Callers get `status` and `title`; `/readyz` reports `fault`. */
const REASONS = {
  starting: {
    status: 503,
    title: 'This request was not handled: the service is starting. Try again',
    fault: 'starting',
  },
  standby: {
    status: 503,
    title: 'This request was not handled: another process is serving, and this one is its standby. Try again',
    fault: 'standby: another process is the writer',
  },
  // 500, as for the commands that are still open: the contract has no 503, and its clients retry a 500.
  fenced: {
    status: 500,
    title: 'This request was not handled: another process has taken over. Try again',
    fault: 'fence: another writer has taken over',
  },
  unconfirmed: {
    status: 500,
    title:
      'This request was not handled: the service cannot reach its database, and another process may have taken over. Try again',
    fault: UNCONFIRMED_FAULT,
  },
} as const

export type NotServingReason = keyof typeof REASONS

interface NotServingOptions {
  /** Whether `/healthz`, `/readyz` and `/metrics` are served at this address. */
  readonly hasProbes?: boolean
  /** The response of `/metrics`; null: it is refused like everything else. */
  readonly metrics?: (() => Promise<string>) | null
}

/**
 * Answers every request to a process that listens but does not serve. `/healthz` answers 200 as always, because the process is
 * alive, and `/metrics` so that it can be seen from outside. Nothing is written or counted.
 */
export function notServing(
  reason: NotServingReason,
  newId: IdSource,
  { hasProbes = true, metrics = null }: NotServingOptions = {},
): Answering {
  const { status, title, fault } = REASONS[reason]
  const refuse = (request: Request): Response => {
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const headers = plainHeaders(requestId)
    const { path } = targetOf(request.url)
    if (hasProbes && path === '/healthz') return new Response(JSON.stringify({ status: 'ok' }), { headers })
    headers.set('Retry-After', String(RETRY_AFTER_S))
    if (hasProbes && path === '/readyz')
      return new Response(JSON.stringify({ status: 'not ready', faults: [fault] }), { status: 503, headers })
    return problemAnswer(problem('INTERNAL', title, {}, { status }), requestId, headers, request)
  }
  return (request) => {
    if (!hasProbes || metrics === null || targetOf(request.url).path !== '/metrics') return refuse(request)
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    return metrics().then(
      (text) => metricsAnswer(text, requestId),
      () => refuse(request),
    )
  }
}

/**
 * P3: answers as `answer` does while the process may show what it has in memory, and otherwise refuses everything but the metrics.
 * @param hasProbes whether `/healthz`, `/readyz` and `/metrics` are served at this address
 */
export function whileConfirmed(
  isConfirmed: () => boolean,
  answer: Answering,
  newId: IdSource,
  { hasProbes }: { hasProbes: boolean },
): Answering {
  const refuse = notServing('unconfirmed', newId, { hasProbes })
  return (request) => {
    if (isConfirmed() || (hasProbes && targetOf(request.url).path === '/metrics')) return answer(request)
    return refuse(request)
  }
}
