/**
 * Refreshes memory from the database after a write whose outcome is unknown: at once, and then every second until it succeeds. It
 * reads in the turn of the thing that is read, so that nothing newer is overwritten.
 */
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { KeyedTurns } from '../lib/queues.ts'
import { RETRY_EVERY_MS } from './store-retries.ts'

export class MemoryRefresh {
  readonly #clock: Clock
  readonly #turns: KeyedTurns
  readonly #read: (id: string) => Promise<void>
  readonly #isHere: (id: string) => boolean
  /** What must still be read: at most one entry for each thing that exists. */
  readonly #doubtful = new Set<string>()

  /**
   * @param options.read waits until no write is in progress, reads, and puts the result into memory
   * @param options.isHere false: another process of the cluster has it, so that nothing of it is in memory
   */
  constructor(options: {
    clock: Clock
    turns: KeyedTurns
    read: (id: string) => Promise<void>
    isHere: (id: string) => boolean
  }) {
    this.#clock = options.clock
    this.#turns = options.turns
    this.#read = options.read
    this.#isHere = options.isHere
  }

  /** Memory may differ from what is stored. */
  isDoubtful(id: string): boolean {
    return this.#doubtful.has(id)
  }

  /**
   * To be called in the turn of `id`. Settles after the first attempt.
   * @returns whether memory is now the same as what is stored; if not, it is read again later
   */
  async now(id: string): Promise<boolean> {
    const isKnown = !this.#doubtful.has(id)
    this.#doubtful.add(id)
    try {
      if (this.#isHere(id)) await this.#read(id)
      this.#doubtful.delete(id)
      return true
    } catch (error) {
      if (error instanceof AssertionError) throw error
      // Also after a fence: the epoch of this writer may just have risen, and a process that has lost it exits anyway.
      if (isKnown) this.#later(id)
      return false
    }
  }

  #later(id: string): void {
    this.#clock.after(RETRY_EVERY_MS, () => {
      void this.#turns.run(id, async () => {
        if (this.#doubtful.has(id) && !(await this.now(id))) this.#later(id)
      })
    })
  }
}
