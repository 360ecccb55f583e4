import { plainHeaders, problemAnswer } from '../edge/answer.ts'
import { problem } from '../edge/problems.ts'
import { requestIdOf } from '../edge/request-id.ts'
import { targetOf } from '../edge/request-target.ts'
import type { IdSource } from '../lib/ids.ts'

/** A start takes about a second. */
const RETRY_AFTER_S = 1

/**
 * Answers every request of a process that listens and cannot serve yet: 503, but for `/healthz`, because the process is alive. Nothing
 * is looked at, written or counted.
 */
export function startingAnswer(newId: IdSource): (request: Request) => Response {
  return (request) => {
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const headers = plainHeaders(requestId)
    const { path } = targetOf(request.url)
    if (path === '/healthz') return new Response(JSON.stringify({ status: 'ok' }), { headers })
    headers.set('Retry-After', String(RETRY_AFTER_S))
    if (path === '/readyz')
      return new Response(JSON.stringify({ status: 'not ready', faults: ['starting'] }), { status: 503, headers })
    const starting = problem('INTERNAL', 'Nothing was changed: the service is starting. Try again', {}, { status: 503 })
    return problemAnswer(starting, requestId, headers)
  }
}
