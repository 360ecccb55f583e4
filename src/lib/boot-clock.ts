import { readFileSync } from 'node:fs'

/** The time since the machine booted: the same for all of its processes, and never adjusted. */
export interface BootTime {
  /** Identifies this boot of this machine. Times with different ids cannot be compared. */
  readonly bootId: string
  readonly ms: number
}

const readText = (path: string): string => readFileSync(path, 'utf8')

/**
 * Null where the platform does not provide it (proc(5): Linux does, with a resolution of 10 ms, but not in every sandbox).
 * @param read the text of a file; throws when it cannot be read
 */
export function bootTime(read: (path: string) => string = readText): BootTime | null {
  try {
    const bootId = read('/proc/sys/kernel/random/boot_id').trim()
    const ms = Number.parseFloat(read('/proc/uptime')) * 1_000
    return bootId !== '' && Number.isFinite(ms) ? { bootId, ms } : null
  } catch {
    // The file is missing or hidden: there is no boot clock here. The service can run without one.
    return null
  }
}
