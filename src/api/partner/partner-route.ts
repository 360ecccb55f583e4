/**
 * The one way into every partner route, in the design's order of checks: key → plan → requests per minute → requests per
 * month → scope → path, query and body → the handler (404 → 422 → 409). Key, plan and scope are looked at again once a body is there.
 *
 * A plain function around the handler instead of Elysia's hooks and schemas, because those run before the handler could
 * say 401, and because they were measured to cost a fifth of the throughput (docs/decisions.md). It stays synchronous
 * for as long as the handler does.
 */
import type { TSchema } from '@sinclair/typebox'
import { type Admission, missingScope, UNAUTHORIZED } from '../../access/partner-access.ts'
import type { CountedOutcome } from '../../access/refusal-counter.ts'
import type { Caller } from '../../core/bookings/caller.ts'
import type { Agency, ApiKey } from '../../core/catalogue/agency.ts'
import type { KeyHolder } from '../../core/catalogue/catalogue.ts'
import type { OpenRequest } from '../../observability/request-stats.ts'
import { plainHeaders, problemAnswer, rateAnswer, rateHeaders } from '../http/answer.ts'
import { decodeStrictly, queryReader } from '../http/query-string.ts'
import { requestIdOf } from '../http/request-id.ts'
import { targetOf } from '../http/request-target.ts'
import { type ReadBody, readJson } from '../http/strict-json.ts'
import { type BodyOf, type Operation, type QueryOf, routeNameOf } from '../operation.ts'
import { failureOf } from '../problems/problem-of-failure.ts'
import { invalid, invalidField, type Problem } from '../problems/problems.ts'
import { checked } from '../schema/checked.ts'
import type { PartnerSurface } from './partner-dependencies.ts'

/** A request that has passed every check of the edge. */
export interface Call<Query, Body> {
  readonly request: Request
  readonly agency: Agency
  readonly key: ApiKey
  readonly caller: Caller
  /** The parameter in the path, decoded; empty where the route has none. */
  readonly path: string
  readonly query: Query
  readonly body: Body
}

/** A 200 with this JSON text, an answer of another kind, or a refusal. */
export type Outcome = string | Answer | Problem

export interface Answer {
  readonly status: number
  readonly body: string
  readonly isReplayed?: boolean
}

/** An admitted request while its answer is not yet known. */
interface Open extends OpenRequest {
  readonly request: Request
  readonly admission: Admission
}

