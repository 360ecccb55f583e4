/**
 * How long the caller of a write waits for its answer. Before a write is handed to the journal nothing of it can be written, so after
 * `heldMsMax` it is refused; the journal refuses by the same start what it has not sent. What was sent and is not confirmed may have
 * been written: its caller is told that after `OUTCOME_KNOWN_MS_MAX`, while the unit goes on waiting for the truth.
 */
import { JournalError } from '../journal/journal-error.ts'
import type { Clock } from '../lib/clock.ts'

/** From the start of a write until its caller is told that the outcome is unknown. */
export const OUTCOME_KNOWN_MS_MAX = 30_000

export class WriteLimit {
  readonly #clock: Clock
  readonly #heldMsMax: number
  /** Monotonic milliseconds. */
  readonly since: number
  #state: 'waiting' | 'handed_over' | 'refused' = 'waiting'

  private constructor(clock: Clock, heldMsMax: number) {
    this.#clock = clock
    this.#heldMsMax = heldMsMax
    this.since = clock.monotonicMs()
  }

  /**
   * Settles as `write` does, or rejects when its time is up; `write` then runs on without a caller, and writes nothing if it has
   * not handed anything over yet.
   * @throws JournalError `held_too_long`: not written. `outcome_unknown`: it may have been, or may still be.
   */
  static run<T>(
    { clock, heldMsMax }: { clock: Clock; heldMsMax: number },
    write: (limit: WriteLimit) => Promise<T>,
  ): Promise<T> {
    const limit = new WriteLimit(clock, heldMsMax)
    return new Promise((resolve, reject) => {
      let callOff = clock.after(heldMsMax, () => {
        if (limit.#state === 'handed_over') callOff = clock.after(OUTCOME_KNOWN_MS_MAX - heldMsMax, tellUnknown)
        else reject(limit.#refuse())
      })
      const tellUnknown = () => reject(outcomeUnknown())
      write(limit)
        .then(resolve, reject)
        .finally(() => callOff())
    })
  }

  /** @throws JournalError `held_too_long` when the caller was, or is to be, told that nothing is written */
  mustBeOpen(): void {
    if (this.#state === 'handed_over') return
    if (this.#state === 'refused' || this.#clock.monotonicMs() - this.since >= this.#heldMsMax) throw this.#refuse()
  }

  /**
   * To be called right before the journal is: from here on only the journal knows.
   * @throws JournalError as `mustBeOpen`
   */
  handOver(): void {
    this.mustBeOpen()
    this.#state = 'handed_over'
  }

  #refuse(): JournalError {
    this.#state = 'refused'
    return new JournalError('held_too_long', `Cannot take a command: it waited ${this.#heldMsMax} ms`)
  }
}

function outcomeUnknown(): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether the change was made: the database does not answer')
}
