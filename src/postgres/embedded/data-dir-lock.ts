import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createWhole, readIfPresent } from '../../lib/private-file.ts'
import { identityOf, isSameRun, type ProcessIdentity } from '../../lib/process-run.ts'

/** The embedded PostgreSQL is not available. The message says what to do about it. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError'
}

/** Where root keeps files that the server's account needs when it has no access to our own folders. */
export const SHARED_DIR = '/var/lib/nightledger'

export function makeSharedDir(): void {
  mkdirSync(SHARED_DIR, { recursive: true })
  // Regardless of the umask: others may enter and list the folder.
  chmodSync(SHARED_DIR, 0o755)
}

const LOCK_FILE = 'service.lock'
/** Suffix of the file in which a process announces that it is about to remove a stale lock. */
const ANNOUNCEMENT_END = '.removing'
const ROUNDS_MAX = 40
/** Processes that block each other wait for a random time, longer in each round. */
const PAUSE_MS_FIRST = 4
const PAUSE_MS_MAX = 500

/** Ensures that only one service runs on a data folder. A lock left behind by `kill -9` is ignored. */
type DataDirLock = { release(): void }

/**
 * Locks the folder for this process.
 * @throws EmbeddedError when another running process, or this one, holds it
 */
export function takeDataDir(dataDir: string): DataDirLock {
  const path = join(dataDir, LOCK_FILE)
  const own = identityOf(process.pid)
  if (own === null) throw new EmbeddedError(`Cannot lock ${dataDir}: this process cannot see its own start time`)
  const content = `${JSON.stringify(own)}\n`
  // Every round returns, removes a stale lock, or lets another process do so. Others may race for the lock that was
  // removed.
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (createWhole(path, content)) return { release: () => release(path, own) }
    const held = readIfPresent(path)
    if (held === null) continue
    const holder = parse(held)
    if (holder !== null && isSameRun(holder)) {
      throw new EmbeddedError(
        `Cannot use the data folder ${dataDir}: process ${holder.pid} is using it. Stop that service, or set DATA_DIR to a different folder.`,
      )
    }
    if (!removeStale(path, held, content)) {
      Bun.sleepSync(Math.random() * Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** round))
    }
  }
  throw new EmbeddedError(`Cannot use the data folder ${dataDir}: other services keep locking and releasing it`)
}

/** The running process that holds the folder; null when there is none. */
export function lockHolderOf(dataDir: string): ProcessIdentity | null {
  const holder = parse(readIfPresent(join(dataDir, LOCK_FILE)) ?? '')
  return holder !== null && isSameRun(holder) ? holder : null
}

/**
 * Removes a stale lock, one process at a time: if two processes saw it, the slower one could otherwise remove the valid
 * lock that a third has created in its place. Each process announces itself before it looks for others, so the later of
 * two sees the earlier. An announcement left by a `kill -9` is ignored, as a stale lock is.
 * @returns false when another process is removing it
 */
function removeStale(path: string, stale: string, content: string): boolean {
  const announcement = `${path}.${randomBytes(6).toString('hex')}${ANNOUNCEMENT_END}`
  const draft = `${announcement}.tmp`
  writeFileSync(draft, content, { mode: 0o600 })
  // Written atomically: a process whose announcement cannot be read would be ignored.
  renameSync(draft, announcement)
  try {
    if (!isOnlyRemover(announcement)) return false
    if (readIfPresent(path) === stale) rmSync(path)
    return true
  } finally {
    rmSync(announcement)
  }
}

/** Whether no other running process has announced itself. */
function isOnlyRemover(announcement: string): boolean {
  const folder = dirname(announcement)
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (!name.startsWith(LOCK_FILE) || !name.endsWith(ANNOUNCEMENT_END) || path === announcement) continue
    const other = parse(readIfPresent(path) ?? '')
    if (other !== null && isSameRun(other)) return false
    // File names are random, so no process creates a file of this name again.
    rmSync(path, { force: true })
  }
  return true
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
