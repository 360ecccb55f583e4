import type { Instant } from '../core/domain/booking.ts'
import type { GateVitals } from '../access/partner-access.ts'
import type { RouteCounts } from './request-stats.ts'
import type { JournalVitals } from '../core/journal/journal.ts'
import type { HistogramReading } from '../lib/histogram.ts'
import type { DirectoryVitals } from '../core/units/unit-directory.ts'
import type { DeliveryBacklog } from '../webhooks/delivery-backlog.ts'
import type { SenderProcessVitals } from '../webhooks/sender-process.ts'
import type { ProcessVitals } from './process-stats.ts'

/** The connections of one pool. */
export interface PoolVitals {
  /** Statements in progress, and those waiting for a connection. */
  readonly running: number
  readonly waiting: number
  /** Connections lost so far, and statements that got no connection in time. */
  readonly lost: number
  readonly refused: number
}

/** Everything that the metrics page tells, as it is at one moment. */
export interface ServiceVitals {
  /** Wall clock. */
  readonly nowMs: Instant
  readonly version: string
  readonly bun: string
  readonly epoch: number
  readonly routes: readonly RouteCounts[]
  /** Requests whose answer is not ready yet. */
  readonly openRequests: number
  readonly gate: GateVitals
  readonly refusedWrites: { readonly rows: number; readonly uncounted: number }
  readonly idempotentRequests: number
  readonly journal: JournalVitals
  readonly units: DirectoryVitals
  /** Expired holds that could not be released at the last attempt. */
  readonly holdsFailing: number
  /** By purpose. The journal's own connection is not one of them. */
  readonly pools: Readonly<Record<'queries' | 'lists' | 'probes', PoolVitals>>
  readonly sender: SenderProcessVitals
  /** The epoch that may write now, as the database says; null when it did not answer in time. */
  readonly fenceEpoch: number | null
  /** Null when the database did not answer in time. */
  readonly backlog: DeliveryBacklog | null
  /** Milliseconds. */
  readonly eventLoopDelay: HistogramReading
  readonly process: ProcessVitals
}
