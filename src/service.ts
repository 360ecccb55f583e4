/** The process's life: what must be closed, in which order, and how it ends. */
import type { Ledger } from './build.ts'
import type { Webhooks } from './build-webhooks.ts'
import { drain } from './http/drain.ts'
import type { Listener } from './http/listener.ts'
import { notServing } from './http/not-serving.ts'
import { sleep, systemClock } from './lib/clock.ts'
import { systemIds } from './lib/ids.ts'
import type { Log } from './log.ts'
import type { Database } from './open-database.ts'
import { removeServiceFile } from './service-file.ts'

/** SIGTERM to exit takes at most this long (design, Running it). */
const DRAIN_MS_MAX = 9_500

/** Requests may take so long to their answer: longer than a write is held for a database that is away. */
const ANSWERS_MS_MAX = 6_000

/** Attempts under way may finish for so long; what is cut off is sent again after the next start. */
const SENDER_DRAIN_MS_MAX = 5_000

/**
 * A step of the start may take so long to its end, so that what it opens can be closed: a PostgreSQL of our own that is being
 * started. One that waits for another server's lock is left.
 */
const STEP_MS_MAX = 5_000

/** A moment for the answers that are on their way; nothing more can be written. */
const FENCED_MS = 200

export class Service {
  readonly #log: Log
  readonly #listener: Listener
  readonly #dataDir: string
  /** The step of the start that is under way. */
  #step: Promise<unknown> = Promise.resolve()
  #database: Database | null = null
  #ledger: Ledger | null = null
  #webhooks: Webhooks | null = null
  #isEnding = false
  readonly #draining = new AbortController()

  /** From here on signals end the process in order. */
  constructor(log: Log, listener: Listener, dataDir: string) {
    this.#log = log
    this.#listener = listener
    this.#dataDir = dataDir
    process.on('SIGTERM', () => void this.#drain('SIGTERM'))
    process.on('SIGINT', () => void this.#drain('SIGINT'))
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => this.endAfterBug(error))
    }
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Aborted when the drain begins: work that may take longer than that ends now. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /**
   * A step of the start. Never settles when the process is ending: nothing more may begin then.
   * @param opened takes what the step yields, before anything else happens to it
   */
  async during<T>(step: Promise<T>, opened: (yielded: T) => void = () => {}): Promise<T> {
    this.#step = step.then(opened)
    await this.#step
    if (this.#isEnding) await new Promise(() => {})
    return step
  }

  /** What is open from now on, and is closed at the end. */
  has(open: { database?: Database; ledger?: Ledger; webhooks?: Webhooks }): void {
    this.#database = open.database ?? this.#database
    this.#ledger = open.ledger ?? this.#ledger
    this.#webhooks = open.webhooks ?? this.#webhooks
  }

  bookingChanged(agencyId: string): void {
    this.#webhooks?.bookingChanged(agencyId)
  }

  /** The start has failed: ends a PostgreSQL of our own. Never settles when the process is ending for another reason. */
  async giveUp(): Promise<void> {
    if (this.#isEnding) return new Promise(() => {})
    await this.#database?.stop()
  }

  /**
   * J5: a stale writer stops serving at once, reads too, because its memory is no longer the truth. It exits non-zero when
   * its open commands have been answered.
   * @param settled every command has its outcome
   */
  endAfterFence(cause: unknown, settled: Promise<void>): void {
    this.#log.fatal({ err: cause }, 'fenced by another writer')
    if (this.#isEnding) return
    this.#isEnding = true
    this.#listener.answerWith(notServing('fenced', systemIds))
    void settled.then(() => setTimeout(() => process.exit(1), FENCED_MS))
  }

  /** A broken invariant: memory can no longer be trusted, the journal can. End now and recover from it. */
  endAfterBug(error: unknown): void {
    this.#log.fatal({ err: error }, 'ended by a bug')
    process.exit(1)
  }

  async #drain(signal: string): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#log.info({ signal }, 'draining')
    this.#draining.abort()
    const overdue = setTimeout(() => {
      this.#log.error({ afterMs: DRAIN_MS_MAX }, 'drain took too long')
      process.exit(1)
    }, DRAIN_MS_MAX)
    // What is half open cannot be closed; a step that fails has closed what it had.
    await Promise.race([Promise.allSettled([this.#step]), sleep(systemClock, STEP_MS_MAX)])
    if (this.#database?.isEmbedded === true) removeServiceFile(this.#dataDir, process.pid)
    const senderEnded = this.#webhooks?.sender.stop(SENDER_DRAIN_MS_MAX)
    if (!(await drain(this.#listener, systemClock, ANSWERS_MS_MAX))) {
      this.#log.warn({ afterMs: ANSWERS_MS_MAX }, 'requests cut off')
    }
    await Promise.all([senderEnded, this.#ledger?.close()])
    await this.#database?.stop()
    clearTimeout(overdue)
    this.#log.info({ signal }, 'stopped')
    process.exit(0)
  }
}
