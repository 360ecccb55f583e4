import { mkdtempSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** What the servers of a whole run need at most, logs included. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30

/**
 * Where PostgreSQL servers have their files: in memory where there is room. What a power failure leaves is the subject of no test, and
 * waiting for the disk, thousands of times, took a good part of a run. The service insists on fsync, which costs nothing there.
 */
export function serverFolders(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize > MEMORY_BYTES_MIN && freemem() > 2 * MEMORY_BYTES_MIN) return MEMORY
  } catch {
    // Not on this system.
  }
  return tmpdir()
}

/** A new folder for a server. */
export function serverFolder(name: string): string {
  return mkdtempSync(join(serverFolders(), `nightledger-${name}-`))
}
