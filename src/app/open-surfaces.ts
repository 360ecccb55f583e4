/** The composition root of the HTTP surfaces: which listener serves what, and to whom. */
import { ClientAddresses } from '../access/client-address.ts'
import { PortalAccess } from '../access/portal-access.ts'
import { TokenRateLimit } from '../access/token-rate-limit.ts'
import { WrongTokenThrottle } from '../access/wrong-token-throttle.ts'
import { createAdminApp, createApp, type PortalOptions } from '../api/app.ts'
import { mcpEndpoint } from '../api/mcp/mcp-endpoint.ts'
import { type ClusterPage, clusterRoutes } from '../api/server/cluster.ts'
import { healthRoutes, metricsRoute } from '../api/server/health.ts'
import type { Listener, Wrap } from '../api/server/listener.ts'
import { withoutIdleTimeout } from '../api/server/listener.ts'
import { whileConfirmed } from '../api/server/not-serving.ts'
import type { Answering } from '../api/server/served-routes.ts'
import { withoutCors } from '../api/server/without-cors.ts'
import type { ClusterNode } from '../cluster/cluster-node.ts'
import { clusterStats, clusterStatus } from '../cluster/cluster-status.ts'
import { systemClock } from '../lib/clock.ts'
import { RequestStats } from '../observability/request-stats.ts'
import { probeFence } from '../postgres/stores/audited-write.ts'
import type { Config } from './config.ts'
import type { Ledger } from './ledger.ts'
import type { Listeners } from './listeners.ts'
import type { Log } from './log.ts'
import { type Forwarding, openEntry } from './open-entry.ts'
import { openMetrics } from './open-metrics.ts'
import { openPortal } from './open-portal.ts'
import type { Webhooks } from './open-webhooks.ts'
import type { Secrets } from './secrets.ts'
import type { Service } from './service.ts'

/** What the surfaces are made of. */
interface SurfaceOptions {
  readonly config: Pick<Config, 'trustedProxies' | 'limits'>
  readonly secrets: Secrets
  readonly log: Log
  readonly listeners: Listeners
  readonly service: Service
  readonly ledger: Ledger
  readonly webhooks: Webhooks
  /** Null: this process has all shards. */
  readonly node: ClusterNode | null
  /** Null without a node. */
  readonly forwarding: Forwarding | null
}

/**
 * Builds every surface, which takes a quarter of a second and needs no ledger that is taken over.
 * @returns serves them from the next request on: on one listener, or, with ADMIN_PORT, on two
 */
export function prepareSurfaces(options: SurfaceOptions): () => void {
  const { app, adminApp, entry } = makeSurfaces(options)
  const { admin, public: listener } = options.listeners
  const { portalTokens: operatorTokens } = options.secrets
  const { ledger } = options
  const confirmed =
    (of: { hasProbes: boolean }): Wrap =>
    (answer) =>
      whileConfirmed(() => ledger.isConfirmed, answer, ledger.newId, of)
  const adminWrap =
    entry === null || adminApp === null || admin === null
      ? joined(withoutCors, confirmed({ hasProbes: true }))
      : joined(
          withoutCors,
          entry.wrap('admin', admin, { operatorTokens, any: withoutCors((request) => adminApp.fetch(request)) }),
        )
  const publicWrap =
    entry?.wrap('public', listener, {
      operatorTokens: admin === null ? operatorTokens : [],
      any: (request) => app.fetch(request),
    }) ?? confirmed({ hasProbes: admin === null })
  const serveAdmin = adminApp === null ? undefined : admin?.prepare(adminApp, adminWrap)
  const servePublic = listener.prepare(app, publicWrap)
  return () => {
    serveAdmin?.()
    servePublic()
  }
}

function joined(inner: (answer: Answering) => Answering, outer: Wrap): Wrap {
  return (answer, path) => outer(inner(answer), path)
}

