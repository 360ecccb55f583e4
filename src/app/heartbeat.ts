/**
 * - P3 A process behind which a standby waits shows nothing of its memory from before that standby may take over: once it has not
 *   confirmed a heartbeat for `CONFIRMED_MS_MAX`. It does again after the next one. A process that nobody waits for reads on while the
 *   database is away. The last answer decides.
 */
import { type Clock, sleep } from '../lib/clock.ts'
import { SILENT_MS } from '../postgres/stores/postgres-writers.ts'

const BEAT_EVERY_MS = 1_000
/** After one that was not answered. */
const BEAT_AGAIN_MS = 250

/**
 * Less than a standby waits. It counts from when Postgres got the heartbeat and this process from when it sent it, so what is left is for
 * clocks that do not run at the same speed, and for answers on their way.
 */
export const CONFIRMED_MS_MAX = SILENT_MS - 500

interface HeartbeatOptions {
  readonly clock: Clock
  /** Null: another process has taken over. @throws when it is not answered */
  beat(): Promise<{ readonly isAwaited: boolean } | null>
  /** Before the take-over was asked for, which counts as the first heartbeat (monotonic). */
  readonly since: number
  /** Called once, when another process has taken over; an idle process learns of the fence this way. */
  onReplaced(): void
  /** Nothing of this process's memory may be shown any more, or it may again. */
  onConfirmed(isConfirmed: boolean): void
}

/** Tells the processes that wait for their turn that this one is alive, once a second. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #isStopped = false
  /** When the last one was sent that was answered (monotonic). */
  #sentAt: number
  /** Unknown at first: somebody may wait. */
  #isAwaited = true
  #isLate = false
  #cancelDue = () => {}

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#sentAt = options.since
    this.#watch()
    void this.#run()
  }

  /** Whether what this process has in memory may be shown as current. By the clock: a process that was paused knows it at once. */
  get isConfirmed(): boolean {
    return !this.#isAwaited || this.#options.clock.monotonicMs() - this.#sentAt < CONFIRMED_MS_MAX
  }

  /** No heartbeat begins any more. */
  stop(): void {
    this.#isStopped = true
    this.#cancelDue()
  }

  async #run(): Promise<void> {
    const { beat, onReplaced, clock } = this.#options
    let pauseMs = BEAT_EVERY_MS
    while (!this.#isStopped) {
      await sleep(clock, pauseMs)
      if (this.#isStopped) return
      const sentAt = clock.monotonicMs()
      // While it is not answered, nothing is known: the database may be away, or another process may have taken over.
      const answer = await beat().catch(() => undefined)
      if (this.#isStopped) return
      if (answer === null) return onReplaced()
      pauseMs = answer === undefined ? BEAT_AGAIN_MS : BEAT_EVERY_MS
      if (answer === undefined) continue
      this.#sentAt = sentAt
      this.#isAwaited = answer.isAwaited
      this.#watch()
    }
  }

  /** After an answer: says whether it came too late, and waits until the next one would. */
  #watch(): void {
    const { clock, onConfirmed } = this.#options
    this.#cancelDue()
    const isLate = !this.isConfirmed
    if (isLate !== this.#isLate) {
      this.#isLate = isLate
      onConfirmed(!isLate)
    }
    if (this.#isAwaited && !isLate)
      this.#cancelDue = clock.after(this.#sentAt + CONFIRMED_MS_MAX - clock.monotonicMs(), () => this.#watch())
  }
}
