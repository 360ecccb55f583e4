import { byLabel, FROM_MS, type Metric, only } from './metric.ts'
import type { ServiceStats } from './service-stats.ts'

export const PROCESS_METRICS: readonly Metric<ServiceStats>[] = [
  {
    name: 'nightledger_build_info',
    type: 'gauge',
    help: 'Always 1: which version runs, on which Bun.',
    labels: ['version', 'bun'],
    read: ({ version, bun }) => [{ labels: { version, bun }, value: 1 }],
  },
  {
    name: 'nightledger_process_start_time_seconds',
    type: 'gauge',
    help: 'When the process began, in seconds since 1970-01-01T00:00:00Z.',
    read: ({ process }) => only(process.startedAtS),
  },
  {
    name: 'nightledger_process_cpu_seconds_total',
    type: 'counter',
    help: "CPU time of the process, without the webhook sender's.",
    labels: ['mode'],
    read: ({ process }) => byLabel('mode', { user: process.cpuUserS, system: process.cpuSystemS }),
  },
  {
    name: 'nightledger_process_resident_memory_bytes',
    type: 'gauge',
    help: "Resident memory of the process, without the webhook sender's.",
    read: ({ process }) => only(process.residentBytes),
  },
  {
    name: 'nightledger_process_heap_used_bytes',
    type: 'gauge',
    help: 'Memory of JavaScript objects.',
    read: ({ process }) => only(process.heapUsedBytes),
  },
  {
    name: 'nightledger_event_loop_delay_seconds',
    type: 'histogram',
    help: 'How late timers fired, sampled ten times a second: for so long the process was busy with something else.',
    read: ({ eventLoopDelay }) => [{ reading: eventLoopDelay, scale: FROM_MS }],
  },
]
