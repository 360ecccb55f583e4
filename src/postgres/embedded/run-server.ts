import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { serverEnv } from './cluster.ts'
import { EmbeddedError } from './data-dir-lock.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { clearRemains, endPostmaster, isServerOf, POLL_MS, readPostmaster } from './postmaster.ts'
import type { ServerAccount } from './server-account.ts'
import { SERVER_SETTINGS } from './server-settings.ts'

export type RunningServer = { pid: number; port: number }

type ServerOptions = {
  /** An initialized cluster, with all links resolved. */
  cluster: string
  binaries: PostgresBinaries
  account: ServerAccount
  /** The file to which the server appends its log. */
  logFile: string
  /** Instead of that of SERVER_SETTINGS. */
  readonly connectionsMax?: number | undefined
  /** Whether a server on this port accepts our login and runs on this cluster. Never rejects. */
  answers(port: number): Promise<boolean>
  onStep(step: string): void
}

const DAMAGE_ADVICE =
  'If its files are damaged, restore the data folder from a backup, or move it away to start with an empty one.'
/** A server that was not shut down cleanly replays its log first, which takes seconds at most with SERVER_SETTINGS. */
const READY_MS_MAX = 60_000
const STILL_STARTING_MS = 2_000
const ADOPT_MS_MAX = 10_000
const ATTEMPTS_MAX = 20
const ATTEMPT_PAUSE_MS = 250
const LOG_BYTES_MAX = 8 * 1024 * 1024
const END_GRACE_MS = 2_000

/**
 * Takes over the server that runs on the cluster, or starts one. The caller holds the data folder's lock.
 * @throws EmbeddedError with the end of the server's log when it does not start
 */
export async function runServer(options: ServerOptions): Promise<RunningServer> {
  return (await adopt(options)) ?? (await start(options))
}

/** @returns null when no server runs on the cluster, or it had to be stopped */
async function adopt({ cluster, answers, onStep }: ServerOptions): Promise<RunningServer | null> {
  const found = readPostmaster(cluster)
  if (found === null) return null
  if (!isServerOf(cluster, found.pid)) {
    await clearRemains(cluster)
    return null
  }
  onStep('Using the database server that an earlier run left running')
  const end = performance.now() + ADOPT_MS_MAX
  while (performance.now() < end && isServerOf(cluster, found.pid)) {
    const { status, port } = readPostmaster(cluster) ?? found
    if (status === 'ready') {
      if (await answers(port)) return { pid: found.pid, port }
      break
    }
    await Bun.sleep(POLL_MS)
  }
  onStep('Stopping the database server that an earlier run left running, because it does not respond')
  await endPostmaster(found.pid, cluster, { graceMs: END_GRACE_MS })
  await clearRemains(cluster)
  return null
}

async function start(options: ServerOptions): Promise<RunningServer> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryStart(options, await freePort())
    if (typeof outcome !== 'string') return outcome
    // Another program has taken the port, or processes of a killed server have not yet released its shared memory.
    const isTransient = /could not bind|Address already in use|pre-existing shared memory block/.test(outcome)
    if (!isTransient || attempt === ATTEMPTS_MAX)
      throw new EmbeddedError(`Cannot start PostgreSQL on ${options.cluster}: ${outcome.trim()}\n${DAMAGE_ADVICE}`)
    await Bun.sleep(ATTEMPT_PAUSE_MS)
  }
}

/** @returns the server, or its error output when it did not start */
async function tryStart(options: ServerOptions, port: number): Promise<RunningServer | string> {
  const { cluster, onStep } = options
  const log = openLog(options.logFile)
  const child = launch(options, port, log.file)
  closeSync(log.file)
  const begin = performance.now()
  let hasReported = false
  for (;;) {
    if (child.pid === undefined || child.ended !== null)
      return `${child.ended ?? 'no process'} ${readFrom(options.logFile, log.length)}`.trim()
    const now = readPostmaster(cluster)
    if (now?.pid === child.pid && now.status === 'ready' && (await options.answers(port)))
      return { pid: child.pid, port }
    const waitedMs = performance.now() - begin
    if (waitedMs > READY_MS_MAX) break
    if (waitedMs > STILL_STARTING_MS && !hasReported) {
      hasReported = true
      onStep('Waiting for PostgreSQL to recover: it was not shut down cleanly')
    }
    await Bun.sleep(POLL_MS)
  }
  await endPostmaster(child.pid, cluster, { graceMs: END_GRACE_MS })
  return `it was not ready within ${READY_MS_MAX / 1_000} s. ${readFrom(options.logFile, log.length)}`
}

/** `ended`: null while the process runs, then how it ended. */
type Child = { readonly pid: number | undefined; readonly ended: string | null }

function launch({ cluster, binaries, account, connectionsMax }: ServerOptions, port: number, logFile: number): Child {
  const chosen = connectionsMax === undefined ? {} : { max_connections: String(connectionsMax) }
  const settings = Object.entries({ ...SERVER_SETTINGS, ...chosen }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  let ended: string | null = null
  // Detached, so that a Ctrl-C in the terminal reaches only the service, which stops the server after it has drained.
  const process = spawn(binaries.postgres, ['-D', cluster, '-p', String(port), ...settings], {
    cwd: cluster,
    env: serverEnv(),
    detached: true,
    stdio: ['ignore', logFile, logFile],
    ...account,
  })
  process.on('error', (error) => {
    ended = error.message
  })
  process.on('exit', (code, signal) => {
    ended ??= `it ended with ${signal ?? `exit code ${code}`}.`
  })
  process.unref()
  return {
    pid: process.pid,
    get ended() {
      return ended
    },
  }
}

function openLog(path: string): { file: number; length: number } {
  const length = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const tooLong = length > LOG_BYTES_MAX
  return { file: openSync(path, tooLong ? 'w' : 'a', 0o600), length: tooLong ? 0 : length }
}

function readFrom(path: string, offset: number): string {
  return readFileSync(path).subarray(offset).toString('utf8').trim().slice(-2_000)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.on('error', reject)
    probe.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = probe.address()
      probe.close(() =>
        typeof address === 'object' && address !== null
          ? resolve(address.port)
          : reject(new Error('Cannot find a free port')),
      )
    })
  })
}
