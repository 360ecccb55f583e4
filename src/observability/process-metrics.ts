import { COMMIT, VERSION } from '../lib/version.ts'
import { byLabel, type Metric, only } from './metric.ts'

/** The role of a process: the single writer, a cluster node, or why it is not serving. */
const ROLES = ['writer', 'node', 'standby', 'starting', 'fenced'] as const

export type Role = (typeof ROLES)[number]

/** Resource usage of the process. */
interface ProcessStats {
  readonly cpuUserS: number
  readonly cpuSystemS: number
  readonly residentBytes: number
  readonly heapUsedBytes: number
  /** Wall clock, seconds since 1970-01-01T00:00:00Z. */
  readonly startedAtS: number
}

/** Metrics of every process, whether or not it serves. */
export interface ProcessView {
  readonly version: string
  readonly commit: string
  readonly bun: string
  readonly role: Role
  /** Whether `/readyz` would answer 200. */
  readonly isReady: boolean
  /** Whether the database answered in time; null before the process knows its database. */
  readonly isDatabaseUp: boolean | null
  readonly process: ProcessStats
}

/** @param state what the process cannot read from itself */
export function viewProcess(state: Pick<ProcessView, 'role' | 'isReady' | 'isDatabaseUp'>): ProcessView {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    ...state,
    version: VERSION,
    commit: COMMIT,
    bun: Bun.version,
    process: {
      cpuUserS: user / 1e6,
      cpuSystemS: system / 1e6,
      residentBytes: rss,
      heapUsedBytes: heapUsed,
      startedAtS: performance.timeOrigin / 1_000,
    },
  }
}

/** The only metrics of a standby or a starting process. */
export const PROCESS_METRICS: readonly Metric<ProcessView>[] = [
  {
    name: 'nightledger_build_info',
    type: 'gauge',
    help: 'Always 1; the labels are the version and commit of nightledger, and the version of Bun.',
    labels: ['version', 'commit', 'bun'],
    across: 'max',
    read: ({ version, commit, bun }) => [{ labels: { version, commit, bun }, value: 1 }],
  },
  {
    name: 'nightledger_ready',
    type: 'gauge',
    help: 'Whether the process can take bookings now, as /readyz says: 1 or 0. A standby is not ready.',
    across: 'min',
    read: ({ isReady }) => only(isReady ? 1 : 0),
  },
  {
    name: 'nightledger_role',
    type: 'gauge',
    help: 'Whether the process has this role now: 1 or 0. With several workers, 1 for each role that any of them has.',
    labels: ['role'],
    across: 'max',
    read: ({ role }) => ROLES.map((each) => ({ labels: { role: each }, value: each === role ? 1 : 0 })),
  },
  {
    name: 'nightledger_database_up',
    type: 'gauge',
    help: 'Whether the database answered a query during this scrape: 1 or 0.',
    across: 'min',
    read: ({ isDatabaseUp }) => only(isDatabaseUp === null ? null : Number(isDatabaseUp)),
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
]
