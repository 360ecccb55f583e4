/**
 * How the service starts with several workers: this process opens the database, waits for its turn, becomes the writer, and starts the
 * workers, which take the shards from it. It holds nothing but them, and serves nothing but ADMIN_PORT.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { turnAlone } from '../cluster/alone.ts'
import type { TurnWatch } from '../cluster/await-turn.ts'
import { adminSocketOf } from '../cluster/workers/worker-sockets.ts'
import { ListenError, Listener } from '../http/server/listener.ts'
import { sleep, systemClock } from '../lib/clock.ts'
import { makeFolder, readIfPresent } from '../lib/private-file.ts'
import { isOver, ownRun } from '../lib/process-run.ts'
import { PROGRAM } from '../lib/version.ts'
import { connect } from '../postgres/client/connect.ts'
import { retryUntilAnswered } from '../postgres/client/failed-write.ts'
import { PostgresWriters } from '../postgres/stores/postgres-writers.ts'
import { adminRelay } from './admin-relay.ts'
import { type Config, ConfigError } from './config.ts'
import { IdleMetrics } from './idle-metrics.ts'
import { openAdmin } from './listeners.ts'
import { type Log, openLog } from './log.ts'
import { type Database, mustHavePostgres, openDatabase, warnOfDatabase } from './open-database.ts'
import { loadSecrets } from './secrets.ts'
import { checkSenderCommand } from './send-webhooks.ts'
import { removeServiceFile } from './service-file.ts'
import { WorkerProcesses } from './worker-processes.ts'

const BEAT_EVERY_MS = 1_000
/** As a single process has (service.ts), and a moment for the last worker to exit. */
const STOP_MS_MAX = 9_800
/** With the embedded server, which is stopped after them. */
const END_MS_MAX = 20_000
const TAKE_OVER_MS_MAX = 60_000
const TAKE_OVER_AGAIN_MS = 2_500
const FOLDER_PREFIX = 'workers-'
const RUN_FILE = 'run'
/** The longest path of a Unix socket, on Linux, with its end. */
const SOCKET_PATH_MAX = 107

/**
 * Runs the workers until this process is stopped; returns only then.
 * @throws ConfigError, ListenError and what opening the database throws. The message says what to do
 */
export async function serveWithWorkers(config: Config, { takesOver }: { takesOver: boolean }): Promise<void> {
  const log = openLog(config.logLevel)
  if (config.databaseUrl === null) await mustHavePostgres()
  const { port, address } = await unusedPort(config)
  const lock = lockAddress(address, port)
  const folder = openSocketFolder(config)
  const admin = config.admin === null ? null : openAdmin(config.admin, () => new IdleMetrics().text('starting'))
  const parent = new Parent(config, { log, folder, port, admin, lock })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void parent.end(signal, 0))
  log.info(parent.addresses, 'starting')
  try {
    await parent.start({ takesOver })
  } catch (error) {
    await parent.giveUp()
    throw error
  }
}

class Parent {
  readonly #config: Config
  readonly #log: Log
  readonly #folder: string
  readonly #port: number
  readonly #admin: Listener | null
  readonly #lock: { stop(): void }
  readonly #self = { writerId: crypto.randomUUID(), holder: `${hostname()} ${process.pid}`, run: ownRun() }
  #database: Promise<Database> | null = null
  #workers: WorkerProcesses | null = null
  #writers: PostgresWriters | null = null
  #isEnding = false

  constructor(
    config: Config,
    open: { log: Log; folder: string; port: number; admin: Listener | null; lock: { stop(): void } },
  ) {
    this.#config = config
    this.#log = open.log
    this.#folder = open.folder
    this.#port = open.port
    this.#admin = open.admin
    this.#lock = open.lock
  }

