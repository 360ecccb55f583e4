/**
 * The writes to sandboxes in progress.
 *
 * - E3 A sandbox that ends takes no more writes, and ends when those in progress are over. What they would write of people afterwards would
 *   never be erased, and what survives a reset would not be taken along.
 */
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { Counts } from '../../lib/counts.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Agency } from '../catalogue/agency.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { SandboxEndsError, WriteError } from './write-error.ts'

/** How long the end of a sandbox waits for writes to it. A ping of a webhook endpoint takes ten seconds at most. */
export const WRITES_MS_MAX = 15_000

export class SandboxWrites {
  readonly #catalogue: Pick<Catalogue, 'agencyById' | 'termOf'>
  readonly #clock: Clock
  /** By sandbox. */
  readonly #writing = new Counts<string>()
  /** Those that end, and what is to be called when nothing is written to them. */
  readonly #ending = new Map<string, () => void>()

  constructor({ catalogue, clock }: { catalogue: Pick<Catalogue, 'agencyById' | 'termOf'>; clock: Clock }) {
    this.#catalogue = catalogue
    this.#clock = clock
  }

  /**
   * Makes a write to an agency. Only sandboxes are looked at.
   * @throws SandboxEndsError: it is a sandbox that ends, or has ended
   */
  run<T>(agency: Agency, write: () => Promise<T>): Promise<T> {
    return agency.clock === undefined ? write() : this.#run(agency.id, write)
  }

  async #run<T>(sandboxId: string, write: () => Promise<T>): Promise<T> {
    if (this.#ending.has(sandboxId) || this.#hasEnded(sandboxId)) throw new SandboxEndsError()
    this.#writing.add(sandboxId)
    try {
      return await write()
    } finally {
      if (this.#writing.add(sandboxId, -1) === 0) this.#ending.get(sandboxId)?.()
    }
  }

  /**
   * Ends a sandbox while nothing is written to it. If it has not ended then, it takes writes again.
   * @throws WriteError `not_written` when the writes in progress take too long; what `end` throws
   */
  async end<T>(sandboxId: string, end: () => Promise<T>): Promise<T> {
    assert(!this.#ending.has(sandboxId), 'Cannot end a sandbox: it is being ended')
    const over = Promise.withResolvers<void>()
    this.#ending.set(sandboxId, over.resolve)
    try {
      if (this.#writing.of(sandboxId) > 0) await this.#within(over.promise)
      return await end()
    } finally {
      this.#ending.delete(sandboxId)
    }
  }

  async #within(over: Promise<void>): Promise<void> {
    try {
      await withDeadline(over, WRITES_MS_MAX, this.#clock)
    } catch (cause) {
      throw new WriteError('not_written', 'Cannot end a sandbox: writes to it are in progress', { cause })
    }
  }

  /** Not one that another process has, which decides about it. */
  #hasEnded(sandboxId: string): boolean {
    return this.#catalogue.agencyById(sandboxId) === null && this.#catalogue.termOf(sandboxId) !== null
  }
}
