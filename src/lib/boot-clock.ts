import { readFileSync } from 'node:fs'

/** The time of a machine since its boot: the same for all its processes, and never set. */
export interface BootTime {
  /** Of this boot of this machine. Times of different ids cannot be compared. */
  readonly bootId: string
  readonly ms: number
}

/** Null where the platform does not tell it (proc(5): Linux does, to 10 ms). */
export function bootTime(): BootTime | null {
  if (process.platform !== 'linux') return null
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  const seconds = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
  return { bootId, ms: seconds * 1_000 }
}
