/**
 * Memory that must follow the database after a write whose outcome is unknown: it is read again at once, and every second until
 * that has worked. In the turn of what is read, so that nothing newer is overwritten.
 */
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { KeyedTurns } from '../lib/keyed-turns.ts'

const AGAIN_AFTER_MS = 1_000

export class ReadAgain {
  readonly #clock: Clock
  readonly #turns: KeyedTurns
  readonly #read: (id: string) => Promise<void>
  /** Not yet read: one entry for each thing that exists, at most. */
  readonly #doubtful = new Set<string>()

  /** @param read waits until no write is under way any more, reads, and puts what it has read into memory */
  constructor(options: { clock: Clock; turns: KeyedTurns; read: (id: string) => Promise<void> }) {
    this.#clock = options.clock
    this.#turns = options.turns
    this.#read = options.read
  }

  /** Memory may not be what is stored. */
  isDoubtful(id: string): boolean {
    return this.#doubtful.has(id)
  }

  /**
   * To be called in the turn of `id`. Settles after the first attempt.
   * @returns whether memory is what is stored; if not, it is read again later
   */
  async now(id: string): Promise<boolean> {
    const isKnown = !this.#doubtful.has(id)
    this.#doubtful.add(id)
    try {
      await this.#read(id)
      this.#doubtful.delete(id)
      return true
    } catch (error) {
      if (error instanceof AssertionError) throw error
      // Fenced too: the epoch may just have risen, and a process that has lost it ends anyway.
      if (isKnown) this.#later(id)
      return false
    }
  }

  #later(id: string): void {
    this.#clock.after(AGAIN_AFTER_MS, () => {
      void this.#turns.run(id, async () => {
        if (this.#doubtful.has(id) && !(await this.now(id))) this.#later(id)
      })
    })
  }
}
