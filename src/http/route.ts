/**
 * The only way into every route, in the design's order of checks: credentials, plan and limits → scope → path, query and body →
 * the handler (404 → 422 → 409). Credentials and scope are checked again once a body has arrived.
 *
 * A plain function around the handler instead of Elysia's hooks and schemas, because those run before the handler could
 * answer 401, and because they were measured to cost a fifth of the throughput (docs/decisions.md#http-and-mcp). It stays synchronous
 * for as long as the handler does.
 */

import { type AnyElysia, Elysia } from 'elysia'
import { assert } from '../lib/assert.ts'
import type { IdSource } from '../lib/ids.ts'
import { traceIdIn } from '../lib/traceparent.ts'
import type { OpenRequest, RequestStats, RouteName, Surface } from '../observability/request-stats.ts'
import {
  charsOf,
  type FailureReport,
  isProblem,
  type Outcome,
  plainHeaders,
  problemAnswer,
  type Tagged,
} from './answer.ts'
import { isWrite, type Operation, routeNameOf } from './operation.ts'
import { type Failure, failureOf, isNotOwner } from './problem-of.ts'
import type { Problem } from './problems.ts'
import { bodyReader, NO_PATH, type PathValues, type ReadBody, targetReader } from './read-request.ts'
import { asksForDryRun, requestIdOf } from './request.ts'

/** An admitted request that is not answered yet. `A`: what the surface's admission found out about it. */
export interface Open<A> extends OpenRequest {
  readonly request: Request
  /** The latest one: if the request costs more than one, the rate headers of the answer show its budget. */
  admission: A & OpenRequest['admission']
}

/** How one route admits requests, and what it records. Each surface has one implementation. */
export interface RouteAdmission<A> {
  /** 401: the answer to a request whose credentials are no longer valid when its body has arrived. */
  readonly unauthorized: Problem

  /** Checks the headers, before anything else of the request is read. Null: no valid credentials. */
  admit(request: Request, requestId: string): A | null

  /** The answer to a request that `admit` has just not admitted: 401, or 429 after too many of them. */
  refused(request: Request): Problem

  /** Checks again when a body has arrived, which may be long after the headers. Counts against no limit. Null: 401. */
  readmit(open: Open<A>): A | null

  /** Why an admitted request is not served; null if it is. */
  refusalOf(admission: A, request: Request): Problem | null

  /** Counts the text of an answer. Null: send it now; otherwise when this resolves. Left out: every answer is small. */
  takeAnswer?(open: Open<A>, chars: number): Promise<void> | null

  /** The 2xx answer with this JSON text. */
  answer(open: Open<A>, body: string, status: number): Response

  /** The same with an entity tag; 304 without a body. `isConditional`: the caller may keep it, and ask again with its tag. */
  taggedAnswer?(open: Open<A>, answer: Tagged, options: { status: number; isConditional: boolean }): Response

  /** The headers of an answer that refuses an admitted request. The caller may change them. */
  headersOf(open: Open<A>): Headers

  /** Records a refused write. If it returns a promise, the refusal is answered when that settles. */
  recordRefusal(open: Open<A>, refusal: Problem, path: PathValues): Promise<void> | null

  /** Counts a write that failed: its own audit line may be missing (docs/design.md#audit). */
  recordFailure(open: Open<A>, outcome: Failure['outcome']): void
}

