import { sharedCall } from '../lib/shared-call.ts'
import { type MetricReading, metricsText, readMetrics } from '../observability/metric.ts'
import { PROCESS_METRICS, type Role, viewProcess } from '../observability/process-metrics.ts'
import type { Sql } from '../postgres/client/connect.ts'
import { probeFence } from '../postgres/stores/audited-write.ts'

/** The metrics of a process that does not serve: those of the process, without ledger metrics. */
export class IdleMetrics {
  #probe: (() => Promise<unknown>) | null = null

  /** From now on, the metrics include whether the database answers. */
  watch(probes: Sql): void {
    this.#probe = sharedCall(() => probeFence(probes))
  }

  async readings(role: Role): Promise<readonly MetricReading[]> {
    const isDatabaseUp =
      this.#probe === null
        ? null
        : await this.#probe().then(
            () => true,
            () => false,
          )
    return readMetrics(PROCESS_METRICS, viewProcess({ role, isReady: false, isDatabaseUp }))
  }

  async text(role: Role): Promise<string> {
    return metricsText(await this.readings(role))
  }
}