function makeSurfaces(options: SurfaceOptions) {
  const { config, secrets, log, listeners, service, ledger, webhooks, node, forwarding } = options
  const entry = forwarding === null ? null : openEntry(ledger, forwarding, service.draining)
  const requestStats = new RequestStats({ clock: systemClock, log: log.isLevelEnabled('debug') ? log : null })
  const watch = {
    log,
    onBug: (error: unknown) => service.endAfterBug(error),
    onFenced: () => ledger.reportFenced(),
  }
  const throttle = new WrongTokenThrottle({
    clock: systemClock,
    onThrottled: (address) => log.warn({ address }, 'wrong tokens throttled'),
  })
  const portalLedger = openPortal(ledger, {
    secretKey: secrets.secretKey,
    webhooks: webhooks.commands,
    draining: service.draining,
    agencies: entry?.agencies ?? null,
  })
  const addresses = new ClientAddresses(config.trustedProxies)
  const portalOn = (
    listener: Listener,
    admitted: Omit<ConstructorParameters<typeof PortalAccess>[0], 'clock'>,
  ): PortalOptions => {
    const countWrong = (request: Request) => {
      const forwardedFor = request.headers.get('x-forwarded-for')
      const peer = entry === null ? listener.peerOf(request) : entry.peerOf(listener, request)
      return throttle.take(addresses.of({ peer, forwardedFor }))
    }
    return {
      ledger: {
        ...portalLedger,
        withoutIdleTimeout: (request, answer) => withoutIdleTimeout(listener.server, request, answer),
        publicUrl: ({ url }) => (listener === listeners.public ? url : withPort(url, listeners.public.port)),
      },
      access: new PortalAccess({ ...admitted, clock: systemClock, pace: ledger.access.pace }),
      throttled: (request) => {
        if (request.headers.has('authorization')) return countWrong(request)
        throttle.countMissing()
        return null
      },
      throttledSignIn: countWrong,
    }
  }
  const routeOptions = { requestStats, newId: ledger.newId }
  const openRequests = () => listeners.openRequests
  const { admin } = listeners
  const { portalTokens } = secrets
  const { catalogue, sessions } = ledger
  const rateLimit = new TokenRateLimit({ clock: systemClock, requestsPerMinute: config.limits.portalRequestsPerMinute })
  const publicPortal = portalOn(listeners.public, {
    ...{ operatorTokens: admin === null ? portalTokens : [], catalogue, sessions, rateLimit },
  })
  const adminPortal =
    admin === null ? null : portalOn(admin, { operatorTokens: portalTokens, catalogue: NO_ACCESS_TOKENS })
  const operating = [
    healthRoutes(
      {
        epoch: () => ledger.journal.epoch,
        stats: () => ledger.journal.stats,
        fence: () => probeFence(ledger.probes),
        nodeFaults: node === null ? undefined : () => node.faults,
      },
      routeOptions,
    ),
    metricsRoute(
      openMetrics({
        ...{ ledger, sender: webhooks.sender, requestStats, throttle, openRequests },
        cluster: node === null || entry === null ? null : () => clusterStats(node, entry.requests.stats),
      }),
      routeOptions,
    ),
    ...(node === null ? [] : [clusterRoutes(clusterPage(node), { ...routeOptions, ...(adminPortal ?? publicPortal) })]),
  ]
  const app = createApp({
    ledger,
    portal: publicPortal,
    mounts: [({ onFailure }) => mcpEndpoint({ ledger, requestStats, onFailure })],
    requestStats,
    ...watch,
  })
  if (adminPortal === null) {
    for (const routes of operating) app.use(routes)
    return { app, adminApp: null, entry }
  }
  return { app, adminApp: createAdminApp({ portal: adminPortal, operating, requestStats, ...watch }), entry }
}

function clusterPage(node: ClusterNode): ClusterPage {
  return { status: () => clusterStatus(node), drain: (id, options) => node.drain(id, options) }
}

/**
 * On ADMIN_PORT access tokens are unknown: they are for people outside the operator's network, who use PORT. Nor is there a session: a
 * browser sends the cookies of one port to every other.
 */
const NO_ACCESS_TOKENS = { tokenHolderByHash: () => null }

function withPort(url: string, port: number): string {
  const changed = URL.parse(url)
  if (changed === null) return url
  changed.port = String(port)
  return changed.href
}
