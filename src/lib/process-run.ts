import { readFileSync, readlinkSync } from 'node:fs'
import { identityOf, isAlive } from './process-identity.ts'

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

/** Of the boot and the pids: two containers have different ones, and so have two machines. */
function ownNamespace(): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return null
  }
}
