import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** One run of one process: a pid alone is given to another process sooner or later. */
export type ProcessIdentity = { pid: number; startedAt: string }

/** Whether a process with this pid runs now; a zombie, which only waits to be collected, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, as another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
  return statOf(pid)?.state !== 'Z'
}

/** @returns null when no process with this pid runs */
export function identityOf(pid: number): ProcessIdentity | null {
  if (!isAlive(pid)) return null
  const startedAt = process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid)
  return startedAt === null ? null : { pid, startedAt }
}

/** Whether that very run still lives. */
export function isSameRun({ pid, startedAt }: ProcessIdentity): boolean {
  return identityOf(pid)?.startedAt === startedAt
}

/** Clock ticks since boot, with the boot's id: after a reboot the same pid and tick may come again. */
function startOnLinux(pid: number): string | null {
  const stat = statOf(pid)
  if (stat === null) return null
  const boot = readText('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown boot'
  return `${stat.startTicks} ${boot}`
}

function startByPs(pid: number): string | null {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null
  } catch {
    return null
  }
}

/** Fields 3 and 22 of proc(5)'s stat; the command name before them may hold spaces and brackets. */
function statOf(pid: number): { state: string; startTicks: string } | null {
  const text = readText(`/proc/${pid}/stat`)
  if (text === null) return null
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], fields[19]]
  return state === undefined || startTicks === undefined ? null : { state, startTicks }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
