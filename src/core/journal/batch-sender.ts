/**
 * Sends a batch until its outcome is known.
 *
 * - J3 After an unknown outcome the identical entries are sent again. An error response proves only that its own send was not
 *   written: while an earlier send is in doubt, no error means "not written". If sending again cannot settle the doubt (a data
 *   error, a batch that is too slow), this writer raises its own epochs, after which no earlier send can commit, and then
 *   checks what was written.
 * - J5 The records of a fenced shard leave the batch, and the rest is sent again.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import type { AppendFailure, BatchToAppend, JournalStore, NumberedRecord, ShardEpoch } from './journal-store.ts'

/** Pause between two sends of a batch, for a database that refuses immediately. */
const RESEND_DELAY_MS = 20

/** The outcome of what was left of a batch. Every kind but `durable` means that it is not written. */
export type BatchOutcome =
  | { readonly kind: 'durable' }
  | { readonly kind: 'given_back' }
  | { readonly kind: 'too_slow' }
  | { readonly kind: 'poison'; readonly cause: unknown }
  /** Nothing was left: all of its shards belong to other writers. */
  | { readonly kind: 'fenced' }

/** The part of a batch whose shards belong to another writer now. */
export interface FencedPart {
  readonly batch: BatchToAppend
  readonly cause: unknown
  /** An earlier send may have committed before the fence rose. */
  readonly isInDoubt: boolean
}

const DURABLE: BatchOutcome = { kind: 'durable' }
const FENCED: BatchOutcome = { kind: 'fenced' }

interface Sending {
  /** What is left of the batch. */
  batch: BatchToAppend
  isInDoubt: boolean
  readonly onFenced: (part: FencedPart) => void
}

export class BatchSender {
  readonly #store: JournalStore
  readonly #clock: Clock
  readonly #newRenewalId: () => string
  /** By shard. */
  readonly #epochs: number[]
  #resends = 0

  /** @param options.epochs by shard */
  constructor(options: {
    store: JournalStore
    clock: Clock
    epochs: readonly number[]
    newRenewalId: () => string
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#newRenewalId = options.newRenewalId
    this.#epochs = [...options.epochs]
  }

  /** The epoch of this writer. It rises whenever a doubt has to be settled. */
  epochOf(shard: number): number {
    const epoch = this.#epochs[shard]
    assert(epoch !== undefined, `Cannot tell the epoch of shard ${shard}`)
    return epoch
  }

  /** Repeated sends of batches so far. */
  get resends(): number {
    return this.#resends
  }

  /**
   * Sends the identical entries until their outcome is known (J3). Never rejects.
   * @param options.isOverdue whether one of the records has waited too long. If so, a batch that is not written is returned, so
   *   that the record can be refused
   * @param options.onFenced called at once for shards that turn out to be fenced
   */
  async send(
    records: readonly NumberedRecord[],
    { isOverdue, onFenced }: { isOverdue: () => boolean; onFenced: (part: FencedPart) => void },
  ): Promise<BatchOutcome> {
    const sending: Sending = { batch: this.#batchOf(records), isInDoubt: false, onFenced }
    for (;;) {
      const outcome = await this.#store.appendBatch(sending.batch)
      if (outcome === 'durable') return DURABLE
      switch (outcome.kind) {
        case 'fenced':
          if (this.#isAllFenced(sending, outcome)) return FENCED
          continue
        case 'poison': {
          const poison: BatchOutcome = { kind: 'poison', cause: outcome.cause }
          return sending.isInDoubt ? this.#settleDoubt(sending, poison) : poison
        }
        case 'too_slow':
          if (sending.isInDoubt) return this.#settleDoubt(sending, { kind: 'too_slow' })
          await sleep(this.#clock, RESEND_DELAY_MS)
          return { kind: 'too_slow' }
        case 'unknown':
          sending.isInDoubt = true
          this.#store.reconnect()
          break
        case 'not_sent':
        case 'refused':
          this.#store.reconnect()
          break
        case 'retry':
          break
        default:
          unreachable(outcome)
      }
      this.#resends += 1
      await sleep(this.#clock, RESEND_DELAY_MS)
      if (!sending.isInDoubt && isOverdue()) return { kind: 'given_back' }
    }
  }

  #batchOf(records: readonly NumberedRecord[]): BatchToAppend {
    const shards = [...new Set(records.map(({ shard }) => shard))].sort((a, b) => a - b)
    return { shards: shards.map((shard) => ({ shard, epoch: this.epochOf(shard) })), records }
  }

  /** Takes the records of fenced shards out of the batch. @returns whether nothing is left */
  #isAllFenced(sending: Sending, { shards, cause }: AppendFailure & { readonly kind: 'fenced' }): boolean {
    const { batch, isInDoubt } = sending
    const isFenced = ({ shard }: { readonly shard: number }) => shards.includes(shard)
    const fenced = { shards: batch.shards.filter(isFenced), records: batch.records.filter(isFenced) }
    assert(fenced.shards.length > 0, 'Cannot take fenced shards out of a batch: it has none of them')
    const isLeft = (of: { readonly shard: number }) => !isFenced(of)
    sending.batch = { shards: batch.shards.filter(isLeft), records: batch.records.filter(isLeft) }
    sending.onFenced({ batch: fenced, cause, isInDoubt })
    return sending.batch.records.length === 0
  }

  /**
   * An earlier send of the batch may still commit, and sending it again does not help. Once our own epochs are higher, no earlier
   * send can commit any more (J5), so what is stored then is final.
   * @param unwritten the outcome of the batch if it is not stored
   */
  async #settleDoubt(sending: Sending, unwritten: BatchOutcome): Promise<BatchOutcome> {
    let renewal = this.#newRenewalId()
    for (;;) {
      const renewed = await this.#store.renewEpochs(sending.batch.shards, renewal)
      if (!('kind' in renewed)) {
        this.#noteEpochs(renewed)
        break
      }
      if (renewed.kind === 'fenced') {
        if (this.#isAllFenced(sending, renewed)) return FENCED
        renewal = this.#newRenewalId()
        continue
      }
      if (renewed.kind !== 'retry') this.#store.reconnect()
      await sleep(this.#clock, RESEND_DELAY_MS)
    }
    for (;;) {
      const written = await this.#store.wasWritten(sending.batch)
      if (written !== null) return written ? DURABLE : unwritten
      await sleep(this.#clock, RESEND_DELAY_MS)
    }
  }

  #noteEpochs(renewed: readonly ShardEpoch[]): void {
    for (const { shard, epoch } of renewed) this.#epochs[shard] = epoch
  }
}
