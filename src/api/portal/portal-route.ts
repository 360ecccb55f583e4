/**
 * The one way into every portal route, in the design's order of checks: token → path, query and body → the agency → the handler. A
 * refused write leaves its line in the agency's audit trail before it is answered (design, Audit), with the portal as actor.
 */
import type { TObject } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'
import { portalAccess } from '../../access/portal-access.ts'
import type { Settled } from '../../admin/refusal.ts'
import type { Caller } from '../../core/bookings/caller.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { unreachable } from '../../lib/assert.ts'
import { plainHeaders, problemAnswer } from '../http/answer.ts'
import { decodeStrictly, queryReader } from '../http/query-string.ts'
import { requestIdOf } from '../http/request-id.ts'
import { targetOf } from '../http/request-target.ts'
import { readJson } from '../http/strict-json.ts'
import { failureOf } from '../problems/problem-of-failure.ts'
import { invalid, invalidField, notFound, type Problem, problem } from '../problems/problems.ts'
import { checked } from '../schema/checked.ts'
import type { PortalLedger, PortalSurface } from './portal-dependencies.ts'
import { type BodyOf, isWrite, type PortalOperation, pathParameters, type QueryOf } from './portal-operation.ts'

/** A request that has passed every check of the edge. */
export interface PortalCall<Query, Body> {
  readonly ledger: PortalLedger
  readonly request: Request
  readonly caller: Caller
  /** Parameters of the path, decoded, by their names. */
  readonly path: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
}

export interface AgencyCall<Query, Body> extends PortalCall<Query, Body> {
  readonly agency: Agency
}

/** `isAudited`: the booking commands have written the refusal's line already. */
export type PortalOutcome =
  | { readonly kind: 'answer'; readonly body: object }
  | { readonly kind: 'refused'; readonly problem: Problem; readonly isAudited: boolean }

export function answer(body: object): PortalOutcome {
  return { kind: 'answer', body }
}

export function refuse(problem: Problem): PortalOutcome {
  return { kind: 'refused', problem, isAudited: false }
}

/** A refusal that the booking commands have written into the audit trail. */
export function refuseAudited(problem: Problem): PortalOutcome {
  return { kind: 'refused', problem, isAudited: true }
}

/** What a command came to, as an answer. */
export function settled<T>(
  outcome: Settled<T>,
  what: Parameters<typeof notFound>[0],
  show: (value: T) => object,
): PortalOutcome {
  if (outcome.kind === 'done') return answer(show(outcome.value))
  if (outcome.kind === 'not_found') return refuse(notFound(what))
  const { refusal } = outcome
  switch (refusal.code) {
    case 'SLUG_TAKEN':
      return refuse(problem('SLUG_TAKEN', `The slug ${refusal.slug} is already in use`, { slug: refusal.slug }))
    case 'EMAIL_TAKEN':
      return refuse(
        problem('EMAIL_TAKEN', `Another guest already has the e-mail address ${refusal.email}`, {
          email: refusal.email,
        }),
      )
    case 'VALIDATION':
      return refuse(invalid([{ field: refusal.field, message: refusal.message }]))
    default:
      return unreachable(refusal)
  }
}

type Handle<Call> = (call: Call) => PortalOutcome | Promise<PortalOutcome>

/** One route, before it is given the surface it runs on. */
export interface PortalRoute {
  readonly operation: PortalOperation
  serve(surface: PortalSurface, isAllowed: IsAllowed): (request: Request) => Promise<Response>
}

type IsAllowed = (authorization: string | null) => boolean

/** A route that is nobody's own: agencies are made and listed by it. */
export function portalRoute<const O extends PortalOperation>(
  operation: O,
  handle: Handle<PortalCall<QueryOf<O>, BodyOf<O>>>,
): PortalRoute {
  return {
    operation,
    serve: (surface, isAllowed) =>
      served(surface, isAllowed, operation, (call) => handle(call as unknown as PortalCall<QueryOf<O>, BodyOf<O>>)),
  }
}

/** A route of the agency in its path; without it, 404. */
export function agencyRoute<const O extends PortalOperation>(
  operation: O,
  handle: Handle<AgencyCall<QueryOf<O>, BodyOf<O>>>,
): PortalRoute {
  return {
    operation,
    serve: (surface, isAllowed) =>
      served(surface, isAllowed, operation, (call) =>
        call.agency === null
          ? refuse(notFound('agency'))
          : handle(call as unknown as AgencyCall<QueryOf<O>, BodyOf<O>>),
      ),
  }
}

/** The routes of one resource: an Elysia instance of their own. */
export function resource(surface: PortalSurface, routes: readonly PortalRoute[]): AnyElysia {
  const isAllowed = portalAccess(surface.token)
  const app = new Elysia()
  for (const route of routes) {
    const serve = route.serve(surface, isAllowed)
    const path = route.operation.path.replaceAll(/\{(\w+)\}/g, ':$1')
    // A literal of its own: Elysia reads from a handler's text which parts of a request it wants parsed.
    app.route(route.operation.method, path, ({ request }) => serve(request))
  }
  return app
}

