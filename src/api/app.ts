import { Elysia } from 'elysia'
import type { PortalAccess } from '../access/portal-access.ts'
import { JournalError } from '../core/journal/journal-error.ts'
import { RequestStats, UNKNOWN_ROUTE } from '../observability/request-stats.ts'
import { plainHeaders, problemAnswer, rateHeaders } from './http/answer.ts'
import { countedRoute } from './http/counted-route.ts'
import { directRoutes } from './http/direct-routes.ts'
import type { FailureReport } from './http/failure-report.ts'
import { preflightAnswer } from './http/preflight.ts'
import { requestIdOf } from './http/request-id.ts'
import { targetOf } from './http/request-target.ts'
import type { PartnerLedger } from './partner/partner-dependencies.ts'
import { PARTNER_PREFIX, partnerRoutes } from './partner/partner-surface.ts'
import type { PortalLedger } from './portal/portal-dependencies.ts'
import { portalRoutes } from './portal/portal-surface.ts'
import { failureOf } from './problems/problem-of-failure.ts'
import { notFound } from './problems/problems.ts'
import { docsPage } from './server/docs/docs-page.ts'
import { SERVE_OPTIONS } from './server/serve-options.ts'

/** Where the service logs failures: pino's shape. */
export interface ErrorLog {
  error(fields: object, message: string): void
}

/** Another surface, mounted on its own path. */
export interface Mount {
  readonly path: string
  fetch(request: Request): Response | Promise<Response>
}

export interface AppOptions {
  readonly ledger: PartnerLedger
  /** Left out: the portal's routes are 404. */
  readonly portal?: { readonly ledger: PortalLedger; readonly access: PortalAccess }
  /** Further surfaces; each receives the counters of its answers and a callback for its failures. */
  readonly mounts?: readonly ((options: {
    requestStats: RequestStats
    onFailure(report: FailureReport): void
  }) => Mount)[]
  /** Counts every answer. */
  readonly requestStats?: RequestStats
  readonly log: ErrorLog
  /** An invariant is broken: the process must end. Called once the answer is on its way. */
  onBug(error: unknown): void
  /** A write that does not go through the journal was fenced out. */
  onFenced?(): void
}

/** Long enough for the answer to leave the process. */
const BUG_ANSWER_MS = 20

/** The HTTP surfaces of the service. Answer with `handle(request)`, or `listen({ hostname, port })`. */
export function createApp({ ledger, portal, mounts = [], log, onBug, onFenced = () => {}, ...rest }: AppOptions) {
  const { newId, clock, access } = ledger
  const requestStats = rest.requestStats ?? new RequestStats({ clock, log: null })
  const unknown = requestStats.route(UNKNOWN_ROUTE)
  const requestIdFor = (request: Request) => requestIdOf(request.headers.get('x-request-id'), newId)

  const onFailure = ({ error, isBug, ...fields }: FailureReport) => {
    log.error({ err: error, ...fields }, isBug ? 'bug met' : 'request failed')
    if (isBug) clock.after(BUG_ANSWER_MS, () => onBug(error))
    else if (isFenced(error)) onFenced()
  }

  /** An unknown route is 404 whatever the key; a valid one still sees its budget (docs/contract.md#limits: on every answer). */
  const notFoundAnswer = (request: Request): Response => {
    const arrivedMs = unknown.arrived()
    const requestId = requestIdFor(request)
    const isPartners = targetOf(request.url).path.startsWith(`${PARTNER_PREFIX}/`)
    const admission = isPartners ? access.admit(request.headers.get('authorization')) : null
    const headers = admission === null ? plainHeaders(requestId) : rateHeaders(requestId, admission.rate, clock.now())
    const response = problemAnswer(notFound('route'), requestId, headers)
    unknown.answered({ arrivedMs, requestId, admission }, response.status)
    return response
  }
  const preflight = countedRoute(
    { requestStats, newId },
    { surface: 'partner', method: 'OPTIONS', path: `${PARTNER_PREFIX}/*` },
    preflightAnswer,
  )

  const faultAnswer = (request: Request, error: unknown): Response => {
    const arrivedMs = unknown.arrived()
    const { problem, isBug } = failureOf(error, { isWrite: request.method !== 'GET' && request.method !== 'HEAD' })
    const requestId = requestIdFor(request)
    onFailure({ error, isBug, requestId, route: `${request.method} ${targetOf(request.url).path}` })
    unknown.answered({ arrivedMs, requestId, admission: null }, problem.status)
    return problemAnswer(problem, requestId, plainHeaders(requestId))
  }

  const partners = partnerRoutes({ ledger, requestStats, onFailure })
  const app = new Elysia({
    // `/units/` is not the list.
    strictPath: true,
    // Hosts may have one letter.
    handler: { standardHostname: false },
    serve: {
      ...SERVE_OPTIONS,
      routes: directRoutes([partners], faultAnswer),
    },
  })
    .onError(({ code, error, request }) =>
      code === 'NOT_FOUND' ? notFoundAnswer(request) : faultAnswer(request, error),
    )
    .options(`${PARTNER_PREFIX}/*`, ({ request }) => preflight(request))
    .use(docsPage({ requestStats, newId }))
    .use(partners)
  if (portal !== undefined) app.use(portalRoutes({ ...portal, requestStats, onFailure }))
  for (const mount of mounts) {
    const { path, fetch } = mount({ requestStats, onFailure })
    // A literal: Elysia reads from a handler's source which parts of a request to parse.
    app.all(path, ({ request }) => fetch(request))
  }
  return app
}

function isFenced(error: unknown): boolean {
  if (error instanceof JournalError) return error.kind === 'fenced'
  return error instanceof Error && error.cause instanceof JournalError && error.cause.kind === 'fenced'
}
