/**
 * How long the caller of a write waits for its answer. Before a write is handed to the journal, nothing of it can be written, so it is
 * refused after `queuedMsMax`. The journal refuses what it has not sent by the same limit, counted from the same start. A write that was
 * sent and not confirmed may have been written: its caller is told so after `OUTCOME_KNOWN_MS_MAX`, and the unit keeps waiting for the
 * outcome.
 */

import type { Clock } from '../../lib/clock.ts'
import type { Agency } from '../catalogue/agency.ts'
import { JournalError } from '../journal/journal-error.ts'
import type { Caller } from '../journal/record.ts'

/** From the start of a write until its caller is told that the outcome is unknown. */
export const OUTCOME_KNOWN_MS_MAX = 30_000

/** On whose behalf, and for how long, a write is made. */
export interface Write {
  readonly limit: WriteLimit
  readonly agency: Agency
  readonly caller: Caller
  readonly isDryRun: boolean
}

export class WriteLimit {
  readonly #clock: Clock
  readonly #queuedMsMax: number
  /** Monotonic milliseconds. */
  readonly since: number
  #state: 'waiting' | 'handed_over' | 'refused' = 'waiting'

  private constructor(clock: Clock, queuedMsMax: number) {
    this.#clock = clock
    this.#queuedMsMax = queuedMsMax
    this.since = clock.monotonicMs()
  }

  /**
   * Settles as `write` does, or rejects when the time is up. `write` then continues without a caller, and writes nothing unless it
   * has already handed its record over.
   * @throws JournalError `held_too_long`: not written. `outcome_unknown`: it may have been written, or may still be.
   */
  static run<T>(
    { clock, queuedMsMax }: { clock: Clock; queuedMsMax: number },
    write: (limit: WriteLimit) => Promise<T>,
  ): Promise<T> {
    const limit = new WriteLimit(clock, queuedMsMax)
    return new Promise((resolve, reject) => {
      let cancel = clock.after(queuedMsMax, () => {
        if (limit.#state === 'handed_over') cancel = clock.after(OUTCOME_KNOWN_MS_MAX - queuedMsMax, tellUnknown)
        else reject(limit.#refuse())
      })
      const tellUnknown = () => reject(outcomeUnknown())
      write(limit).then(
        (value) => {
          cancel()
          resolve(value)
        },
        (error) => {
          cancel()
          reject(error)
        },
      )
    })
  }

  /** @throws JournalError `held_too_long` when the caller was told, or must be told, that nothing is written */
  mustBeOpen(): void {
    if (this.#state === 'handed_over') return
    if (this.#state === 'refused' || this.#clock.monotonicMs() - this.since >= this.#queuedMsMax) throw this.#refuse()
  }

  /**
   * Call this right before the journal: from then on only the journal knows the outcome.
   * @throws JournalError as `mustBeOpen`
   */
  handOver(): void {
    this.mustBeOpen()
    this.#state = 'handed_over'
  }

  #refuse(): JournalError {
    this.#state = 'refused'
    return new JournalError('held_too_long', `Cannot take a command: it waited ${this.#queuedMsMax} ms`)
  }
}

function outcomeUnknown(): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether the change was made: the database does not answer')
}
