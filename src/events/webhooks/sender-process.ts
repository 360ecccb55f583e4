import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { childEnvironment } from '../../lib/process-run.ts'
import type { TraceSettings } from '../../lib/tracer.ts'
import { HTTP_REQUESTS_MAX } from './send-pool.ts'
import type { SenderStats } from './sender-stats.ts'
import { WakeCollector, type WokenAgencies } from './woken-agencies.ts'

/**
 * Everything the sender process needs. It reads none of our environment variables, so none of them has to contain a
 * secret.
 */
export interface SenderSettings {
  readonly databaseUrl: string
  /** 64 hexadecimal digits. */
  readonly secretKeyHex: string
  /**
   * Epoch of the writer that started it. A sender whose writer has been fenced sends nothing. Null: of a node, which tells it for which
   * shards it sends.
   */
  readonly epoch: number | null
  readonly allowHosts: readonly string[]
  readonly logLevel: string
  /** Null: tracing is off. */
  readonly traces: TraceSettings | null
  /** PEM; null to trust the public authorities. Tests use their own. */
  readonly trustedCa: readonly string[] | null
}

/** Messages from the service to its sender. */
export type ToSender =
  | { readonly kind: 'start'; readonly settings: SenderSettings }
  /** These agencies have new entries in the journal. */
  | { readonly kind: 'wake'; readonly agencyIds: WokenAgencies }
  /** To the sender of a node: the shards that it has now, in order. */
  | { readonly kind: 'shards'; readonly shards: readonly ShardEpoch[] }
  | { readonly kind: 'endpoint_changed'; readonly agencyId: string; readonly endpointId: string }
  | { readonly kind: 'stop'; readonly withinMs: number }

/** Messages from the sender to its service. */
export type FromSender =
  /** The sender is listening; `start` may be sent. */
  { readonly kind: 'up' } | { readonly kind: 'stats'; readonly stats: SenderStats }

/** Events the sender reports, one log line each. Fields never contain a secret, a URL or a body. */
export interface SenderWatch {
  onSwitchedOff(fields: { agencyId: string; endpointId: string; reason: string | null }): void
  onFailure(fields: { action: 'make' | 'claim' | 'record'; err: unknown }): void
  onSecretUnreadable(fields: { agencyId: string; endpointId: string }): void
  /** The journal entry of an event is damaged, or its month was removed: the delivery is dead. */
  onEventUnreadable(fields: { agencyId: string; deliveryId: string; eventId: string }): void
  /** Another sender has replaced this one, which sends nothing more. */
  onReplaced(cause: unknown): void
}

/** Wakes within this time are combined into one message. */
const WAKE_GAP_MS = 2
const RESTART_MS = [100, 500, 2_000, 5_000] as const
/** A sender that ran at least this long is restarted without delay. */
const STABLE_RUN_MS = 60_000

/** How a sender ended unexpectedly. */
export interface SenderExit {
  /** Null when it was killed by a signal or could not be started. */
  readonly exitCode: number | null
  readonly restartMs: number
  /** Why it could not be started. */
  readonly err?: unknown
}

export interface SenderProcessStats {
  readonly isUp: boolean
  /** How often it was restarted. */
  readonly restarts: number
  /** Null until its first report, when it begins to send, and after its end. */
  readonly sender: SenderStats | null
}

/**
 * Runs the sender in a separate process: Bun limits the requests of a process, reads that limit from the environment
 * only at process start, and shares it among workers (docs/decisions.md#webhooks). The sender is restarted whenever it ends. It
 * exits on its own when this process does.
 */
export class SenderProcess {
  readonly #settings: SenderSettings
  readonly #command: readonly string[]
  readonly #clock: Clock
  readonly #onExit: (fields: SenderExit) => void
  #child: Bun.Subprocess | null = null
  #isUp = false
  readonly #firstReport = Promise.withResolvers<void>()
  #isStopping = false
  #restarts = 0
  #failuresInARow = 0
  #stats: SenderStats | null = null
  #shards: readonly ShardEpoch[] | null = null
  /** For `WAKE_GAP_MS` after a message of wakes. */
  #isWakePaused = false
  readonly #woken = new WakeCollector()
  #cancelRestart = () => {}

