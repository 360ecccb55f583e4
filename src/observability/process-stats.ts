/** What the process uses of its machine. */
export interface ProcessStats {
  readonly cpuUserS: number
  readonly cpuSystemS: number
  readonly residentBytes: number
  readonly heapUsedBytes: number
  /** Wall clock, seconds since 1970-01-01T00:00:00Z. */
  readonly startedAtS: number
}

export function readProcess(): ProcessStats {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return {
    cpuUserS: user / 1e6,
    cpuSystemS: system / 1e6,
    residentBytes: rss,
    heapUsedBytes: heapUsed,
    startedAtS: performance.timeOrigin / 1_000,
  }
}
