import type { AccessStats } from '../accounts/partner-access.ts'
import type { RetentionStats } from '../accounts/retention-job.ts'
import type { TokenRefusalStats } from '../accounts/wrong-token-throttle.ts'
import type { CatalogueStats } from '../core/catalogue/catalogue.ts'
import type { Instant } from '../core/domain/booking.ts'
import type { JournalStats } from '../core/journal/waiting-records.ts'
import type { DirectoryStats } from '../core/units/unit-directory.ts'
import type { FeedStats } from '../events/changes/change-feed.ts'
import type { SenderProcessStats } from '../events/webhooks/sender-process.ts'
import type { DeliveryBacklog } from '../events/webhooks/sender-store.ts'
import type { HistogramReading } from '../lib/measures.ts'
import type { Tracer } from '../lib/tracer.ts'
import type { ProcessView } from './process-metrics.ts'
import type { RouteCounts } from './request-stats.ts'

/** The connections of one pool. */
export interface PoolStats {
  /** Statements in progress, and those waiting for a connection. */
  readonly running: number
  readonly waiting: number
  /** Connections lost so far, without failed connection attempts, and statements that got no connection in time. */
  readonly lost: number
  readonly refused: number
}

/** Everything that the metrics page reports, at one moment. */
export interface ServiceStats extends ProcessView {
  /** Wall clock. */
  readonly nowMs: Instant
  /** Null for a node of a cluster, whose epochs rise and fall with its shards. */
  readonly epoch: number | null
  readonly routes: readonly RouteCounts[]
  /** Requests whose answer is not ready yet. */
  readonly openRequests: number
  readonly access: AccessStats
  readonly tokenRefusals: TokenRefusalStats
  /** Sessions of the portal's page. */
  readonly sessions: number
  readonly refusedWrites: { readonly rows: number; readonly uncounted: number }
  readonly idempotentRequests: number
  readonly feed: FeedStats
  readonly journal: JournalStats
  /** How many months after this one have partitions; null: unknown. */
  readonly monthsAhead: number | null
  readonly units: DirectoryStats
  readonly catalogue: CatalogueStats
  /** Expired holds that could not be released at the last attempt. */
  readonly holdsFailing: number
  readonly retention: RetentionStats
  /** Since a round began that gave every journal entry its leaf. */
  readonly checkpointsBehindMs: number
  /** By purpose. The journal's own connection is not one of them. */
  readonly pools: Readonly<Record<'queries' | 'lists' | 'probes', PoolStats>>
  readonly sender: SenderProcessStats
  /** The epoch that may write now, according to the database; null when it did not answer in time, and on a node: its shards have one each. */
  readonly fenceEpoch: number | null
  /** Null when the database did not answer in time. */
  readonly backlog: DeliveryBacklog | null
  /** Null: tracing is off. */
  readonly spans: Tracer['stats'] | null
  /** Milliseconds. */
  readonly eventLoopDelay: HistogramReading
}
