import { LEDGER_METRICS } from './ledger-metrics.ts'
import { byLabel, FROM_MS, type Metric, only } from './metric.ts'
import { REQUEST_METRICS } from './request-metrics.ts'
import type { ServiceStats } from './service-stats.ts'
import { WEBHOOK_METRICS } from './webhook-metrics.ts'

const PROCESS_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_build_info',
    type: 'gauge',
    help: 'Always 1; the labels have the versions of nightledger and Bun.',
    labels: ['version', 'bun'],
    across: 'max',
    read: ({ version, bun }) => [{ labels: { version, bun }, value: 1 }],
  },
  {
    name: 'nightledger_process_start_time_seconds',
    type: 'gauge',
    help: 'Start time of the process, in seconds since 1970-01-01T00:00:00Z.',
    across: 'each',
    read: ({ process }) => only(process.startedAtS),
  },
  {
    name: 'nightledger_process_cpu_seconds_total',
    type: 'counter',
    help: 'CPU time of the process, not counting the webhook sender.',
    labels: ['mode'],
    across: 'each',
    read: ({ process }) => byLabel('mode', { user: process.cpuUserS, system: process.cpuSystemS }),
  },
  {
    name: 'nightledger_process_resident_memory_bytes',
    type: 'gauge',
    help: 'Resident memory of the process, not counting the webhook sender.',
    across: 'each',
    read: ({ process }) => only(process.residentBytes),
  },
  {
    name: 'nightledger_process_heap_used_bytes',
    type: 'gauge',
    help: 'Memory used by JavaScript objects.',
    across: 'each',
    read: ({ process }) => only(process.heapUsedBytes),
  },
  {
    name: 'nightledger_event_loop_delay_seconds',
    type: 'histogram',
    help: 'Delay of timers, sampled ten times a second: how long the process was blocked.',
    across: 'each',
    read: ({ eventLoopDelay }) => [{ reading: eventLoopDelay, scale: FROM_MS }],
  },
]

/** What `GET /metrics` reports. No label contains a name, an address or a key (T1). */
export const ALL_METRICS: readonly Metric<ServiceStats>[] = [
  ...REQUEST_METRICS,
  ...LEDGER_METRICS,
  ...WEBHOOK_METRICS,
  ...PROCESS_METRICS,
]
