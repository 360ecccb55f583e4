import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'

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

/** Where programs and temporary files are, and which authorities the machine trusts. */
const PASSED_ON = ['PATH', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'] as const

/** The environment variables that our child processes get: no secret and no proxy. */
export function childEnvironment(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

/**
 * What identifies this run of this process to other processes of its machine: pid, start and the namespace that the pid belongs to.
 * Null where that cannot be told (other systems than Linux).
 */
export function ownRun(): string | null {
  const namespace = ownNamespace()
  const identity = identityOf(process.pid)
  return namespace === null || identity === null ? null : JSON.stringify({ namespace, ...identity })
}

/** Whether a run was of this machine and is over. False when that cannot be told: it may be of another machine or container. */
export function isOver(run: string): boolean {
  const namespace = ownNamespace()
  if (namespace === null) return false
  const { namespace: its, pid, startedAt } = JSON.parse(run) as { namespace: string; pid: number; startedAt: string }
  if (its !== namespace) return false
  if (!isAlive(pid)) return true
  // Null: it lives, but its start is hidden from us.
  const current = identityOf(pid)
  return current !== null && current.startedAt !== startedAt
}

/** The process ID of a run in the same namespace as `own`, the run of this process; null: elsewhere, or unknown. */
export function pidHere(run: string, own: string | null): number | null {
  if (own === null) return null
  const [its, ours] = [run, own].map((text) => JSON.parse(text) as { namespace: string; pid: number })
  return its?.namespace === ours?.namespace ? (its?.pid ?? null) : null
}

/** Of the boot and the pids: two containers have different ones, and so have two machines. */
function ownNamespace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return null
  }
}
