import { readFileSync } from 'node:fs'

/** The time of a machine since its boot: the same for all its processes, and never set. */
export interface BootTime {
  /** Of this boot of this machine. Times of different ids cannot be compared. */
  readonly bootId: string
  readonly ms: number
}

const readText = (path: string): string => readFileSync(path, 'utf8')

/**
 * Null where the platform does not tell it: Linux does, to 10 ms (proc(5)), but not in every sandbox.
 * @param read the text of a file; throws when it cannot be read
 */
export function bootTime(read: (path: string) => string = readText): BootTime | null {
  try {
    const bootId = read('/proc/sys/kernel/random/boot_id').trim()
    const ms = Number.parseFloat(read('/proc/uptime')) * 1_000
    return bootId !== '' && Number.isFinite(ms) ? { bootId, ms } : null
  } catch {
    // There is no such file, or it is hidden from us: no boot clock here, which is no reason not to serve.
    return null
  }
}
