/** The composition root of the HTTP surfaces: which listener serves what, and to whom. */
import { ClientAddresses } from '../accounts/client-address.ts'
import { PortalAccess } from '../accounts/portal-access.ts'
import type { RetentionRound } from '../accounts/retention-job.ts'
import { TokenRateLimit } from '../accounts/token-rate-limit.ts'
import { FLOOD_PER_MINUTE, WrongTokenThrottle } from '../accounts/wrong-token-throttle.ts'
import { createAdminApp, createApp, type PortalOptions } from '../api/app.ts'
import { mcpEndpoint } from '../api/mcp/mcp-endpoint.ts'
import type { Entrance } from '../cluster/membership.ts'
import { healthRoutes, metricsRoute } from '../http/server/health.ts'
import type { Listener } from '../http/server/listener.ts'
import { withoutCors } from '../http/server/served-routes.ts'
import { systemClock } from '../lib/clock.ts'
import { sharedCall } from '../lib/shared-call.ts'
import type { MetricReading } from '../observability/metric.ts'
import { RequestStats } from '../observability/request-stats.ts'
import { probeFence } from '../postgres/stores/audited-write.ts'
import type { ResidentUnit, ResidentUnits } from '../verify/verification-process.ts'
import type { Config } from './config.ts'
import type { Ledger } from './ledger.ts'
import type { Listeners } from './listeners.ts'
import type { Log } from './log.ts'
import { openMetrics } from './open-metrics.ts'
import { openPortal, residentUnitsOf } from './open-portal.ts'
import type { Webhooks } from './open-webhooks.ts'
import type { Secrets } from './secrets.ts'
import type { Service } from './service.ts'

/** What the surfaces are made of. */
interface SurfaceOptions {
  readonly config: Pick<Config, 'publicUrl' | 'trustedProxies' | 'limits' | 'cluster'>
  readonly secrets: Secrets
  readonly log: Log
  readonly listeners: Listeners
  readonly service: Service
  readonly ledger: Ledger
  readonly webhooks: Webhooks
  readonly people: Parameters<typeof openPortal>[1]['people']
  readonly entrance: Entrance
  /** Null: this process serves alone. */
  readonly shared: SharedSurfaces | null
}

/** Which throttle counts. */
export type Throttled = 'wrong' | 'flood' | 'claim'

/** What the surfaces of the workers of one service have in common. */
export interface SharedSurfaces {
  /**
   * This worker has counted a wrong token; the others are to count it too, because an address has one limit, whichever worker answers.
   * @param key the client's network, or the id of a person
   */
  publish(throttle: Throttled, key: string): void
  /** @param counted to be called with what another worker publishes */
  subscribe(counted: (throttle: Throttled, key: string) => void): void
  /** The metrics of all. @throws when the parent does not answer */
  metricsPage(): Promise<string>
  /** @param readings this worker's stats, called when the parent asks; replaces the previous function */
  measureWith(readings: () => Promise<readonly MetricReading[]>): void
  /** A round of retention in every worker, each of its own agencies. @throws when one has failed, or the parent does not answer */
  runRetention(isDryRun: boolean): Promise<RetentionRound>
  /** Those of the units that are resident in any worker. @throws when the parent does not answer */
  residentUnits: ResidentUnits
  /** @param own the same of this worker alone, called when the parent asks */
  answerWith(own: OwnAnswers): void
}

/** What a worker that serves does of what concerns all of them. */
export interface OwnAnswers {
  runRetention(isDryRun: boolean): Promise<RetentionRound>
  residentUnits(unitIds: readonly string[]): readonly ResidentUnit[]
}

/**
 * Builds every surface, which takes a quarter of a second and needs no ledger that is taken over.
 * @returns serves them from the next request on: on one listener, or, with ADMIN_PORT, on two
 */
export function prepareSurfaces(options: SurfaceOptions): () => void {
  const { app, adminApp, metrics } = makeSurfaces(options)
  const { admin, public: listener } = options.listeners
  const { portalTokens: operatorTokens } = options.secrets
  const { entrance, ledger } = options
  const served: (() => void)[] = []
  if (adminApp !== null && admin !== null) {
    const any = withoutCors((request) => adminApp.fetch(request))
    const wrap = entrance.wrap('admin', admin, { operatorTokens, hasProbes: true, any })
    served.push(admin.prepare(adminApp, (answer, ...route) => wrap(withoutCors(answer), ...route)))
  }
  for (const each of [listener, options.listeners.own]) {
    if (each === null) continue
    const wrap = entrance.wrap('public', each, {
      operatorTokens: admin === null ? operatorTokens : [],
      hasProbes: admin === null,
      any: (request) => app.fetch(request),
    })
    served.push(each.prepare(app, wrap))
  }
  return () => {
    for (const serve of served) serve()
    options.shared?.measureWith(metrics.readings)
    options.shared?.answerWith({
      runRetention: (isDryRun) => ledger.retention.run({ isDryRun }),
      residentUnits: (unitIds) => residentUnitsOf(ledger, unitIds),
    })
  }
}

