import { readFileSync } from 'node:fs'

/** The time since the machine booted: the same for all of its processes, and never adjusted. */
export interface BootTime {
  /** Identifies this boot of this machine. Times with different ids cannot be compared. */
  readonly bootId: string
  readonly ms: number
}

/** Null where the platform does not provide it (proc(5): Linux does, with a resolution of 10 ms). */
export function bootTime(): BootTime | null {
  if (process.platform !== 'linux') return null
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const seconds = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
  return { bootId, ms: seconds * 1_000 }
}
