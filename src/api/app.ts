import { type AnyElysia, Elysia } from 'elysia'
import type { FailureReport } from '../http/answer.ts'
import { preflightAnswer } from '../http/cors.ts'
import { type FailureWatch, fallbackAnswers } from '../http/fallback-answers.ts'
import { targetOf } from '../http/request.ts'
import { countedRoute, directRoutes } from '../http/route.ts'
import { docsPage } from '../http/server/docs/docs-page.ts'
import { SERVE_OPTIONS } from '../http/server/listener.ts'
import { RequestStats } from '../observability/request-stats.ts'
import { pageRoutes } from './page/page-routes.ts'
import type { PartnerDependencies, PartnerLedger } from './partner/partner-route.ts'
import { PARTNER_PREFIX, partnerRoutes } from './partner/partner-surface.ts'
import type { PortalDependencies } from './portal/portal-dependencies.ts'
import { portalRoutes } from './portal/portal-surface.ts'

/** Another surface, mounted on its own path. */
interface Mount {
  readonly path: string
  fetch(request: Request): Response | Promise<Response>
}

/** What the portal needs beside the app's own. */
export type PortalOptions = Omit<PortalDependencies, 'requestStats' | 'onFailure'>

export interface AppOptions extends FailureWatch {
  readonly ledger: PartnerLedger
  /** Left out: the portal's routes are 404. */
  readonly portal?: PortalOptions
  /** Further surfaces; each receives the counters of its answers and a callback for its failures. */
  readonly mounts?: readonly ((options: {
    requestStats: RequestStats
    onFailure(report: FailureReport): void
  }) => Mount)[]
  /** Counts every answer. */
  readonly requestStats?: RequestStats
}

const ELYSIA_OPTIONS = {
  // `/units/` is not the list.
  strictPath: true,
  // Hosts may have one letter.
  handler: { standardHostname: false },
} as const

/** The HTTP surfaces of the service. Answer with `handle(request)`, or `listen({ hostname, port })`. */
export function createApp({ ledger, portal, mounts = [], ...rest }: AppOptions) {
  const { newId, clock, access } = ledger
  const requestStats = rest.requestStats ?? new RequestStats({ clock, log: null })
  const { onFailure, notFound, fault } = fallbackAnswers(ledger, requestStats, rest)

  /** An unknown route is 404 whatever the key; a valid one still sees its budget (docs/contract.md#limits: on every answer). */
  const notFoundAnswer = (request: Request): Response => {
    const isPartners = targetOf(request.url).path.startsWith(`${PARTNER_PREFIX}/`)
    return notFound(request, isPartners ? access.admit(request.headers.get('authorization')) : null)
  }
  const preflight = countedRoute(
    { requestStats, newId },
    { surface: 'partner', method: 'OPTIONS', path: `${PARTNER_PREFIX}/*` },
    preflightAnswer,
  )

  const sandboxEvents: PartnerDependencies['sandboxEvents'] = {
    send: async (...event) => (await portal?.ledger.webhooks.sandboxEvents.send(...event)) ?? { kind: 'not_found' },
  }
  const partners = partnerRoutes({ ledger, sandboxEvents, requestStats, onFailure })
  const app = new Elysia({
    ...ELYSIA_OPTIONS,
    serve: {
      ...SERVE_OPTIONS,
      routes: directRoutes([partners], fault),
    },
  })
    .onError(({ code, error, request }) => (code === 'NOT_FOUND' ? notFoundAnswer(request) : fault(request, error)))
    .options(`${PARTNER_PREFIX}/*`, ({ request }) => preflight(request))
    .use(docsPage({ requestStats, newId }))
    .use(pageRoutes({ requestStats, newId }))
    .use(partners)
  if (portal !== undefined) app.use(portalRoutes({ ...portal, requestStats, onFailure }))
  for (const mount of mounts) {
    const { path, fetch } = mount({ requestStats, onFailure })
    // A literal: Elysia reads from a handler's source which parts of a request to parse.
    app.all(path, ({ request }) => fetch(request))
  }
  return app
}

/**
 * What is the operator's alone, for a listener of its own: the portal and the operating routes, and neither partners' nor
 * channels' routes.
 * @param operating probes and metrics
 */
export function createAdminApp({
  portal,
  operating,
  requestStats,
  ...watch
}: FailureWatch & { portal: PortalOptions; operating: readonly AnyElysia[]; requestStats: RequestStats }) {
  const { onFailure, notFound, fault } = fallbackAnswers(portal.ledger, requestStats, watch)
  const app = new Elysia({ ...ELYSIA_OPTIONS, serve: SERVE_OPTIONS })
    .onError(({ code, error, request }) => (code === 'NOT_FOUND' ? notFound(request, null) : fault(request, error)))
    .use(portalRoutes({ ...portal, requestStats, onFailure }, { isPublic: false }))
  for (const routes of operating) app.use(routes)
  return app
}
