import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'

/** How often usage and budgets are written. With the time of a commit, a crash loses at most the last second. */
export const COUNTERS_FLUSH_MS = 500

/** Counters in memory that are written periodically. */
export interface Flushable {
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
