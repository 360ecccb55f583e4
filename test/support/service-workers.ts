import { readdirSync, readFileSync } from 'node:fs'
import { placementOf } from '../../src/cluster/steps.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import { isAlive } from '../../src/lib/process-run.ts'
import { credentialsFor, type ServiceProcess, startService } from './service-process.ts'

/** A service with several workers. */
export interface ServiceWorkers extends ServiceProcess {
  /** Process ids by number, from 1, of those that run. */
  workers(): ReadonlyMap<number, number>
  /** The number of the worker that owns an agency while all run. */
  ownerOf(agencyId: string): number
}

/**
 * Starts a service with workers on a database of the test run, and waits until all serve.
 * @param options.dataDir where their sockets are
 */
export async function startWorkers(
  databaseUrl: string,
  { count, dataDir, env = {} }: { count: number; dataDir: string; env?: Record<string, string> },
): Promise<ServiceWorkers> {
  const service = await startService({
    ...credentialsFor(databaseUrl),
    DATA_DIR: dataDir,
    WORKERS: String(count),
    ...env,
  })
  const names = Array.from({ length: count }, (_, index) => `worker-${index + 1}`)
  const placement = placementOf(names.toSorted())
  return {
    ...service,
    workers: () => workersOf(service.pid),
    ownerOf: (agencyId) => names.indexOf(placement[shardOf(agencyId)] ?? '') + 1,
  }
}

/** The worker processes of a parent that lives: their command line ends with their number. */
export function workersOf(parent: number): ReadonlyMap<number, number> {
  const found = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || !isAlive(pid)) continue
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const [, parentPid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const at = args.indexOf('serve-as-worker')
      if (Number(parentPid) === parent && at >= 0) found.set(Number(args[at + 1]), pid)
    } catch {
      // It has ended meanwhile.
    }
  }
  return found
}