/** What every route of a surface needs. */
interface Serving {
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
    const { requestId, request } = open
    const headers = problem === unauthorized ? plainHeaders(requestId) : admission.headersOf(open)
    return problemAnswer(problem, requestId, headers, request)
  }

  function fail(open: Open<A>, error: unknown): Response {
    const records = isWrite(open.request)
    const { problem, outcome, isBug } = failureOf(error, { isWrite: records })
    // Its owner answers it, and records that.
    if (isNotOwner(error)) return answer(open, problem)
    if (records) admission.recordFailure(open, outcome)
    const { request, requestId } = open
    onFailure({ error, requestId, ...traceIdIn(request), route: `${name.method} ${name.path}`, isBug })
    return answer(open, problem)
  }

  return (request) => {
    const arrivedMs = watch.arrived(request)
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const found = admission.admit(request, requestId)
    if (found === null) {
      const refused = admission.refused(request)
      watch.answered({ request, arrivedMs, requestId, admission: null }, refused.status)
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
  const { method, path, body: schema, answer } = operation
  const { takesDryRun = false } = operation
  const writes = isWrite(operation)
  const records = (request: Request): boolean => writes && !(takesDryRun && asksForDryRun(request))
  const readTarget = targetReader(operation)
  const readBody = schema === undefined ? null : bodyReader(schema, operation)
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

/** What a handler needs whose answer is a stream: it continues, and may fail, after the handler has returned. */
export interface StreamCall {
  /** The time that it waits is noted here. */
  readonly open: Pick<OpenRequest, 'waitedMs'>
  /** Of the answer. The caller may change them. */
  headers(): Headers
  onFailure(error: unknown): void
}

export function streamCall<A>(
  { operation, onFailure }: Pick<Serving, 'onFailure'> & { readonly operation: Operation },
  admission: RouteAdmission<A>,
  open: Open<A>,
): StreamCall {
  const ids = { requestId: open.requestId, ...traceIdIn(open.request) }
  const route = routeNameOf(operation)
  return {
    open,
    headers: () => admission.headersOf(open),
    onFailure: (error) => onFailure({ error, ...ids, route, isBug: failureOf(error, { isWrite: false }).isBug }),
  }
}

/** The routes of a surface as an Elysia instance. */
export function elysiaRoutes<S>(surface: S, routes: readonly Route<S>[]): AnyElysia {
  const app = new Elysia()
  for (const { operation, serve } of routes) {
    const answer = serve(surface)
    const path = operation.path.replaceAll(/\{(\w+)\}/g, ':$1')
    // A literal: Elysia reads from a handler's source which parts of a request to parse.
    app.route(operation.method, path, ({ request }) => answer(request))
  }
  return app
}

/**
 * The fast path to the most requested routes: Bun's own router passes them the request, without the context that Elysia
 * creates for each. That context was measured as a fifth of the cost of an availability request (docs/decisions.md#http-and-mcp). All of
 * them are routes of the app as well, which gives the same answers.
 */

type Answering = (request: Request) => Response | Promise<Response>
/** Uses only the request from Elysia's context. */
type Handler = (context: { request: Request }) => Response | Promise<Response>

/**
 * By path and method, in the shape of `Bun.serve`'s `routes`.
 * @param resources all their handlers use only the request
 * @param faultAnswer what answers a request whose handler has thrown, at once or later
 */
export function directRoutes(
  resources: readonly AnyElysia[],
  faultAnswer: (request: Request, error: unknown) => Response,
): Record<string, Record<string, Answering>> {
  const direct: Record<string, Record<string, Answering>> = {}
  for (const { method, path, handler } of resources.flatMap((resource) => resource.routes)) {
    const handle = handler as Handler
    const answer: Answering = (request) => {
      try {
        const answer = handle({ request })
        return answer instanceof Promise ? answer.catch((error) => faultAnswer(request, error)) : answer
      } catch (error) {
        return faultAnswer(request, error)
      }
    }
    direct[path] = { ...direct[path], [method]: answer }
  }
  return direct
}

/** What a route without an API key needs. */
export interface CountedRouteOptions {
  readonly requestStats: RequestStats
  readonly newId: IdSource
}

/** Serves a route that needs no API key, and counts each of its answers. `answer` must not throw. */
export function countedRoute(
  { requestStats, newId }: CountedRouteOptions,
  name: RouteName,
  answer: (request: Request, requestId: string) => Response | Promise<Response>,
): (request: Request) => Response | Promise<Response> {
  const watch = requestStats.route(name)
  const ended = (open: OpenRequest, response: Response): Response => {
    watch.answered(open, response.status)
    return response
  }
  return (request) => {
    const arrivedMs = watch.arrived(request)
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const open = { request, arrivedMs, requestId, admission: null }
    const response = answer(request, requestId)
    if (response instanceof Response) return ended(open, response)
    return response.then((settled) => ended(open, settled))
  }
}
