/** The life cycle of the process: what must be closed, in which order, and how the process ends. */

import type { Membership } from '../cluster/membership.ts'
import { drain } from '../http/server/drain.ts'
import { sleep, systemClock } from '../lib/clock.ts'
import type { OtlpTracer } from '../observability/otlp-tracer.ts'
import type { Ledger } from './ledger.ts'
import type { Listeners } from './listeners.ts'
import type { Log } from './log.ts'
import type { Database } from './open-database.ts'
import type { Webhooks } from './open-webhooks.ts'
import { removeServiceFile } from './service-file.ts'

/** SIGTERM to exit takes at most this long (docs/operating.md#upgrading). */
const DRAIN_MS_MAX = 9_500

/** How long open requests may take to be answered: longer than a write waits for an unavailable database. */
const ANSWERS_MS_MAX = 6_000

/** How long webhook attempts in flight may take to finish. Interrupted attempts are repeated after the next start. */
const SENDER_DRAIN_MS_MAX = 5_000

/**
 * How long a shutdown waits for the current step of the start, so that whatever the step opens can be closed, such as
 * the embedded PostgreSQL while it starts up. A step that takes longer, because it waits for another server's lock, is
 * abandoned.
 */
const STEP_MS_MAX = 5_000

const ANNOUNCED_MS_MAX = 100

/** Time to send the last spans. */
const SPANS_MS_MAX = 500

/** Time to finish sending answers; nothing more can be written. */
const FENCED_MS = 200

export class Service {
  readonly #log: Log
  readonly #listeners: Listeners
  readonly #dataDir: string
  /** The current step of the start. */
  #step: Promise<unknown> = Promise.resolve()
  #database: Database | null = null
  #ledger: Ledger | null = null
  #webhooks: Webhooks | null = null
  #membership: Membership | null = null
  #tracer: Pick<OtlpTracer, 'stop'> | null = null
  #isEnding = false
  #isFenced = false
  readonly #draining = new AbortController()

  constructor(log: Log, listeners: Listeners, dataDir: string) {
    this.#log = log
    this.#listeners = listeners
    this.#dataDir = dataDir
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => this.endAfterBug(error))
    }
  }

  get isEnding(): boolean {
    return this.#isEnding
  }

  /** Aborted when the drain begins, to end work that may take longer than the drain. */
  get draining(): AbortSignal {
    return this.#draining.signal
  }

  /**
   * Runs a step of the start. Never settles while the process is shutting down, because nothing more may be started
   * then.
   * @param opened receives the result of the step before anything else uses it
   */
  async during<T>(step: Promise<T>, opened: (yielded: T) => void = () => {}): Promise<T> {
    this.#step = step.then(opened)
    await this.#step
    if (this.#isEnding) await new Promise(() => {})
    return step
  }

  /** Registers open resources, to be closed at the end. */
  has(open: {
    database?: Database
    ledger?: Ledger
    webhooks?: Webhooks
    membership?: Membership
    tracer?: Pick<OtlpTracer, 'stop'>
  }): void {
    this.#database = open.database ?? this.#database
    this.#ledger = open.ledger ?? this.#ledger
    this.#webhooks = open.webhooks ?? this.#webhooks
    this.#membership = open.membership ?? this.#membership
    this.#tracer = open.tracer ?? this.#tracer
  }

  bookingChanged(agencyId: string): void {
    this.#webhooks?.bookingChanged(agencyId)
  }

  unitChanged(agencyId: string): void {
    this.#webhooks?.unitChanged(agencyId)
  }

  /**
   * Call it when the start has failed: stops the embedded PostgreSQL, if any. Never settles when the process is already
   * exiting for another reason.
   */
  async giveUp(): Promise<void> {
    if (this.#isEnding) return new Promise(() => {})
    await this.#database?.stop()
  }

  /**
   * J5: a stale writer stops serving at once, including reads, because its memory may be out of date. It exits non-zero
   * once its open commands have been answered.
   * @param settled resolves when every command has its outcome
   */
  endAfterFence(cause: unknown, settled: Promise<void>): void {
    this.#log.fatal({ err: cause }, 'fenced by another writer')
    this.#isFenced = true
    this.#listeners.refuse('fenced', { isDraining: this.#isEnding })
    if (this.#isEnding) return
    this.#isEnding = true
    void settled.then(() => setTimeout(() => process.exit(1), FENCED_MS))
  }

  /**
   * An invariant is broken: memory can no longer be trusted, but the journal can. Exits immediately; the next process
   * recovers from the journal.
   */
  endAfterBug(error: unknown): void {
    this.#log.fatal({ err: error }, 'ended by a bug')
    process.exit(1)
  }

  /** Shuts the process down gracefully, and exits. @param signal that asked for it */
  async end(signal: string): Promise<void> {
    if (this.#isEnding) return
    this.#isEnding = true
    this.#log.info({ signal }, 'draining')
    this.#draining.abort()
    const overdue = setTimeout(() => {
      this.#log.error({ afterMs: DRAIN_MS_MAX }, 'drain took too long')
      process.exit(1)
    }, DRAIN_MS_MAX)
    // A resource that is still being opened cannot be closed. A step that fails closes what it has opened.
    await Promise.race([Promise.allSettled([this.#step]), sleep(systemClock, STEP_MS_MAX)])
    if (this.#database?.isEmbedded === true) removeServiceFile(this.#dataDir, process.pid)
    await this.#membership?.leave()
    this.#ledger?.changes.end()
    // Before connections are refused, so that its successor holds what it gets instead. While the database is away, there is none.
    await Promise.race([this.#ledger?.announceEnd().catch(() => {}), sleep(systemClock, ANNOUNCED_MS_MAX)])
    const senderEnded = this.#webhooks?.sender.stop(SENDER_DRAIN_MS_MAX)
    const drained = await Promise.all(this.#listeners.all.map((each) => drain(each, systemClock, ANSWERS_MS_MAX)))
    if (drained.includes(false)) {
      this.#log.warn({ afterMs: ANSWERS_MS_MAX }, 'requests cut off')
    }
    const closed = async () => {
      await this.#membership?.drained()
      await this.#ledger?.close()
    }
    await Promise.all([senderEnded, closed()])
    await this.#tracer?.stop(SPANS_MS_MAX)
    await this.#membership?.close()
    await this.#database?.stop()
    clearTimeout(overdue)
    this.#log.info({ signal }, 'stopped')
    process.exit(this.#isFenced ? 1 : 0)
  }
}
