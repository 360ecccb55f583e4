import { Elysia } from 'elysia'
import { WRONG_TOKENS_PER_MINUTE } from '../accounts/wrong-token-throttle.ts'
import { plainHeaders, problemAnswer } from '../http/answer.ts'
import { type Problem, problem } from '../http/problems.ts'
import { decodeStrictly, targetOf } from '../http/request.ts'
import { countedRoute } from '../http/route.ts'
import type { ClusterStatus } from './cluster-status.ts'
import { EtcdError } from './etcd/etcd.ts'
import type { OperatorRouteOptions } from './membership.ts'

/** The cluster as this node sees it. */
export interface ClusterPage {
  status(): ClusterStatus
  /**
   * Makes a node own nothing, or ends that.
   * @returns false when there is no such node
   * @throws EtcdError when etcd does not answer
   */
  drain(node: string, options: { isOn: boolean }): Promise<boolean>
}

const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Only the operator may use this: send the header Authorization: Bearer <PORTAL_TOKEN>',
  {},
)
const NO_NODE = problem('NOT_FOUND', 'No node with this NODE_ID is in the cluster: GET /cluster lists its nodes', {})
const NO_ETCD = problem(
  'INTERNAL',
  'etcd did not confirm the change, so it may or may not have been made: check with GET /cluster once etcd answers, and repeat it if needed',
  {},
)

/**
 * `GET /cluster`, and `PUT` and `DELETE /cluster/drains/{node}`: on the operator's listener, with the operator's token. They say the same
 * on every node.
 */
export function clusterRoutes(page: ClusterPage, { access, throttled, ...options }: OperatorRouteOptions) {
  const guarded =
    (answer: (request: Request, requestId: string) => Response | Promise<Response>) =>
    (request: Request, requestId: string): Response | Promise<Response> => {
      const isOperator = access.admit(request.headers.get('authorization'))?.kind === 'operator'
      if (isOperator) return answer(request, requestId)
      return problemAnswer(refusal(throttled(request)), requestId, plainHeaders(requestId))
    }
  const named = (method: string, path: string) => ({ surface: 'operating', method, path }) as const
  const status = (_: Request, requestId: string) =>
    new Response(JSON.stringify(page.status()), { headers: plainHeaders(requestId) })
  const draining = (isOn: boolean) => async (request: Request, requestId: string) => {
    const node = decodeStrictly(targetOf(request.url).path.split('/')[3] ?? '')
    try {
      const isThere = node !== null && (await page.drain(node, { isOn }))
      return isThere ? status(request, requestId) : problemAnswer(NO_NODE, requestId, plainHeaders(requestId))
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      return problemAnswer(NO_ETCD, requestId, plainHeaders(requestId))
    }
  }
  const show = countedRoute(options, named('GET', '/cluster'), guarded(status))
  const drain = countedRoute(options, named('PUT', '/cluster/drains/{node}'), guarded(draining(true)))
  const resume = countedRoute(options, named('DELETE', '/cluster/drains/{node}'), guarded(draining(false)))
  // Literals: Elysia reads from a handler's source which parts of a request to parse.
  return new Elysia()
    .get('/cluster', ({ request }) => show(request), { detail: { hide: true } })
    .put('/cluster/drains/:node', ({ request }) => drain(request), { detail: { hide: true } })
    .delete('/cluster/drains/:node', ({ request }) => resume(request), { detail: { hide: true } })
}

function refusal(retryAfterS: number | null): Problem {
  if (retryAfterS === null) return UNAUTHORIZED
  const title = `Invalid token, after ${WRONG_TOKENS_PER_MINUTE} others from your address within a minute: send a valid one, or wait ${retryAfterS} s`
  return problem('RATE_LIMITED', title, {}, { retryAfterS })
}
