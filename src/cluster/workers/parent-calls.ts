/** What a worker and its parent ask of each other. */
import type { RetentionRound } from '../../accounts/retention-job.ts'
import type { MetricReading } from '../../observability/metric.ts'
import type { ResidentUnit } from '../../verify/verification-process.ts'
import type { Change, Committed, Entry, Reading } from '../etcd/etcd.ts'

/** How a worker is started. */
export interface WorkerSettings {
  /** From 1; its successor after a crash has the same. */
  readonly worker: number
  /** PROGRAM of the parent, as that of all its workers must be. */
  readonly program: string
  /** `writer_id` of the parent: whoever takes over from it takes over from all its workers. */
  readonly parentId: string
  readonly parentPid: number
  readonly database: { readonly url: string; readonly isEmbedded: boolean; readonly isOwner: boolean }
  /** Of the public listener, which all workers share. */
  readonly port: number
  /** Of the parent's ADMIN_PORT; null without one. */
  readonly adminPort: number | null
  /** Where the sockets of the workers are. */
  readonly folder: string
  /** With the embedded database: it makes the demo agency before the others begin, and says on standard output what to try. */
  readonly isFirst: boolean
  /** Its predecessor ended: others serve already. */
  readonly isSuccessor: boolean
}

/** Whether a worker may serve yet: another process may be the writer. `soon`: requests that arrive now are worth holding. */
export type Standing = 'standby' | 'soon'

/** What the parent answers. Keys and leases are those of `LeaseStore`; a lease ends with the process that it was granted to. */
export type ParentCalls = {
  grant: (signal: AbortSignal, ttlS: number) => string
  keepAlive: (signal: AbortSignal, lease: string) => number
  revoke: (signal: AbortSignal, lease: string) => void
  read: (signal: AbortSignal, prefix: string) => Reading
  commit: (signal: AbortSignal, changes: readonly Change[]) => Promise<Committed>
  changes: (signal: AbortSignal, fromRevision: number) => Promise<readonly Entry[] | null>
  /** Answered when the parent is the writer, and it is this worker's turn to take its shards. */
  turn: () => Promise<void>
  /** It has what it needs to serve. Answered when all that were started with it have. */
  ready: () => Promise<void>
  /** It serves. */
  serving: () => void
  /** It is being stopped and has answered everything. Answered when all have. */
  drained: () => Promise<void>
  /** It has found out that another process has taken over, or that SECRET_KEY is another one now. */
  replaced: () => void
  /** The metrics of all workers together. */
  metricsPage: () => Promise<string>
  /** A round of retention in every worker, each of its own agencies. Fails when one has failed, once all have had their turn. */
  runRetention: (signal: AbortSignal, isDryRun: boolean) => Promise<RetentionRound>
  /** Those of the units that are resident in any worker, for a verification. Fails when a worker does not answer. */
  residentUnits: (signal: AbortSignal, unitIds: readonly string[]) => Promise<readonly ResidentUnit[]>
  /** A wrong token was counted, of one of the throttles. */
  wrongToken: (signal: AbortSignal, throttle: string, key: string) => void
}

/** What a worker answers. */
export type WorkerCalls = {
  start: (signal: AbortSignal, settings: WorkerSettings) => void
  /** The worker answered, so it does not hang. */
  alive: () => void
  standing: (signal: AbortSignal, standing: Standing) => void
  /** Ends the process, with all others. */
  stop: (signal: AbortSignal, signalName: string) => void
  /** What the worker has measured, for the metrics of all. */
  readings: () => Promise<readonly MetricReading[]>
  /** A round of retention of the worker's own agencies. */
  runRetention: (signal: AbortSignal, isDryRun: boolean) => Promise<RetentionRound>
  /** Those of the units that are resident in this worker. */
  residentUnits: (signal: AbortSignal, unitIds: readonly string[]) => readonly ResidentUnit[]
  /** Another worker has counted one. */
  wrongToken: (signal: AbortSignal, throttle: string, key: string) => void
}
