import { assert } from '../lib/assert.ts'
import { type Clock, sleep } from '../lib/clock.ts'
import { DeadlineError } from '../lib/deadline.ts'

/** How often usage and budgets are written. With the time of a commit, a crash loses at most the last second. */
export const COUNTERS_FLUSH_MS = 500

/** Counters in memory that are written periodically. */
interface Flushable {
  isDirty(): boolean
  /** Writes what is dirty at the time of the call. Rejects when something could not be written; that stays dirty. */
  write(): Promise<void>
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'armed'; readonly cancel: () => void }
  /** `written` resolves when this write has ended, and never rejects. */
  | { readonly kind: 'writing'; readonly written: Promise<unknown> }

/**
 * Writes counters some time after they become dirty, one write at a time. It repeats for as long as they are dirty,
 * because a write failed or because they changed meanwhile.
 */
export class FlushTimer {
  readonly #flushed: Flushable
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #onFailure: (error: unknown) => void
  #state: State = { kind: 'idle' }
  #stopped = false

  constructor(options: {
    flushed: Flushable
    clock: Clock
    everyMs: number
    /** Called for each failed write of the timer. The write is retried. */
    onFailure: (error: unknown) => void
  }) {
    this.#flushed = options.flushed
    this.#clock = options.clock
    this.#everyMs = options.everyMs
    this.#onFailure = options.onFailure
  }

  /** Notes that something is dirty. Cheap: it is called with every request. */
  wake(): void {
    if (this.#state.kind !== 'idle' || this.#stopped) return
    this.#state = {
      kind: 'armed',
      cancel: this.#clock.after(this.#everyMs, () => {
        this.#write().catch(this.#onFailure)
      }),
    }
  }

  /**
   * Writes what is dirty, now.
   * @throws what the write threw; the counters stay dirty
   */
  async flush(): Promise<void> {
    while (this.#state.kind === 'writing') await this.#state.written
    if (this.#flushed.isDirty()) await this.#write()
  }

  /**
   * Disables the timer and writes what is dirty. For a clean shutdown, before the journal is closed.
   * @throws what the write threw
   */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.flush()
  }

  #write(): Promise<void> {
    assert(this.#state.kind !== 'writing', 'Cannot write counters: a write is in flight')
    if (this.#state.kind === 'armed') this.#state.cancel()
    const write = this.#flushed.write().finally(() => {
      this.#state = { kind: 'idle' }
      if (this.#flushed.isDirty()) this.wake()
    })
    this.#state = { kind: 'writing', written: Promise.allSettled([write]) }
    return write
  }
}

/** Counters in memory that must be stored before the process exits. */
export interface Counters {
  /** Writes for the last time. Can be called again after it has rejected. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/**
 * Writes the counters before the process exits. If the database is unavailable, it retries for at most `withinMs`, so
 * that counters do not delay the shutdown any longer.
 * @returns one error for each counter that was not written
 */
export async function finalFlush(counters: readonly Counters[], clock: Clock, withinMs: number): Promise<unknown[]> {
  const until = clock.monotonicMs() + withinMs
  const { promise: overdue, resolve } = Promise.withResolvers<unknown>()
  const cancelTimeout = clock.after(withinMs, () => resolve(new DeadlineError(withinMs)))
  const failures = await Promise.all(counters.map((one) => Promise.race([stopOf(one, clock, until), overdue])))
  cancelTimeout()
  return failures.filter((failure) => failure !== null)
}

/** Null when the counters were written. Never rejects, because nothing may be left to handle the rejection. */
async function stopOf(counters: Counters, clock: Clock, until: number): Promise<unknown> {
  for (;;) {
    try {
      await counters.stop()
      return null
    } catch (error) {
      if (clock.monotonicMs() + RETRY_MS >= until) return error
    }
    await sleep(clock, RETRY_MS)
  }
}
