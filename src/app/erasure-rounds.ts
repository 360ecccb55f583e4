import type { BegunErasure } from '../accounts/guest-erasures.ts'
import type { Clock } from '../lib/clock.ts'

const EVERY_MS = 60_000
/** After a failure: what keeps a vacuum from running is not over in a minute. */
const AFTER_FAILURE_MS = 600_000

/**
 * Every minute and at start: completes erasures that were interrupted, and vacuums once for all that happened together. A vacuum that fails,
 * which it always does where the role may not, delays the next one only, and no erasure.
 */
export class ErasureRounds {
  readonly #options: ConstructorParameters<typeof ErasureRounds>[0]
  #cancel: (() => void) | null = null
  #round: Promise<boolean> = Promise.resolve(true)
  #stopped = false
  /** Of `monotonicMs`. */
  #noVacuumBefore = Number.NEGATIVE_INFINITY

  constructor(options: {
    readonly clock: Clock
    begun(): Promise<readonly BegunErasure[]>
    complete(erasure: BegunErasure): Promise<void>
    /** Whether dead rows are to be vacuumed, by this process. */
    isVacuumDue(): Promise<boolean>
    vacuum(): Promise<void>
    onFailure(error: unknown): void
  }) {
    this.#options = options
  }

  start(): void {
    this.#round = this.#completeBegun()
    void this.#round.then((isDone) => this.#vacuumIfDue(isDone))
  }

  /** Waits for the erasure that is being completed; not for a vacuum, which is repeated by the next process. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#round
  }

  /** One that fails does not hold up the others. @returns false after a failure */
  async #completeBegun(): Promise<boolean> {
    const { begun, complete, onFailure } = this.#options
    let isDone = true
    const fail = (error: unknown) => {
      onFailure(error)
      isDone = false
      return []
    }
    for (const erasure of await begun().catch(fail)) {
      if (this.#stopped) break
      await complete(erasure).catch(fail)
    }
    return isDone
  }

  async #vacuumIfDue(isDone: boolean): Promise<void> {
    const { clock, isVacuumDue, vacuum, onFailure } = this.#options
    try {
      if (!this.#stopped && clock.monotonicMs() >= this.#noVacuumBefore && (await isVacuumDue())) await vacuum()
    } catch (error) {
      onFailure(error)
      this.#noVacuumBefore = clock.monotonicMs() + AFTER_FAILURE_MS
    }
    if (!this.#stopped) this.#cancel = clock.after(isDone ? EVERY_MS : AFTER_FAILURE_MS, () => this.start())
  }
}
