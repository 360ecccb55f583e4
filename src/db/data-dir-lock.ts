import { randomBytes } from 'node:crypto'
import { linkSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createWhole, readIfPresent } from '../lib/private-file.ts'
import { identityOf, isSameRun, type ProcessIdentity } from '../lib/process-identity.ts'
import { EmbeddedError } from './embedded-error.ts'

const LOCK_FILE = 'service.lock'

/** Of two services on one data folder only the first runs. Left behind by `kill -9`, the lock counts for nothing. */
export type DataDirLock = { release(): void }

/**
 * Takes the folder for this process.
 * @throws EmbeddedError when another living process, or this one, holds it
 */
export function takeDataDir(dataDir: string): DataDirLock {
  const path = join(dataDir, LOCK_FILE)
  const own = identityOf(process.pid)
  if (own === null) throw new EmbeddedError(`Cannot lock ${dataDir}: this process cannot see its own start time`)
  const content = `${JSON.stringify(own)}\n`
  // Every round either ends or has removed one stale lock; others may race for the place that it leaves.
  for (let round = 0; round < 10; round++) {
    if (createWhole(path, content)) return { release: () => release(path, own) }
    const held = readIfPresent(path)
    if (held === null) continue
    const holder = parse(held)
    if (holder !== null && isSameRun(holder)) {
      throw new EmbeddedError(
        `Cannot use the data folder ${dataDir}: process ${holder.pid} is using it. Stop that service, or give this one another DATA_DIR.`,
      )
    }
    removeStale(path, held)
  }
  throw new EmbeddedError(`Cannot use the data folder ${dataDir}: other services keep taking and leaving it`)
}

/** The living process that holds the folder, if any. */
export function holderOf(dataDir: string): ProcessIdentity | null {
  const holder = parse(readIfPresent(join(dataDir, LOCK_FILE)) ?? '')
  return holder !== null && isSameRun(holder) ? holder : null
}

function removeStale(path: string, stale: string): void {
  const aside = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    renameSync(path, aside)
  } catch {
    return // Another process was faster.
  }
  // Between the look and the rename another process may have put its own, living lock there: give it back.
  if (readIfPresent(aside) !== stale) linkSync(aside, path)
  rmSync(aside)
}

function release(path: string, own: ProcessIdentity): void {
  const holder = parse(readIfPresent(path) ?? '')
  if (holder?.pid === own.pid && holder.startedAt === own.startedAt) rmSync(path, { force: true })
}

function parse(content: string): ProcessIdentity | null {
  try {
    const { pid, startedAt } = JSON.parse(content)
    return Number.isInteger(pid) && pid > 0 && typeof startedAt === 'string' ? { pid, startedAt } : null
  } catch {
    return null
  }
}