const UNAUTHORIZED = problem(
  'UNAUTHORIZED',
  'Missing or invalid portal token: send the header Authorization: Bearer <PORTAL_TOKEN>',
  {},
)

interface AnyCall extends PortalCall<unknown, unknown> {
  readonly agency: Agency | null
}

function served(
  { ledger, requestStats, onFailure }: PortalSurface,
  isAllowed: IsAllowed,
  operation: PortalOperation,
  handle: (call: AnyCall) => PortalOutcome | Promise<PortalOutcome>,
): (request: Request) => Promise<Response> {
  const route = `${operation.method} ${operation.path}`
  const watch = requestStats.route({ surface: 'portal', method: operation.method, path: operation.path })
  const readTarget = targetReader(operation)
  const readBody = bodyReader(operation)

  async function decide(request: Request, requestId: string): Promise<PortalOutcome> {
    const caller: Caller = { actor: { kind: 'portal', id: null }, route, requestId }
    const target = readTarget(request.url)
    const body = target.kind === 'refused' ? target : await readBody(request)
    // Found after the body is there: nothing changes between this and the handler.
    const slug = target.path['agencySlug']
    const agency = slug === undefined ? null : ledger.catalogue.agencyBySlug(slug)
    const outcome =
      target.kind === 'refused' || body.kind === 'refused'
        ? refuse(target.kind === 'refused' ? target.problem : (body as Refused).problem)
        : await handle({ ledger, request, caller, agency, path: target.path, query: target.query, body: body.value })
    if (outcome.kind === 'refused' && !outcome.isAudited && isWrite(operation) && agency !== null)
      await ledger.commands.auditRefusal(agency, caller, outcome.problem.code, bookingIdIn(operation, target.path))
    return outcome
  }

  async function answered(request: Request, requestId: string): Promise<Response> {
    const headers = plainHeaders(requestId)
    if (!isAllowed(request.headers.get('authorization'))) return problemAnswer(UNAUTHORIZED, requestId, headers)
    try {
      const outcome = await decide(request, requestId)
      if (outcome.kind === 'refused') return problemAnswer(outcome.problem, requestId, headers)
      return new Response(JSON.stringify(outcome.body), { status: operation.answer.status, headers })
    } catch (error) {
      const { problem, isBug } = failureOf(error, { isWrite: isWrite(operation) })
      onFailure({ error, requestId, route, isBug })
      return problemAnswer(problem, requestId, headers)
    }
  }

  return async (request) => {
    const arrivedMs = watch.arrived()
    const requestId = requestIdOf(request.headers.get('x-request-id'), ledger.newId)
    const response = await answered(request, requestId)
    watch.answered({ arrivedMs, requestId, admission: null }, response.status)
    return response
  }
}

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether an id could be one of ours: nothing else is looked up or stored. */
export function isIdShaped(id: string | undefined): id is string {
  return id !== undefined && ID.test(id)
}

function bookingIdIn({ path }: PortalOperation, values: Readonly<Record<string, string>>): string | null {
  const id = values['bookingId']
  return path.includes('/bookings/{bookingId}') && isIdShaped(id) ? id : null
}

type Refused = { readonly kind: 'refused'; readonly problem: Problem }
type Path = Readonly<Record<string, string>>

function targetReader({
  path: template,
  query,
}: PortalOperation): (
  url: string,
) => { readonly kind: 'read'; readonly path: Path; readonly query: unknown } | (Refused & { readonly path: Path }) {
  const parameters = pathParameters(template)
  const readQuery = query === undefined ? null : queryReader(query as TObject)
  return (url) => {
    const target = targetOf(url)
    const segments = target.path.split('/')
    const path: Record<string, string> = {}
    for (const { name, segment } of parameters) {
      const value = decodeStrictly(segments[segment] ?? '')
      if (value === null)
        return {
          kind: 'refused',
          path,
          problem: invalidField(name, 'must be percent-encoded UTF-8 and must not contain U+0000'),
        }
      path[name] = value
    }
    const read = readQuery === null ? null : readQuery(target.query)
    if (read?.kind === 'refused') return { kind: 'refused', path, problem: read.problem }
    return { kind: 'read', path, query: read === null ? {} : read.query }
  }
}

function bodyReader({
  body: schema,
  isBodyOptional = false,
}: PortalOperation): (request: Request) => Promise<{ readonly kind: 'read'; readonly value: unknown } | Refused> {
  if (schema === undefined) return async () => ({ kind: 'read', value: undefined })
  const shape = checked(schema, 'body')
  return async (request) => {
    const read = await readJson(request)
    if (read.kind === 'refused') return read
    const value = read.value === undefined && isBodyOptional ? {} : read.value
    if (value === undefined)
      return { kind: 'refused', problem: invalidField('body', 'is required and must be a JSON object') }
    return shape.passes(value) ? { kind: 'read', value } : { kind: 'refused', problem: invalid(shape.faultsOf(value)) }
  }
}
