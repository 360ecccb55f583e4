import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../lib/private-file.ts'
import { isAlive } from '../lib/process-identity.ts'

/** What postmaster.pid tells of the server that runs, or ran, on a cluster. `port` is 0 until it listens. */
export type Postmaster = { pid: number; port: number; status: 'ready' | 'other' }

/** Whose the pid in postmaster.pid is now. A pid is given to some other process sooner or later. */
export type Ownership = 'ours' | 'gone' | 'another program'

const POLL_MS = 5

/** @returns null when there is no postmaster.pid, or one without a pid */
export function readPostmaster(cluster: string): Postmaster | null {
  // Lines: 1 pid, 2 data folder, 3 start, 4 port, 5 socket folder, 6 address, 7 shared memory key, 8 status.
  const lines = readIfPresent(pidFileOf(cluster))
    ?.split('\n')
    .map((line) => line.trim())
  const pid = Number(lines?.[0])
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return null
  return { pid, port: Number(lines[3]) || 0, status: lines[7] === 'ready' ? 'ready' : 'other' }
}

export function pidFileOf(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

/** Looks at the process itself: the server works inside its data folder, even after that was renamed. */
export function ownershipOf(pid: number, cluster: string): Ownership {
  if (!isAlive(pid)) return 'gone'
  return (process.platform === 'linux' ? worksIn(pid, cluster) : wasStartedOn(pid, cluster))
    ? 'ours'
    : 'another program'
}

/**
 * Ends the server, ever harder: fast shutdown (SIGINT), immediate shutdown (SIGQUIT, recovery at the next start), SIGKILL.
 * Committed data survives each of them.
 * @param patienceMs how long the fast shutdown may take; the rest takes at most 2 s more
 */
export async function endPostmaster(
  pid: number,
  cluster: string,
  { patienceMs }: { patienceMs: number },
): Promise<void> {
  const steps = [
    ['SIGINT', patienceMs],
    ['SIGQUIT', 1_000],
    ['SIGKILL', 1_000],
  ] as const
  for (const [signal, waitMs] of steps) {
    if (ownershipOf(pid, cluster) !== 'ours') return
    try {
      process.kill(pid, signal)
    } catch {
      return // It ended between the look and the signal.
    }
    if (await goneWithin(pid, waitMs)) return
  }
}

async function goneWithin(pid: number, waitMs: number): Promise<boolean> {
  const end = performance.now() + waitMs
  while (performance.now() < end) {
    if (!isAlive(pid)) return true
    await Bun.sleep(POLL_MS)
  }
  return !isAlive(pid)
}

function worksIn(pid: number, cluster: string): boolean {
  try {
    const program = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
    // stat follows the link into the folder itself, which keeps its inode under any name.
    const [theirs, folder] = [statSync(`/proc/${pid}/cwd`), statSync(cluster)]
    return /postgres/.test(program) && theirs.dev === folder.dev && theirs.ino === folder.ino
  } catch {
    return false
  }
}

function wasStartedOn(pid: number, cluster: string): boolean {
  try {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes('postgres') && command.includes(`-D ${cluster} `)
  } catch {
    return false
  }
}
