import { LEDGER_METRICS } from './ledger-metrics.ts'
import { byLabel, FROM_MS, type Metric } from './metric.ts'
import { PROCESS_METRICS } from './process-metrics.ts'
import { REQUEST_METRICS } from './request-metrics.ts'
import type { ServiceStats } from './service-stats.ts'
import { WEBHOOK_METRICS } from './webhook-metrics.ts'

const EVENT_LOOP_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_event_loop_delay_seconds',
    type: 'histogram',
    help: 'Delay of timers, sampled ten times a second: how long the process was blocked.',
    across: 'each',
    read: ({ eventLoopDelay }) => [{ reading: eventLoopDelay, scale: FROM_MS }],
  },
]

const NO_SPANS = { sent: 0, dropped: 0 }

/** Reported from the start, so that a collector that accepts nothing is visible. */
const TRACE_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_trace_spans_total',
    type: 'counter',
    help: 'Spans sent to the collector, and spans dropped because it was slow or unreachable, by the process that made them.',
    labels: ['process', 'outcome'],
    read: ({ spans, sender: { sender } }) =>
      Object.entries({ service: spans, sender: sender?.spans ?? null }).flatMap(([process, of]) =>
        byLabel('outcome', { ...(of ?? NO_SPANS) }).map(({ labels, value }) => ({
          labels: { process, ...labels },
          value,
        })),
      ),
  },
]

/** What `GET /metrics` of a process that serves reports. No label contains a name, an address or a key (T1). */
export const ALL_METRICS: readonly Metric<ServiceStats>[] = [
  ...PROCESS_METRICS,
  ...REQUEST_METRICS,
  ...LEDGER_METRICS,
  ...WEBHOOK_METRICS,
  ...EVENT_LOOP_METRICS,
  ...TRACE_METRICS,
]
