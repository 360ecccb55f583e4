/**
 * Sends a batch until its outcome is known.
 *
 * - J3 After an unknown outcome the identical batch is sent again. An error response proves only that its own send was not
 *   written: while an earlier send is in doubt, no error means "not written". If sending again cannot settle the doubt (a data
 *   error, a batch that is too slow), this writer raises its own epoch, after which no earlier send can commit, and then
 *   checks what was written.
 */
import { unreachable } from '../../lib/assert.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import type { BatchToAppend, JournalStore } from './journal-store.ts'

/** Pause between two sends of a batch, for a database that refuses immediately. */
const RESEND_DELAY_MS = 20

/** The outcome of a batch. Every kind but `durable`, and `fenced` in doubt, means that it is not written. */
export type BatchOutcome =
  | { readonly kind: 'durable' }
  | { readonly kind: 'given_back' }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'poison'; readonly cause: unknown }
  /** `isInDoubt`: an earlier send may have committed before the fence rose. */
  | { readonly kind: 'fenced'; readonly cause: unknown; readonly isInDoubt: boolean }

const DURABLE: BatchOutcome = { kind: 'durable' }

export class BatchSender {
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #newRenewalId: () => string
  #epoch: number
  #resends = 0

  constructor(options: { store: JournalStore; clock: Clock; epoch: number; newRenewalId: () => string }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#newRenewalId = options.newRenewalId
    this.#epoch = options.epoch
  }

  /** The epoch of this writer. It rises whenever a doubt has to be settled. */
  get epoch(): number {
    return this.#epoch
  }

  /** Repeated sends of batches so far. */
  get resends(): number {
    return this.#resends
  }

  /**
   * Sends the identical batch until its outcome is known (J3). Never rejects.
   * @param isOverdue whether one of its records has waited too long. If so, a batch that is not written is returned, so
   *   that the record can be refused
   */
  async send(toAppend: BatchToAppend, isOverdue: () => boolean): Promise<BatchOutcome> {
    let isInDoubt = false
    for (;;) {
      const outcome = await this.#store.appendBatch(toAppend)
      if (outcome === 'durable') return DURABLE
      switch (outcome.kind) {
        case 'fenced':
          return { kind: 'fenced', cause: outcome.cause, isInDoubt }
        case 'poison': {
          const poison: BatchOutcome = { kind: 'poison', cause: outcome.cause }
          return isInDoubt ? this.#settleDoubt(toAppend, poison) : poison
        }
        case 'too_slow':
          if (isInDoubt) return this.#settleDoubt(toAppend, { kind: 'too_slow' })
          await sleep(this.#clock, RESEND_DELAY_MS)
          return { kind: 'too_slow' }
        case 'unknown':
          isInDoubt = true
          this.#store.reconnect()
          break
        case 'not_sent':
        case 'refused':
          this.#store.reconnect()
          break
        case 'retry':
          break
        default:
          unreachable(outcome.kind)
      }
      this.#resends += 1
      await sleep(this.#clock, RESEND_DELAY_MS)
      if (!isInDoubt && isOverdue()) return { kind: 'given_back' }
    }
  }

  /**
   * An earlier send of the batch may still commit, and sending it again does not help. Once our own epoch is higher, no earlier
   * send can commit any more (J5), so what is stored then is final.
   * @param unwritten the outcome of the batch if it is not stored
   */
  async #settleDoubt(toAppend: BatchToAppend, unwritten: BatchOutcome): Promise<BatchOutcome> {
    const renewal = this.#newRenewalId()
    for (;;) {
      const renewed = await this.#store.renewEpoch(this.#epoch, renewal)
      if (typeof renewed === 'number') {
        this.#epoch = renewed
        break
      }
      if (renewed.kind === 'fenced') return { kind: 'fenced', cause: renewed.cause, isInDoubt: true }
      if (renewed.kind !== 'retry') this.#store.reconnect()
      await sleep(this.#clock, RESEND_DELAY_MS)
    }
    for (;;) {
      const written = await this.#store.wasWritten(toAppend)
      if (written !== null) return written ? DURABLE : unwritten
      await sleep(this.#clock, RESEND_DELAY_MS)
    }
  }
}
