import { childEnvironment } from '../lib/child-environment.ts'
import type { Clock } from '../lib/clock.ts'
import { HTTP_REQUESTS_MAX } from './send-pool.ts'
import type { FromSender, SenderSettings, ToSender } from './sender-messages.ts'
import type { SenderStats } from './sender-stats.ts'

/** Wakes of so short a time are one message. */
const WAKE_GAP_MS = 2
const RESTART_MS = [100, 500, 2_000, 5_000] as const
/** A sender that ran for so long starts again without delay. */
const STEADY_MS = 60_000

/** How a sender ended that was not told to. */
export interface SenderExit {
  /** Null when it was killed, or could not be started at all. */
  readonly exitCode: number | null
  readonly restartMs: number
  /** Why it could not be started. */
  readonly err?: unknown
}

export interface SenderProcessStats {
  readonly isUp: boolean
  /** Times it had to be started again. */
  readonly restarts: number
  /** Null before its first second. */
  readonly sender: SenderStats | null
}

/**
 * The sender, in a process of its own: Bun caps the requests of a process, the cap counts only if it is in the environment
 * before the process starts, and workers share it (docs/decisions.md). It is started again whenever it ends, and ends by
 * itself when this process does.
 */
export class SenderProcess {
  readonly #settings: SenderSettings
  readonly #command: readonly string[]
  readonly #clock: Clock
  readonly #onExit: (fields: SenderExit) => void
  #child: Bun.Subprocess | null = null
  #isUp = false
  #isStopping = false
  #restarts = 0
  #failuresInARow = 0
  #stats: SenderStats | null = null
  #wakeTimer: (() => void) | null = null
  #isWakeOwed = false
  #callOffRestart = () => {}

  constructor(options: {
    settings: SenderSettings
    /** Program and arguments that run `sendWebhooks`. */
    command: readonly string[]
    clock: Clock
    /** It ended without having been asked to, and is started again after `restartMs`. */
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

  /** Null while it does not run. */
  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  start(): void {
    const since = this.#clock.monotonicMs()
    try {
      this.#child = Bun.spawn([...this.#command], {
        env: { ...childEnvironment(), BUN_CONFIG_MAX_HTTP_REQUESTS: String(HTTP_REQUESTS_MAX) },
        stdio: ['ignore', 'ignore', 'inherit'],
        serialization: 'json',
        ipc: (message: FromSender) => this.#heard(message),
        onExit: (child, exitCode) => {
          if (this.#child === child) this.#ended({ exitCode, ranMs: this.#clock.monotonicMs() - since })
        },
      })
    } catch (err) {
      // The program is gone, or the machine has no room for another process: bookings are sold all the same.
      this.#ended({ exitCode: null, ranMs: 0, err })
    }
  }

  /** Something is due. May be called with every booking: calls within 2 ms are one message. */
  wake(): void {
    if (this.#wakeTimer !== null) {
      this.#isWakeOwed = true
      return
    }
    this.#say({ kind: 'wake' })
    this.#wakeTimer = this.#clock.after(WAKE_GAP_MS, () => {
      this.#wakeTimer = null
      if (!this.#isWakeOwed) return
      this.#isWakeOwed = false
      this.wake()
    })
  }

  /** The agency changed an endpoint: what waits to be sent to it must not go out as it was. */
  endpointChanged(endpointId: string): void {
    this.#say({ kind: 'endpoint_changed', endpointId })
  }

  /** Lets attempts under way finish for so long, then ends the process whatever it does. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopping = true
    this.#callOffRestart()
    this.#wakeTimer?.()
    const child = this.#child
    if (child === null) return
    this.#say({ kind: 'stop', withinMs })
    if (!this.#isUp) child.kill('SIGKILL')
    const callOff = this.#clock.after(withinMs + 500, () => child.kill('SIGKILL'))
    await child.exited
    callOff()
  }

  #heard(message: FromSender): void {
    if (message.kind === 'up') {
      this.#isUp = true
      this.#say({ kind: 'start', settings: this.#settings })
    } else this.#stats = message.stats
  }

  #ended({ ranMs, ...how }: { exitCode: number | null; ranMs: number; err?: unknown }): void {
    this.#child = null
    this.#isUp = false
    if (this.#isStopping) return
    this.#failuresInARow = ranMs >= STEADY_MS ? 0 : this.#failuresInARow + 1
    const restartMs = RESTART_MS[Math.min(this.#failuresInARow, RESTART_MS.length) - 1] ?? 0
    this.#onExit({ ...how, restartMs })
    this.#callOffRestart = this.#clock.after(restartMs, () => {
      this.#restarts += 1
      this.start()
    })
  }

  /** What is said to a sender that is not up is lost, and not missed: it begins by looking for what is due. */
  #say(message: ToSender): void {
    if (!this.#isUp || this.#child === null) return
    try {
      this.#child.send(message)
    } catch {
      // It has just ended; the next one looks for itself.
    }
  }
}
