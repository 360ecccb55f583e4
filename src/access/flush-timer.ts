import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'

/** How often use and budgets are written: with the time of a commit, a crash loses the last second at most. */
export const COUNTERS_FLUSH_MS = 500

/** Counters in memory that are made durable from time to time. */
export interface Flushed {
  isDirty(): boolean
  /** Makes durable what is dirty when it is called. What could not be written stays dirty, and this rejects. */
  write(): Promise<void>
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'armed'; readonly callOff: () => void }
  /** `written` settles, and never rejects, when this write is over. */
  | { readonly kind: 'writing'; readonly written: Promise<unknown> }

/**
 * Writes counters a while after they became dirty: one write in flight, and again later for as long as they are dirty,
 * be it that a write failed or that they went on counting.
 */
export class FlushTimer {
  readonly #flushed: Flushed
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #onFailure: (error: unknown) => void
  #state: State = { kind: 'idle' }
  #stopped = false

  constructor(options: {
    flushed: Flushed
    clock: Clock
    everyMs: number
    /** Told of each failed write of the timer; it is tried again. */
    onFailure: (error: unknown) => void
  }) {
    this.#flushed = options.flushed
    this.#clock = options.clock
    this.#everyMs = options.everyMs
    this.#onFailure = options.onFailure
  }

  /** Says that something is dirty. Cheap: it is called with every request. */
  wake(): void {
    if (this.#state.kind !== 'idle' || this.#stopped) return
    this.#state = {
      kind: 'armed',
      callOff: this.#clock.after(this.#everyMs, () => {
        this.#write().catch(this.#onFailure)
      }),
    }
  }

  /**
   * Writes now what is dirty.
   * @throws what the write threw; the counters stay dirty
   */
  async flush(): Promise<void> {
    while (this.#state.kind === 'writing') await this.#state.written
    if (this.#flushed.isDirty()) await this.#write()
  }

  /**
   * Sets no timer any more, and writes what is dirty: for a clean end, before the journal is closed.
   * @throws what the write threw
   */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.flush()
  }

  #write(): Promise<void> {
    assert(this.#state.kind !== 'writing', 'Cannot write counters: a write is in flight')
    if (this.#state.kind === 'armed') this.#state.callOff()
    const write = this.#flushed.write().finally(() => {
      this.#state = { kind: 'idle' }
      if (this.#flushed.isDirty()) this.wake()
    })
    this.#state = { kind: 'writing', written: Promise.allSettled([write]) }
    return write
  }
}