  constructor(options: {
    settings: SenderSettings
    /** Program and arguments that run `sendWebhooks`. */
    command: readonly string[]
    clock: Clock
    /** The sender ended unexpectedly. It is restarted after `restartMs`. */
    onExit: (fields: SenderExit) => void
  }) {
    this.#settings = options.settings
    this.#command = options.command
    this.#clock = options.clock
    this.#onExit = options.onExit
  }

  get stats(): SenderProcessStats {
    return { isUp: this.#isUp, restarts: this.#restarts, sender: this.#stats }
  }

  /** Null while it is not running. */
  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** Resolves when the sender has started to send, or after this time. Until then it takes much of the processor. */
  async started(withinMs: number): Promise<void> {
    await Promise.race([this.#firstReport.promise, sleep(this.#clock, withinMs)])
  }

  start(): void {
    const since = this.#clock.monotonicMs()
    try {
      this.#child = Bun.spawn([...this.#command], {
        env: { ...childEnvironment(), BUN_CONFIG_MAX_HTTP_REQUESTS: String(HTTP_REQUESTS_MAX) },
        stdio: ['ignore', 'ignore', 'inherit'],
        serialization: 'json',
        ipc: (message: FromSender) => this.#onMessage(message),
        onExit: (child, exitCode) => {
          if (this.#child === child) this.#onExited({ exitCode, ranMs: this.#clock.monotonicMs() - since })
        },
      })
    } catch (err) {
      // The program is missing, or the machine cannot start another process. Bookings continue without webhooks.
      this.#onExited({ exitCode: null, ranMs: 0, err })
    }
  }

  /** The agency has a new entry in the journal. Can be called for every booking: calls within 2 ms become one message. */
  wake(agencyId: string): void {
    this.#woken.add([agencyId])
    if (!this.#isWakePaused) this.#sendWoken()
  }

  #sendWoken(): void {
    this.#isWakePaused = false
    const agencyIds = this.#woken.take()
    if (agencyIds === null) return
    this.#send({ kind: 'wake', agencyIds })
    this.#isWakePaused = true
    this.#clock.after(WAKE_GAP_MS, () => this.#sendWoken())
  }

  /** Of a node: it sends for these shards from now on. Can be called before the sender runs, and as often as one likes. */
  sendFor(shards: readonly ShardEpoch[]): void {
    this.#shards = shards
    this.#send({ kind: 'shards', shards })
  }

  /** The agency changed an endpoint: queued deliveries must not be sent with its old settings. */
  endpointChanged(changed: { agencyId: string; endpointId: string }): void {
    this.#send({ kind: 'endpoint_changed', ...changed })
  }

  /** Gives attempts in flight this long to finish, then kills the process. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#cancelRestart()
    const child = this.#child
    if (child === null) return
    this.#send({ kind: 'stop', withinMs })
    if (!this.#isUp) child.kill('SIGKILL')
    const cancelKill = this.#clock.after(withinMs + 500, () => child.kill('SIGKILL'))
    await child.exited
    cancelKill()
  }

  #onMessage(message: FromSender): void {
    if (message.kind === 'up') {
      this.#isUp = true
      this.#send({ kind: 'start', settings: this.#settings })
      if (this.#shards !== null) this.#send({ kind: 'shards', shards: this.#shards })
      return
    }
    this.#stats = message.stats
    this.#firstReport.resolve()
  }

  #onExited({ ranMs, ...how }: { exitCode: number | null; ranMs: number; err?: unknown }): void {
    this.#child = null
    this.#isUp = false
    this.#stats = null
    if (this.#isStopping) return
    this.#failuresInARow = ranMs >= STABLE_RUN_MS ? 0 : this.#failuresInARow + 1
    const restartMs = RESTART_MS[Math.min(this.#failuresInARow, RESTART_MS.length) - 1] ?? 0
    this.#onExit({ ...how, restartMs })
    this.#cancelRestart = this.#clock.after(restartMs, () => {
      this.#restarts += 1
      this.start()
    })
  }

  /**
   * A message to a sender that is not running is dropped, which is safe: a new sender starts by looking at all agencies.
   */
  #send(message: ToSender): void {
    if (!this.#isUp || this.#child === null) return
    try {
      this.#child.send(message)
    } catch {
      // The sender has just ended. The next one looks at all agencies itself.
    }
  }
}