  /** Where the service listens, for the log. */
  get addresses() {
    const { host, workers, admin } = this.#config
    const own = { host, port: this.#port, workers }
    return admin === null ? own : { ...own, adminHost: admin.host, adminPort: this.#admin?.port }
  }

  async start({ takesOver }: { takesOver: boolean }): Promise<void> {
    const { secretKey } = loadSecrets(this.#config)
    checkSenderCommand()
    this.#database = openDatabase(this.#config, { secretKey, onStep: (step) => console.log(step) })
    const database = await this.#database
    if (this.#isEnding) return untilExit()
    warnOfDatabase(database, this.#log)
    const writers = new PostgresWriters(connect(database.url, { purpose: 'probes' }))
    this.#writers = writers
    const workers = this.#startWorkers(database)
    this.#workers = workers
    if (this.#admin !== null)
      this.#admin.answerWith(adminRelay({ folder: this.#folder, workers, listener: this.#admin }), {
        isDraining: false,
      })
    if (this.#config.cluster === null) await workers.prepared
    // As nodes, the workers wait for their turn themselves, and take the shards that etcd says.
    if (this.#config.cluster === null) {
      // The embedded server has one service: the lock of its folder sees to that.
      await this.#takeOver(database, { writers, workers, takesOver: takesOver || database.isEmbedded })
      if (this.#isEnding) return untilExit()
      void this.#keepBeating(writers)
    }
    workers.giveTurn()
    await workers.allServe
    this.#log.info(this.addresses, 'listening')
    return untilExit()
  }

  /** After a failed start. Never settles when the process is ending for another reason. */
  async giveUp(): Promise<void> {
    if (this.#isEnding) return untilExit()
    this.#isEnding = true
    await this.#close('failed start')
  }

  /** Stops everything, and exits. */
  async end(signal: string, exitCode: number): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#log.info({ signal }, 'draining')
    systemClock.after(END_MS_MAX, () => process.exit(1))
    const isClean = await this.#close(signal)
    this.#log.info({ signal }, 'stopped')
    process.exit(isClean ? exitCode : 1)
  }

  async #close(signal: string): Promise<boolean> {
    // The embedded server may be starting: it would go on without this process.
    const database = await this.#database?.catch(() => null)
    const isClean = (await this.#workers?.stop(signal, STOP_MS_MAX)) ?? true
    await this.#writers?.forget(this.#self.writerId).catch(() => {})
    removeServiceFile(this.#config.dataDir, process.pid)
    rmSync(this.#folder, { recursive: true, force: true })
    this.#lock.stop()
    await database?.stop()
    return isClean
  }

  #startWorkers({ url, isEmbedded, isOwner }: Database): WorkerProcesses {
    const { workers: count } = this.#config
    return new WorkerProcesses({
      count,
      clock: systemClock,
      settings: {
        program: PROGRAM,
        parentId: this.#self.writerId,
        parentPid: process.pid,
        database: { url, isEmbedded, isOwner },
        port: this.#port,
        adminPort: this.#admin?.port ?? null,
        folder: this.#folder,
      },
      watch: {
        onEnd: (fields) => this.#log.error(fields, 'worker ended'),
        onNotStarted: (err) => this.#log.error({ err }, 'worker not started'),
        onSilent: (worker) => this.#log.error({ worker }, 'worker hangs, and is killed'),
        onFailedStart: (worker) => {
          this.#log.fatal({ worker }, 'worker did not start')
          void this.end('a worker that did not start', 1)
        },
        onReplaced: () => this.#replaced(),
      },
    })
  }

  async #takeOver(
    database: Database,
    { writers, workers, takesOver }: { writers: PostgresWriters; workers: WorkerProcesses; takesOver: boolean },
  ): Promise<void> {
    const log = this.#log
    const isCancelled = () => this.#isEnding
    const watch: TurnWatch = {
      onWaiting: ({ name, shards }) => {
        log.info({ writer: name, shards }, 'waiting as a standby')
        workers.tell('standby')
      },
      onDraining: ({ name }) => {
        log.info({ writer: name }, 'the writer is stopping')
        workers.tell('soon')
      },
      onTurn: (why, { name }) => {
        log.warn({ writer: name, why }, 'taking over from a writer that is gone')
        workers.tell('soon')
      },
      onFailure: (err) => log.warn({ err }, 'the standby cannot reach the database'),
    }
    const { writerId } = this.#self
    // As patient as a single process, and as durable.
    const taking = connect(database.url, { purpose: 'journal' })
    await retryUntilAnswered(
      async () => {
        const gone = await turnAlone({ writers, writerId }, { takesOver, isCancelled, watch })
        if (!isCancelled()) await new PostgresWriters(taking).takeOverAsParent(this.#self, gone)
      },
      {
        clock: systemClock,
        withinMs: TAKE_OVER_MS_MAX,
        pauseMs: TAKE_OVER_AGAIN_MS,
        isOver: isCancelled,
        onFailure: (err) => log.warn({ err }, 'take-over is waiting for the database'),
      },
    ).finally(() => taking.end({ timeout: 1 }))
  }

  /** Whoever takes over from this process deletes its row (J5). */
  async #keepBeating(writers: PostgresWriters): Promise<void> {
    while (!this.#isEnding) {
      await sleep(systemClock, BEAT_EVERY_MS)
      const beaten = await writers.beat(this.#self.writerId).catch(() => 'unknown' as const)
      if (beaten === null && !this.#isEnding) this.#replaced()
    }
  }

  #replaced(): void {
    if (this.#isEnding) return
    this.#log.fatal('fenced by another writer')
    void this.end('another writer', 1)
  }
}

function untilExit(): Promise<never> {
  return new Promise(() => {})
}

/** For the sockets of this process's workers, which other users cannot open. Those of services that are over are removed. */
function openSocketFolder({ dataDir, workers }: Config): string {
  const prefix = resolve(dataDir, FOLDER_PREFIX)
  const longest = adminSocketOf(`${prefix}XXXXXX`, workers)
  if (Buffer.byteLength(longest) > SOCKET_PATH_MAX)
    throw new ConfigError([
      `DATA_DIR is ${JSON.stringify(dataDir)}: with WORKERS, the path of a socket in it may have ${SOCKET_PATH_MAX} bytes, and ${longest} has ${Buffer.byteLength(longest)}. Use a shorter one.`,
    ])
  try {
    makeFolder(resolve(dataDir))
    for (const name of readdirSync(dataDir)) {
      const former = join(dataDir, name)
      const run = name.startsWith(FOLDER_PREFIX) ? readIfPresent(join(former, RUN_FILE)) : null
      if (run !== null && isOver(run)) rmSync(former, { recursive: true, force: true })
    }
    // Mode 0700.
    const folder = mkdtempSync(prefix)
    const run = ownRun()
    if (run !== null) writeFileSync(join(folder, RUN_FILE), run)
    return folder
  } catch (error) {
    const reason = error instanceof Error ? error.message : error
    throw new ConfigError([
      `DATA_DIR is ${JSON.stringify(dataDir)}: WORKERS needs a folder there that this process can write to (${reason}).`,
    ])
  }
}

/**
 * The workers share the address, so the kernel would let another service share it too. Whoever has this name may: it is of no file, and
 * ends with the process.
 * @throws ListenError
 */
function lockAddress(address: string, port: number): { stop(): void } {
  try {
    return Bun.listen({
      unix: `\0nightledger-port-${port}-${address}`,
      socket: { open: (socket) => socket.terminate(), data: () => {} },
    })
  } catch (cause) {
    throw new ListenError(
      `Cannot listen on ${address}:${port}: another nightledger with WORKERS is starting there. Stop it, or set PORT to a different port.`,
      { cause },
    )
  }
}

/**
 * Nobody else listens there: the workers share the port among themselves. Chooses one for 0.
 * @returns `address`: what the host stands for, which has several names
 * @throws ListenError
 */
async function unusedPort({ host, port }: Config): Promise<{ port: number; address: string }> {
  const probe = new Listener({ host, port }, () => new Response(null, { status: 503 }))
  // Bun's types have no such property.
  const { address: bound } = (probe.server ?? {}) as { readonly address?: { readonly address: string } | null }
  const found = { port: probe.port, address: bound?.address ?? host }
  await probe.server?.stop(true)
  return found
}
