/** The processes that a benchmark measures: Postgres in a temporary folder and the service, and what they use of the machine. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { findCluster } from '../../src/postgres/embedded/cluster.ts'
import { startEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { readPostmaster } from '../../src/postgres/embedded/postmaster.ts'
import { migrateForService } from '../../test/support/postgres.ts'
import { type ServiceProcess, startServiceOn } from '../../test/support/service-process.ts'

export interface BenchPostgres {
  readonly url: string
  readonly postmasterPid: number
  /** A fresh database with every migration. */
  createDatabase(name: string): Promise<{ url: string; sql: Sql }>
  stop(): Promise<void>
}

/** A real Postgres with the service's own durable settings. */
export async function startPostgres(): Promise<BenchPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'nightledger-bench-'))
  const server = await startEmbedded({ dataDir, onStep: () => {}, connectionsMax: 200 })
  const cluster = findCluster(dataDir)
  const admin = connect(server.ownerUrl, { purpose: 'admin' })
  const opened: Sql[] = [admin]
  return {
    url: server.ownerUrl,
    postmasterPid: (cluster === null ? null : readPostmaster(cluster))?.pid ?? 0,
    createDatabase: async (name) => {
      await admin.unsafe(`create database ${name}`)
      const url = new URL(server.ownerUrl)
      url.pathname = `/${name}`
      const sql = connect(url.href, { purpose: 'admin' })
      opened.push(sql)
      await migrateForService(sql)
      return { url: url.href, sql }
    },
    stop: async () => {
      await Promise.allSettled(opened.map((sql) => sql.end({ timeout: 1 })))
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

export type ServiceHandle = Pick<ServiceProcess, 'baseUrl' | 'pid' | 'readyMs' | 'log'> & { stop(): Promise<void> }

const MAIN = join(import.meta.dir, '../../src/main.ts')
const STOP_MS_MAX = 12_000

/** @param flags of Bun @param main the file to run */
export function sourceCommand(flags: readonly string[] = [], main = MAIN): string[] {
  return [process.execPath, ...flags, 'run', main]
}

/** The service as it is deployed, in its own process. @throws Error with its log when it does not start */
export async function startService(
  databaseUrl: string,
  env: Record<string, string> = {},
  command = sourceCommand(),
): Promise<ServiceHandle> {
  const { kill, exited, ...service } = await startServiceOn(
    databaseUrl,
    { NODE_ENV: 'production', ...env },
    { command },
  )
  return {
    ...service,
    stop: async () => {
      kill('SIGTERM')
      await Promise.race([exited, Bun.sleep(STOP_MS_MAX).then(() => kill('SIGKILL'))])
    },
  }
}

/** Linux counts CPU time in hundredths of a second. */
const TICKS_PER_S = 100

/** Seconds of CPU that a process has used; 0 where there is no /proc. */
export function cpuSecondsOf(pid: number): number {
  return secondsIn(pid, [11, 12])
}

/** The same with all processes that descend from it, those that have ended too: a Postgres, its backends and its vacuums. */
export function cpuSecondsOfFamily(parent: number): number {
  return familyOf(parent).reduce((sum, pid) => sum + secondsIn(pid, [11, 12, 13, 14]), 0)
}

/** A process and all that descend from it. */
export function familyOf(parent: number): number[] {
  const parents = new Map(pidsIn('/proc').map((pid) => [pid, Number(statFieldsOf(pid)?.[1])]))
  const family = [parent]
  // Grows meanwhile.
  for (const member of family) for (const [pid, of] of parents) if (of === member) family.push(pid)
  return family
}

/** Empty when it has ended. */
export function commandOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function secondsIn(pid: number, places: readonly number[]): number {
  const fields = statFieldsOf(pid)
  return places.reduce((sum, place) => sum + Number(fields?.[place] ?? 0), 0) / TICKS_PER_S
}

/**
 * Of all CPUs together: seconds in which one had nothing to do but wait, those that processes of low priority used, and those in which a
 * virtual machine was not executed.
 */
export function machineSeconds(): { idleS: number; niceS: number; stolenS: number } {
  const [, , nice = 0, , idle = 0, waiting = 0, , , stolen = 0] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  )
    .split(/ +/)
    .map(Number)
  return { idleS: (idle + waiting) / TICKS_PER_S, niceS: nice / TICKS_PER_S, stolenS: stolen / TICKS_PER_S }
}

/** Megabytes that are resident. */
export function residentMbOf(pid: number): number {
  try {
    const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kb ?? 0) / 1_024
  } catch {
    return 0
  }
}

function pidsIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger)
  } catch {
    return []
  }
}

/** From the third field on: the second, a name, may have blanks in it. */
function statFieldsOf(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}