function makeSurfaces(options: SurfaceOptions) {
  const { config, secrets, log, listeners, service, ledger, webhooks, entrance, shared } = options
  const lineLog = log.isLevelEnabled('debug') ? log : null
  const requestStats = new RequestStats({ clock: systemClock, log: lineLog, tracer: ledger.tracer })
  const watch = {
    log,
    onBug: (error: unknown) => service.endAfterBug(error),
    onFenced: () => ledger.reportFenced(),
  }
  const throttle = new WrongTokenThrottle({
    clock: systemClock,
    onThrottled: (address) => log.warn({ address }, 'wrong tokens throttled'),
    onCounted: (network) => shared?.publish('wrong', network),
  })
  /** Only of what somebody signs in with: a program with a revoked token takes nothing from the people of its office. */
  const floods = new WrongTokenThrottle({
    clock: systemClock,
    onThrottled: () => {},
    onCounted: (network) => shared?.publish('flood', network),
    perMinute: FLOOD_PER_MINUTE,
  })
  /** Of the people for whom wrong passkeys come, whether they exist or not. */
  const claimThrottle = new WrongTokenThrottle({
    clock: systemClock,
    onThrottled: () => log.warn('wrong passkeys for one person throttled'),
    onCounted: (person) => shared?.publish('claim', person),
  })
  const throttles = { wrong: throttle, flood: floods, claim: claimThrottle } satisfies Record<Throttled, unknown>
  shared?.subscribe((throttled, key) => throttles[throttled].countElsewhere(key))
  const portalLedger = openPortal(ledger, {
    secretKey: secrets.secretKey,
    webhooks: webhooks.commands,
    draining: service.draining,
    agencies: entrance.agencies,
    runRetention: shared?.runRetention ?? null,
    residentUnits: shared?.residentUnits ?? null,
    people: options.people,
  })
  const addresses = new ClientAddresses(config.trustedProxies)
  const portalOn = (
    listener: Listener,
    admitted: Omit<ConstructorParameters<typeof PortalAccess>[0], 'clock'>,
  ): PortalOptions => {
    const addressOf = (request: Request) => {
      const forwardedFor = request.headers.get('x-forwarded-for')
      return addresses.of({ peer: entrance.peerOf(listener, request), forwardedFor })
    }
    const countWrong = (request: Request) => throttle.take(addressOf(request))
    return {
      ledger: {
        ...portalLedger,
        withoutIdleTimeout: (request, answer) => listener.withoutIdleTimeout(request, answer),
        publicUrl: ({ url }) =>
          config.publicUrl ?? (listener === listeners.public ? url : withPort(url, listeners.public.port)),
      },
      access: new PortalAccess({
        ...admitted,
        clock: systemClock,
        pace: ledger.access.pace,
        isOnlyProvider: portalLedger.provider?.isOnly ?? false,
      }),
      throttled: (request) => {
        if (request.headers.has('authorization')) return countWrong(request)
        throttle.countMissing()
        return null
      },
      throttledSignIn: (request, claim) => {
        floods.take(addressOf(request))
        const ofAddress = countWrong(request)
        // An address that is throttled takes nothing from the person.
        return ofAddress ?? (claim === null ? null : claimThrottle.take(claim))
      },
      isFlooding: (request) => floods.isOver(addressOf(request)),
      addressOf,
    }
  }
  const routeOptions = { requestStats, newId: ledger.newId }
  const openRequests = () => listeners.openRequests
  const { admin } = listeners
  const { portalTokens } = secrets
  const { catalogue, sessions } = ledger
  const rateLimit = new TokenRateLimit({ clock: systemClock, requestsPerMinute: config.limits.portalRequestsPerMinute })
  const publicPortal = portalOn(listeners.public, {
    operatorTokens: admin === null ? portalTokens : [],
    catalogue,
    sessions,
    rateLimit,
  })
  const adminPortal = admin === null ? null : portalOn(admin, { operatorTokens: portalTokens, catalogue: NO_MEMBERS })
  const health = {
    stats: () => ledger.journal.stats,
    // Heartbeats use the same connections: a flood of probes must not delay them.
    fence: sharedCall(() => probeFence(ledger.probes)),
    faults: (fence: Parameters<Entrance['faults']>[0]) => entrance.faults(fence),
  }
  const metrics = openMetrics({
    ledger,
    role: config.cluster === null ? 'writer' : 'node',
    health,
    sender: webhooks.sender,
    requestStats,
    throttle,
    openRequests,
    others: () => entrance.metrics(),
  })
  const operating = [
    healthRoutes(health, routeOptions),
    metricsRoute(shared === null ? metrics : { text: () => shared.metricsPage() }, routeOptions),
    ...entrance.routes({ ...routeOptions, ...(adminPortal ?? publicPortal) }),
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
    return { app, adminApp: null, metrics }
  }
  return { app, adminApp: createAdminApp({ portal: adminPortal, operating, requestStats, ...watch }), metrics }
}

/**
 * On ADMIN_PORT people and access tokens are unknown: they are outside the operator's network, and use PORT. Nor is there a session: a
 * browser sends the cookies of one port to every other.
 */
const NO_MEMBERS = { accessTokens: { holderByHash: () => null }, member: () => null }

function withPort(url: string, port: number): string {
  const changed = URL.parse(url)
  if (changed === null) return url
  changed.port = String(port)
  return changed.href
}
