/** This process as a worker: what it gets from its parent in place of opening it itself. */

import type { RetentionRound } from '../accounts/retention-job.ts'
import { nodeOfWorker } from '../cluster/cluster-config.ts'
import { ClusterMember } from '../cluster/cluster-member.ts'
import type { Membership } from '../cluster/membership.ts'
import type { ParentCalls, WorkerSettings } from '../cluster/workers/parent-calls.ts'
import type { ProcessChannel, Remote } from '../cluster/workers/process-channel.ts'
import { WorkerMember } from '../cluster/workers/worker-member.ts'
import { adminSocketOf } from '../cluster/workers/worker-sockets.ts'
import type { MetricReading } from '../observability/metric.ts'
import type { ResidentUnit } from '../verify/verification-process.ts'
import type { Config } from './config.ts'
import { Listeners } from './listeners.ts'
import type { Log } from './log.ts'
import type { Database } from './open-database.ts'
import type { OwnAnswers, SharedSurfaces, Throttled } from './open-surfaces.ts'

export class WorkerPlace {
  readonly settings: WorkerSettings
  readonly parent: Remote<ParentCalls>
  readonly #channel: ProcessChannel
  #counted: (throttle: Throttled, key: string) => void = () => {}
  #readings: () => Promise<readonly MetricReading[]> = async () => []
  #own: OwnAnswers | null = null

  constructor(settings: WorkerSettings, channel: ProcessChannel) {
    this.settings = settings
    this.#channel = channel
    this.parent = channel.remote<ParentCalls>()
  }

  /** PORT is shared by the workers, ADMIN_PORT is the parent's: what comes in there arrives through a socket. */
  listeners({ host, admin, cluster, workerPorts }: Config): Listeners {
    const { worker, port, folder, isSuccessor } = this.settings
    return new Listeners(
      {
        main: { host, port, isShared: true },
        // Of a successor: opened only when it serves, so that a proxy is refused and tries another worker. Of a node it is open earlier:
        // a 503 tells the other node that nothing was done.
        own:
          cluster === null && !workerPorts
            ? null
            : { at: { host, port: port + worker }, isLate: isSuccessor && cluster === null },
        admin: admin === null ? null : { unix: adminSocketOf(folder, worker) },
        isLate: isSuccessor,
      },
      () => this.parent.metricsPage(),
    )
  }

  /** The parent has opened it. */
  async database(): Promise<Database> {
    return { ...this.settings.database, standbys: null, stop: async () => {} }
  }

  /** The parent says which shards it has, or, with CLUSTER_ETCD, etcd. */
  membership({ cluster, workerPorts }: Config, log: Log): Membership {
    if (cluster !== null) return new ClusterMember(nodeOfWorker(cluster, this.settings.worker), log)
    return new WorkerMember(this.settings, this.#channel, {
      log,
      namesOwner: workerPorts,
      onReplaced: () => this.replaced(),
    })
  }

  readonly surfaces: SharedSurfaces = {
    publish: (throttle, key) => void this.parent.wrongToken(throttle, key).catch(ignoreEnd),
    subscribe: (counted) => {
      this.#counted = counted
    },
    metricsPage: () => this.parent.metricsPage(),
    measureWith: (readings) => {
      this.#readings = readings
    },
    runRetention: (isDryRun) => this.parent.runRetention(isDryRun),
    residentUnits: (unitIds) => this.parent.residentUnits(unitIds),
    answerWith: (own) => {
      this.#own = own
    },
  }

  /** The stats of this worker. */
  readings(): Promise<readonly MetricReading[]> {
    return this.#readings()
  }

  /** A round of retention of this worker's agencies. @throws when it does not serve yet, and as `RetentionJob.run` does */
  async runRetention(isDryRun: boolean): Promise<RetentionRound> {
    if (this.#own === null) throw new Error('Cannot run a round of retention: this worker does not serve yet')
    return this.#own.runRetention(isDryRun)
  }

  /** Those of the units that are resident in this worker. */
  residentUnits(unitIds: readonly string[]): readonly ResidentUnit[] {
    return this.#own?.residentUnits(unitIds) ?? []
  }

  /** Another worker has counted a wrong token. */
  countWrong(throttle: Throttled, key: string): void {
    this.#counted(throttle, key)
  }

  /** It is served from now on. */
  serving(): void {
    void this.parent.serving().catch(ignoreEnd)
  }

  /** Another process is the writer now, or SECRET_KEY has changed: all workers end. */
  replaced(): void {
    void this.parent.replaced().catch(ignoreEnd)
  }
}

/** The process ends with its parent (`disconnect`). */
function ignoreEnd(): void {}
