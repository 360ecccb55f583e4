/**
 * The only way into every route, in the design's order of checks: credentials, plan and limits → scope → path, query and body →
 * the handler (404 → 422 → 409). Credentials and scope are checked again once a body has arrived.
 *
 * A plain function around the handler instead of Elysia's hooks and schemas, because those run before the handler could
 * answer 401, and because they were measured to cost a fifth of the throughput (docs/decisions.md#http-and-mcp). It stays synchronous
 * for as long as the handler does.
 */

import type { Surface } from '../../observability/request-stats.ts'
import { asksForDryRun } from '../http/dry-run.ts'
import type { ReadBody } from '../http/strict-json.ts'
import { isWrite, type Operation } from '../operation.ts'
import type { Problem } from '../problems/problems.ts'
import type { Open, RouteAdmission } from './admission.ts'
import { admitted, type Serve, type Serving } from './admitted.ts'
import { isProblem, type Outcome } from './outcome.ts'
import { bodyReader } from './read-body.ts'
import { NO_PATH, type PathValues, targetReader } from './read-target.ts'

/** A route before it is given the surface that it runs on. */
export interface Route<S> {
  readonly operation: Pick<Operation, 'method' | 'path'>
  serve(surface: S): Serve
}

/** A route that the surface's OpenAPI document describes. */
export interface DescribedRoute<S, O extends Operation = Operation> extends Route<S> {
  readonly operation: O
}

/**
 * Serves one operation.
 * @param admission who may send requests, and what is recorded of refused writes
 * @param handle the outcome of the request; a refused write is recorded here unless `handle` has done it
 */
export function served<A>(
  { operation, surface, ...serving }: Serving & { readonly operation: Operation; readonly surface: Surface },
  admission: RouteAdmission<A>,
  handle: (open: Open<A>, path: PathValues, query: unknown, body: unknown) => Outcome | Promise<Outcome>,
): Serve {
  const { method, path, body: schema, isBodyOptional = false, answer } = operation
  const { takesDryRun = false } = operation
  const writes = isWrite(operation)
  const records = (request: Request): boolean => writes && !(takesDryRun && asksForDryRun(request))
  const readTarget = targetReader(operation)
  const readBody = schema === undefined ? null : bodyReader(schema, isBodyOptional)
  const options = { name: { surface, method, path }, status: answer.status, isWrite: records }
  return admitted(serving, admission, options, decide)

  function decide(open: Open<A>): Outcome | Promise<Outcome> {
    const refusal = admission.refusalOf(open.admission, open.request)
    if (refusal !== null) return refuse(open, refusal, NO_PATH)
    const target = readTarget(open.request.url)
    if (target.kind === 'refused') return refuse(open, target.problem, target.path)
    const { path, query } = target
    if (readBody === null) return handled(open, path, query, undefined)
    return readBody(open.request, (body) => decideBody(open, path, query, body))
  }

  function decideBody(open: Open<A>, path: PathValues, query: unknown, body: ReadBody): Outcome | Promise<Outcome> {
    // The key may have been revoked while the body was arriving.
    const current = admission.readmit(open)
    if (current === null) return admission.unauthorized
    const now = current === open.admission ? open : ({ ...open, admission: current } as Open<A>)
    const refusal = admission.refusalOf(current, open.request)
    if (refusal !== null) return refuse(now, refusal, path)
    return body.kind === 'refused' ? refuse(now, body.problem, path) : handled(now, path, query, body.value)
  }

  function handled(open: Open<A>, path: PathValues, query: unknown, body: unknown): Outcome | Promise<Outcome> {
    const outcome = handle(open, path, query, body)
    return records(open.request) ? recordRefused(open, outcome, path) : outcome
  }

  async function recordRefused(open: Open<A>, outcome: Outcome | Promise<Outcome>, path: PathValues): Promise<Outcome> {
    const settled = await outcome
    return isProblem(settled) ? refuse(open, settled, path) : settled
  }

  /** A refused write is in the audit trail before it is answered (docs/design.md#audit). */
  function refuse(open: Open<A>, refusal: Problem, path: PathValues): Problem | Promise<Problem> {
    if (!records(open.request)) return refusal
    return admission.recordRefusal(open, refusal, path)?.then(() => refusal) ?? refusal
  }
}
