import { LEDGER_METRICS } from './ledger-metrics.ts'
import type { Metric } from './metric.ts'
import { PROCESS_METRICS } from './process-metrics.ts'
import { REQUEST_METRICS } from './request-metrics.ts'
import type { ServiceStats } from './service-stats.ts'
import { WEBHOOK_METRICS } from './webhook-metrics.ts'

/** What `GET /metrics` reports. No label contains a name, an address or a key (T1). */
export const ALL_METRICS: readonly Metric<ServiceStats>[] = [
  ...REQUEST_METRICS,
  ...LEDGER_METRICS,
  ...WEBHOOK_METRICS,
  ...PROCESS_METRICS,
]