export function partnerRoute<const O extends Operation>(
  { ledger, requestStats, onFailure }: PartnerSurface,
  operation: O,
  handle: (call: Call<QueryOf<O>, BodyOf<O>>) => Outcome | Promise<Outcome>,
): (context: { request: Request }) => Response | Promise<Response> {
  const { access, clock, newId, commands, refusals } = ledger
  const { scope, isWrite = false } = operation
  const route = routeNameOf(operation)
  const watch = requestStats.route({ surface: 'partner', method: operation.method, path: operation.path })
  const readTarget = targetReader(operation)
  const readBody = operation.body === undefined ? null : bodyReader(operation.body, operation.isBodyOptional ?? false)

  function serve({ request }: { request: Request }): Response | Promise<Response> {
    const arrivedMs = watch.arrived()
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const admission = access.admit(request.headers.get('authorization'))
    if (admission === null) {
      if (isWrite) countUnauthorized(request, requestId)
      watch.answered({ arrivedMs, requestId, admission }, UNAUTHORIZED.status)
      return problemAnswer(UNAUTHORIZED, requestId, plainHeaders(requestId))
    }
    const open = { request, arrivedMs, requestId, admission }
    try {
      const outcome = decide(open)
      if (!(outcome instanceof Promise)) return answer(open, outcome)
      return outcome.then(
        (settled) => answer(open, settled),
        (error) => fail(open, error),
      )
    } catch (error) {
      return fail(open, error)
    }
  }

  function decide(open: Open): Outcome | Promise<Outcome> {
    const refusal = refusalOf(open.admission)
    if (refusal !== null) return refuse(open, refusal, null)
    const target = readTarget(open.request.url)
    if (target.kind === 'refused') return refuse(open, target.problem, null)
    if (readBody === null) return handle(callOf(open, target, undefined))
    return readBody(open.request).then((body) => {
      // The key may have been revoked while the body was arriving.
      const admission = access.readmit(open.admission)
      if (admission === null) {
        if (isWrite) count(open.admission.holder, 'UNAUTHORIZED', open.requestId)
        return UNAUTHORIZED
      }
      const now = { ...open, admission }
      const problem = refusalOf(admission) ?? (body.kind === 'refused' ? body.problem : null)
      if (problem !== null) return refuse(now, problem, target.path)
      return handle(callOf(now, target, (body as Extract<ReadBody, { kind: 'read' }>).value))
    })
  }

  function refusalOf({ refusal, holder }: Admission): Problem | null {
    return refusal ?? (scope === null || scope === 'none' ? null : missingScope(holder, scope))
  }

  function callOf({ request, requestId, admission }: Open, target: { path: string; query: unknown }, body: unknown) {
    const { agency, key } = admission.holder
    const caller: Caller = { actor: { kind: 'key', id: key.id }, route, requestId }
    return { request, agency, key, caller, path: target.path, query: target.query, body } as Call<QueryOf<O>, BodyOf<O>>
  }

  /**
   * Refused writes are in the audit trail before they are answered, but for those beyond the key's budget or the quota, which are
   * counted (design, Audit).
   */
  function refuse(open: Open, refusal: Problem, bookingId: string | null): Problem | Promise<Problem> {
    if (!isWrite) return refusal
    const { requestId, admission } = open
    const { agency, key } = admission.holder
    const { code } = refusal
    if (
      code === 'QUOTA_EXCEEDED' ||
      code === 'RATE_LIMITED' ||
      (code === 'FEATURE_DISABLED' && !admission.rate.allowed)
    ) {
      count(admission.holder, code, requestId)
      return refusal
    }
    const caller: Caller = { actor: { kind: 'key', id: key.id }, route, requestId }
    const knownId = bookingId !== null && isIdShaped(bookingId) ? bookingId : null
    return commands.auditRefusal(agency, caller, refusal.code, knownId).then(() => refusal)
  }

  function count({ agency, key }: KeyHolder, code: CountedOutcome, requestId: string): void {
    refusals.count({ agencyId: agency.id, keyId: key.id, code, route, requestId })
  }

  /** A revoked or expired key, or one of an inactive agency, still belongs to the agency: its audit trail shows that someone used it. */
  function countUnauthorized(request: Request, requestId: string): void {
    const holder = access.holderOf(request.headers.get('authorization'))
    if (holder !== null) count(holder, 'UNAUTHORIZED', requestId)
  }

  function answer(open: Open, outcome: Outcome): Response {
    const response = answerOf(open, outcome)
    watch.answered(open, response.status)
    return response
  }

  function answerOf({ requestId, admission: { rate } }: Open, outcome: Outcome): Response {
    const now = clock.now()
    if (typeof outcome === 'string') return rateAnswer(outcome, { status: 200, requestId, rate, now })
    if (outcome === UNAUTHORIZED) return problemAnswer(UNAUTHORIZED, requestId, plainHeaders(requestId))
    if ('code' in outcome) return problemAnswer(outcome, requestId, rateHeaders(requestId, rate, now))
    const response = rateAnswer(outcome.body, { status: outcome.status, requestId, rate, now })
    if (outcome.isReplayed === true) response.headers.set('Idempotency-Replayed', 'true')
    return response
  }

  /** After any failure, the attempt's own audit line was not written or may not have been, so the attempt is counted (design, Audit). */
  function fail(open: Open, error: unknown): Response {
    const { problem, outcome, isBug } = failureOf(error, { isWrite })
    if (isWrite) count(open.admission.holder, outcome, open.requestId)
    onFailure({ error, requestId: open.requestId, route, isBug })
    return answer(open, problem)
  }

  // A literal of its own: Elysia reads from a handler's text which parts of a request it wants parsed.
  return ({ request }) => serve({ request })
}

type ReadTarget =
  | { readonly kind: 'read'; readonly path: string; readonly query: unknown }
  | { readonly kind: 'refused'; readonly problem: Problem }

const NOTHING: ReadTarget = { kind: 'read', path: '', query: {} }

/** Reads the parameter in the path and the query, strictly. Routes without either do not look at the URL. */
function targetReader({ path: template, pathParameter, query: schema }: Operation): (url: string) => ReadTarget {
  if (pathParameter === undefined && schema === undefined) return () => NOTHING
  const segment = template.split('/').indexOf(`{${pathParameter?.name}}`)
  const readQuery = schema === undefined ? null : queryReader(schema)
  return (url) => {
    const target = targetOf(url)
    const path = pathParameter === undefined ? '' : decodeStrictly(target.path.split('/')[segment] ?? '')
    if (path === null)
      return {
        kind: 'refused',
        problem: invalidField(
          pathParameter?.name ?? 'path',
          'must be percent-encoded UTF-8 and must not contain U+0000',
        ),
      }
    if (readQuery === null) return { kind: 'read', path, query: {} }
    const read = readQuery(target.query)
    return read.kind === 'refused' ? read : { kind: 'read', path, query: read.query }
  }
}

function bodyReader(schema: TSchema, isOptional: boolean): (request: Request) => Promise<ReadBody> {
  const shape = checked(schema, 'body')
  const accept = (read: ReadBody): ReadBody => {
    if (read.kind === 'refused') return read
    const value = read.value === undefined && isOptional ? {} : read.value
    if (value === undefined)
      return { kind: 'refused', problem: invalidField('body', 'is required and must be a JSON object') }
    return shape.passes(value) ? { kind: 'read', value } : { kind: 'refused', problem: invalid(shape.faultsOf(value)) }
  }
  return (request) => readJson(request).then(accept)
}

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether an id could be one of ours: nothing else is looked up or stored. */
export function isIdShaped(id: string): boolean {
  return ID.test(id)
}
