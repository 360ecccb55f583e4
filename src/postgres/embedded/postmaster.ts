import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readIfPresent } from '../../lib/private-file.ts'
import { isAlive } from '../../lib/process-run.ts'

/** What postmaster.pid says about the server that runs, or ran, on a cluster. `port` is 0 until the server listens. */
export type Postmaster = { pid: number; port: number; status: 'ready' | 'other' }

export const POLL_MS = 5
/** How long orphaned server processes may take to exit; they notice at once that the server is gone. */
const REMAINS_MS_MAX = 1_000

/** @returns null when there is no postmaster.pid, or one without a pid */
export function readPostmaster(cluster: string): Postmaster | null {
  // Lines: 1 pid, 2 data folder, 3 start time, 4 port, 5 socket folder, 6 address, 7 shared memory key, 8 status.
  const lines = readIfPresent(pidFileOf(cluster))
    ?.split('\n')
    .map((line) => line.trim())
  const pid = Number(lines?.[0])
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return null
  return { pid, port: Number(lines[3]) || 0, status: lines[7] === 'ready' ? 'ready' : 'other' }
}

function pidFileOf(cluster: string): string {
  return join(cluster, 'postmaster.pid')
}

/**
 * Whether the server of this cluster runs under this pid. Checks the process itself, because a pid is eventually reused
 * by another process: the server's working directory is its data folder, even after that was renamed.
 */
export function isServerOf(cluster: string, pid: number): boolean {
  return isAlive(pid) && (process.platform === 'linux' ? worksIn(pid, cluster) : wasStartedOn(pid, cluster))
}

/**
 * Stops the server with increasing force: fast shutdown (SIGINT), immediate shutdown (SIGQUIT, recovery at the next
 * start), SIGKILL. Committed data survives each of them.
 * @param graceMs how long the fast shutdown may take; the rest takes at most 2 s more
 */
export async function endPostmaster(pid: number, cluster: string, { graceMs }: { graceMs: number }): Promise<void> {
  const steps = [
    ['SIGINT', graceMs],
    ['SIGQUIT', 1_000],
    ['SIGKILL', 1_000],
  ] as const
  for (const [name, waitMs] of steps) {
    if (!isServerOf(cluster, pid)) return
    signal(pid, name)
    if (await goneWithin(pid, waitMs)) return
  }
}

/**
 * Removes what a dead server has left: first its processes that still work in the cluster, then postmaster.pid.
 * Postgres itself would refuse to start while the pid in that file is in use: by another program, or by a zombie, which
 * stays forever where process 1 does not reap its children (a container started without an init).
 */
export async function clearRemains(cluster: string): Promise<void> {
  // Other systems do not expose the working directory of a process, so Postgres's own check must suffice.
  if (process.platform !== 'linux') return
  const end = performance.now() + REMAINS_MS_MAX
  let remains = processesIn(cluster)
  while (remains.length > 0 && performance.now() < end) {
    await Bun.sleep(POLL_MS)
    remains = processesIn(cluster)
  }
  for (const pid of remains) {
    signal(pid, 'SIGKILL')
    await goneWithin(pid, 1_000)
  }
  rmSync(pidFileOf(cluster), { force: true })
}

function processesIn(cluster: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && isAlive(pid) && worksIn(pid, cluster))
}

function signal(pid: number, name: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process ended after the check and before the signal.
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
    // The command line of the server, or the title that each of its processes sets.
    const program = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
    // stat follows the link to the folder itself, whose inode does not change when it is renamed.
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
