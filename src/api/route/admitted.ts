import { assert } from '../../lib/assert.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { RequestStats, RouteName } from '../../observability/request-stats.ts'
import { plainHeaders, problemAnswer } from '../http/answer.ts'
import type { FailureReport } from '../http/failure-report.ts'
import { requestIdOf } from '../http/request-id.ts'
import { failureOf, isNotOwner } from '../problems/problem-of-failure.ts'
import type { Problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from './admission.ts'
import { isProblem, type Outcome } from './outcome.ts'

/** What every route of a surface needs. */
export interface Serving {
  readonly requestStats: RequestStats
  readonly newId: IdSource
  onFailure(report: FailureReport): void
}

/** Serves a request: `decide` is called only if it has valid credentials. Synchronous for as long as `decide` is. */
export type Serve = (request: Request) => Response | Promise<Response>

/**
 * Serves the requests that `admission` admits: gives them an id, has their answers counted, and answers failures with 500.
 * @param options.status of the answer to a request that is served
 * @param options.isWrite whether a failure of the request is counted in the audit trail
 * @param decide the outcome of a request with valid credentials
 */
export function admitted<A>(
  { requestStats, newId, onFailure }: Serving,
  admission: RouteAdmission<A>,
  { name, status, isWrite }: { name: RouteName; status: number; isWrite: (request: Request) => boolean },
  decide: (open: Open<A>) => Outcome | Promise<Outcome>,
): Serve {
  const { unauthorized } = admission
  const watch = requestStats.route(name)

  function answer(open: Open<A>, outcome: Outcome): Response {
    const response = answerOf(open, outcome)
    watch.answered(open, response.status)
    return response
  }

  /** When the agency's large answers before this one have had their time. */
  function paced(open: Open<A>, outcome: Outcome): Response | Promise<Response> {
    const pause = admission.takeAnswer?.(open, charsOf(outcome)) ?? null
    if (pause === null) return answer(open, outcome)
    const since = performance.now()
    return pause.then(() => {
      open.waitedMs = (open.waitedMs ?? 0) + performance.now() - since
      return answer(open, outcome)
    })
  }

  function answerOf(open: Open<A>, outcome: Outcome): Response {
    if (typeof outcome === 'string') return admission.answer(open, outcome, status)
    if (isProblem(outcome)) return refusal(open, outcome)
    if (outcome instanceof Response) return outcome
    if (outcome.kind === 'refused') return refusal(open, outcome.problem)
    if (outcome.kind === 'tagged') {
      assert(admission.taggedAnswer !== undefined, 'Cannot answer with a tag: the surface has none')
      return admission.taggedAnswer(open, outcome, { status, isConditional: name.method === 'GET' })
    }
    const response = admission.answer(open, outcome.answer.body, outcome.answer.status)
    if (outcome.kind === 'tried') return response
    response.headers.set('Idempotency-Replayed', 'true')
    return response
  }

  function refusal(open: Open<A>, problem: Problem): Response {
    const { requestId } = open
    const headers = problem === unauthorized ? plainHeaders(requestId) : admission.headersOf(open)
    return problemAnswer(problem, requestId, headers)
  }

  function fail(open: Open<A>, error: unknown): Response {
    const records = isWrite(open.request)
    const { problem, outcome, isBug } = failureOf(error, { isWrite: records })
    // Its owner answers it, and records that.
    if (isNotOwner(error)) return answer(open, problem)
    if (records) admission.recordFailure(open, outcome)
    onFailure({ error, requestId: open.requestId, route: `${name.method} ${name.path}`, isBug })
    return answer(open, problem)
  }

  return (request) => {
    const arrivedMs = watch.arrived()
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const found = admission.admit(request, requestId)
    if (found === null) {
      const refused = admission.refused(request)
      watch.answered({ arrivedMs, requestId, admission: null }, refused.status)
      return problemAnswer(refused, requestId, plainHeaders(requestId))
    }
    const open = { request, arrivedMs, requestId, admission: found } as Open<A>
    try {
      const outcome = decide(open)
      if (!(outcome instanceof Promise)) return paced(open, outcome)
      return outcome.then(
        (settled) => paced(open, settled),
        (error) => fail(open, error),
      )
    } catch (error) {
      return fail(open, error)
    }
  }
}

function charsOf(outcome: Outcome): number {
  if (typeof outcome === 'string') return outcome.length
  return 'kind' in outcome && outcome.kind === 'tagged' ? (outcome.body?.length ?? 0) : 0
}
