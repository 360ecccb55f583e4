/** The composition root of the metrics page. */

import type { WrongTokenThrottle } from '../accounts/wrong-token-throttle.ts'
import type { SenderProcess } from '../events/webhooks/sender-process.ts'
import { type Health, type MetricsPage, readinessFaults } from '../http/server/health.ts'
import { EventLoopDelay } from '../lib/measures.ts'
import { sharedCall } from '../lib/shared-call.ts'
import { ALL_METRICS } from '../observability/all-metrics.ts'
import { type MetricReading, metricsText, readMetrics } from '../observability/metric.ts'
import { type Role, viewProcess } from '../observability/process-metrics.ts'
import type { RequestStats } from '../observability/request-stats.ts'
import type { ServiceStats } from '../observability/service-stats.ts'
import { poolStats } from '../postgres/client/client-pool.ts'
import { probeFence } from '../postgres/stores/audited-write.ts'
import { deliveryBacklog } from '../postgres/stores/pending-deliveries.ts'
import type { Ledger } from './ledger.ts'
import { monthsAhead } from './months-ahead.ts'

interface MetricsOptions {
  readonly ledger: Ledger
  readonly sender: Pick<SenderProcess, 'stats'>
  readonly requestStats: RequestStats
  readonly throttle: Pick<WrongTokenThrottle, 'stats'>
  readonly role: Role
  readonly health: Pick<Health, 'stats' | 'faults'>
  /** Requests not yet answered. */
  openRequests(): number
  /** About other nodes. */
  others(): readonly MetricReading[]
}

/** `readings`: what the page shows, for the process that makes one page of several workers (SummedMetrics). */
type Metrics = MetricsPage & { readings(): Promise<readonly MetricReading[]> }

/** Starts sampling the event loop, for the lifetime of the process. */
export function openMetrics(options: MetricsOptions): Metrics {
  const eventLoop = new EventLoopDelay(options.ledger.clock)
  eventLoop.start()
  const readings = sharedCall(async () => [
    ...readMetrics(ALL_METRICS, await read(options, eventLoop)),
    ...options.others(),
  ])
  return { readings, text: async () => metricsText(await readings()) }
}

/** Reads all stats. If the database is unavailable or slow, its values are null and the rest is still reported. */
async function read(options: MetricsOptions, eventLoop: EventLoopDelay): Promise<ServiceStats> {
  const { ledger, sender, requestStats, throttle } = options
  const [fence, backlog] = await Promise.all([
    probeFence(ledger.probes).catch(() => null),
    deliveryBacklog(ledger.probes).catch(() => null),
  ])
  const epoch = ledger.ownership.epoch()
  return {
    ...viewProcess({
      role: options.role,
      isReady: readinessFaults(options.health, fence).length === 0,
      isDatabaseUp: fence !== null,
    }),
    nowMs: ledger.clock.now(),
    epoch,
    routes: requestStats.counts(),
    openRequests: options.openRequests(),
    access: ledger.access.stats,
    tokenRefusals: throttle.stats,
    sessions: ledger.sessions.count,
    refusedWrites: ledger.refusals.stats,
    idempotentRequests: ledger.idempotency.open,
    feed: ledger.changes.stats,
    journal: ledger.journal.stats,
    monthsAhead: monthsAhead(ledger.journal.newestMonth, ledger.clock.now()),
    units: ledger.directory.stats,
    catalogue: ledger.catalogue.stats,
    holdsFailing: ledger.holdTimer.failing,
    retention: ledger.retention.stats,
    checkpointsBehindMs: ledger.checkpointBuilder.behindMs,
    pools: {
      queries: poolStats(ledger.sql),
      lists: ledger.lists.stats,
      probes: poolStats(ledger.probes),
    },
    sender: sender.stats,
    fenceEpoch: epoch === null ? null : (fence?.epoch ?? null),
    backlog,
    spans: ledger.tracer?.stats ?? null,
    eventLoopDelay: eventLoop.read(),
  }
}
