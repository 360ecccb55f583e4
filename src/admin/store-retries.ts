/**
 * Retries storing a revocation every second until it succeeds or is cancelled. Also after a fence: the epoch of this writer
 * may just have risen, and a process that has been fenced out exits anyway.
 */
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'

/** Pause between two attempts to store, or to read, what is not known to be stored. */
export const RETRY_EVERY_MS = 1_000

interface Pending {
  readonly store: () => Promise<void>
  cancel: () => void
}

export class StoreRetries {
  readonly #clock: Clock
  /** One entry for each thing that exists, at most. */
  readonly #pending = new Map<string, Pending>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Replaces what is still pending for `id`.
   * @param store may run although an earlier attempt was written: repeating it must change nothing
   */
  later(id: string, store: () => Promise<void>): void {
    this.cancel(id)
    const pending: Pending = { store, cancel: () => {} }
    this.#pending.set(id, pending)
    this.#schedule(id, pending)
  }

  /** Does not undo an attempt in progress. */
  cancel(id: string): void {
    this.#pending.get(id)?.cancel()
    this.#pending.delete(id)
  }

  #schedule(id: string, pending: Pending): void {
    pending.cancel = this.#clock.after(RETRY_EVERY_MS, () => void this.#attempt(id, pending))
  }

  async #attempt(id: string, pending: Pending): Promise<void> {
    const isStored = await this.#isStored(pending)
    if (this.#pending.get(id) !== pending) return
    if (isStored) this.#pending.delete(id)
    else this.#schedule(id, pending)
  }

  async #isStored({ store }: Pending): Promise<boolean> {
    try {
      await store()
      return true
    } catch (error) {
      if (error instanceof AssertionError) throw error
      return false
    }
  }
}
