/** This process as a worker: what it gets from its parent in place of opening it itself. */
import type { ParentCalls, Standing, WorkerCalls, WorkerSettings } from '../cluster/workers/parent-calls.ts'
import { ProcessChannel, type Remote } from '../cluster/workers/process-channel.ts'
import { WorkerMember } from '../cluster/workers/worker-member.ts'
import { adminSocketOf } from '../cluster/workers/worker-sockets.ts'
import type { Config } from './config.ts'
import { Listeners } from './listeners.ts'
import type { Log } from './log.ts'
import type { Database } from './open-database.ts'
import { serveAsWorker } from './serve.ts'
import type { Service } from './service.ts'

export class WorkerPlace {
  readonly settings: WorkerSettings
  readonly parent: Remote<ParentCalls>
  readonly #channel: ProcessChannel

  constructor(settings: WorkerSettings, channel: ProcessChannel) {
    this.settings = settings
    this.#channel = channel
    this.parent = channel.remote<ParentCalls>()
  }

  /** PORT is shared by the workers, ADMIN_PORT is the parent's: what comes in there arrives through a socket. */
  listeners({ host, admin }: Config): Listeners {
    const { worker, port, folder, isSuccessor } = this.settings
    return new Listeners({
      main: { host, port, isShared: true },
      admin: admin === null ? null : { unix: adminSocketOf(folder, worker) },
      isLate: isSuccessor,
    })
  }

  /** The parent has opened it. */
  async database(): Promise<Database> {
    return { ...this.settings.database, standbys: null, stop: async () => {} }
  }

  membership(log: Log): WorkerMember {
    return new WorkerMember(this.settings, this.#channel, { log, onReplaced: () => this.replaced() })
  }

  /** It is served from now on. */
  serving(): void {
    void this.parent.serving().catch(ignoreEnd)
  }

  /** Another process is the writer now, or SECRET_KEY has changed: all workers end. */
  replaced(): void {
    void this.parent.replaced().catch(ignoreEnd)
  }
}

/** The process ends with its parent (`disconnect`). */
function ignoreEnd(): void {}

/** Runs this process as a worker: it starts when its parent says so, and ends with it. */
export function serveUnderParent(): void {
  if (process.send === undefined) {
    console.error('Cannot serve as a worker: only the service starts this process. Set WORKERS instead.')
    process.exit(1)
  }
  // The parent decides when to stop. A terminal and some supervisors signal all processes.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  const send = process.send.bind(process)
  let place: WorkerPlace | null = null
  let running: { readonly service: Service; readonly listeners: Listeners } | null = null
  const handlers: WorkerCalls = {
    start: (_, settings) => {
      place = new WorkerPlace(settings, channel)
      void serveAsWorker(process.env, place, (started) => {
        running = started
      })
    },
    standing: (_, standing: Standing) => {
      if (standing === 'standby') running?.listeners.refuse('standby', { isDraining: false })
      else running?.listeners.hold()
    },
    stop: (_, signal) => {
      if (running === null) process.exit(0)
      void running.service.end(signal)
    },
    readings: async () => null,
    wrongToken: () => {},
  }
  const channel = new ProcessChannel((message) => send(message), handlers)
  process.on('message', (message) => channel.receive(message as Parameters<ProcessChannel['receive']>[0]))
  // Nobody restarts a worker without a parent, and nobody else may take its shards before it has ended.
  process.on('disconnect', () => process.exit(1))
}
