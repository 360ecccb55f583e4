/**
 * One group commit.
 *
 * - J3 Sequence numbers are given here, without gaps in each shard, in the order of the records.
 * - J9 A record is all or nothing: its entries have consecutive numbers, and if there are several, each says how many there are.
 */

import { assert, unreachable } from '../../lib/assert.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { type EncodedEntry, type EntryPart, encodeEntry } from './entry-codec.ts'
import type { BatchToAppend, LaneStore, NumberedRecord, ShardEpoch, ShardsFenced } from './journal-store.ts'
import type { Entry, JournalRecord } from './record.ts'
import { type Link, type Month, shardOf, storageMonth } from './shard.ts'

/** The end of a shard's log. */
export interface ShardHead {
  /** Of the last entry; the shard's mark when there is none. */
  readonly lastSeq: number
  readonly lastMonth: Month
  readonly lastLink: Link
}

/** The ends of all logs, and what is needed to continue them. */
export interface LogEnd {
  /** By shard. */
  readonly heads: readonly ShardHead[]
  /** Of the chains, by shard. */
  readonly chainKeys: readonly Uint8Array[]
  readonly newestMonth: Month
}

/** Numbers, encodes and links the entries of a batch, each once, so that they continue the logs of their shards. */
export function encodeBatch(records: readonly JournalRecord[], log: LogEnd): NumberedRecord[] {
  const heads = new Map<number, ShardHead>()
  return records.map((record) => {
    const { agencyId, entries = NO_ENTRIES } = record
    const shard = shardOf(agencyId)
    return { shard, record, entries: entries.map((entry, i) => encodeNext(record, shard, entry, partOf(entries, i))) }
  })

  function encodeNext(
    { agencyId, writtenAt }: JournalRecord,
    shard: number,
    entry: Entry,
    part: EntryPart | undefined,
  ): EncodedEntry {
    const head = heads.get(shard) ?? log.heads[shard]
    const chainKey = log.chainKeys[shard]
    assert(head !== undefined && chainKey !== undefined, `Cannot number an entry: shard ${shard} is not known`)
    const seq = head.lastSeq + 1
    const month = storageMonth(writtenAt ?? entry.at, { last: head.lastMonth, newest: log.newestMonth })
    const encoded = encodeEntry(agencyId, entry, { shard, seq, month, previousLink: head.lastLink, chainKey, part })
    heads.set(shard, headAt(encoded))
    return encoded
  }
}

const NO_ENTRIES: readonly Entry[] = []

/** Undefined for the only entry of a record. */
function partOf({ length }: readonly Entry[], i: number): EntryPart | undefined {
  return length === 1 ? undefined : [i + 1, length]
}

/** The end of a shard's log whose last entry this is. */
export function headAt({ seq, month, link }: { seq: number; month: Month; link: Link }): ShardHead {
  return { lastSeq: seq, lastMonth: month, lastLink: link }
}

/** A batch that took less than this lets the limit grow again. */
const QUICK_APPEND_MS = 500

/** How many records a batch may have: fewer after batches were too slow for the database. */
export class BatchLimit {
  readonly #configured: number
  readonly #divisor: number
  #max: number

  /** @param divisor what is left of a batch that was too slow: a half, or less where each attempt costs seconds for everybody else */
  constructor(configured: number, { divisor = 2 }: { divisor?: number } = {}) {
    this.#configured = configured
    this.#divisor = divisor
    this.#max = configured
  }

  get max(): number {
    return this.#max
  }

  /** A batch of this size was cancelled at its timeout. */
  noteTooSlow(size: number): void {
    this.#max = Math.max(1, Math.floor(size / this.#divisor))
  }

  /** A batch became durable. The limit grows by an eighth at a time, while the database is quick. */
  noteDurable(size: number, ms: number): void {
    if (size < this.#max || ms >= QUICK_APPEND_MS) return
    this.#max = Math.min(this.#configured, this.#max + Math.ceil(this.#max / 8))
  }
}

/** Pause between two sends of a batch, for a database that refuses immediately. */
const RESEND_DELAY_MS = 20

/** The outcome of what was left of a batch. Every kind but `durable` means that it is not written. */
type BatchOutcome =
  | { readonly kind: 'durable' }
  | { readonly kind: 'given_back' }
  | { readonly kind: 'too_slow' }
  /** The server refused for now: one of its shards may be locked, and not the others (J8). */
  | { readonly kind: 'held_up' }
  | { readonly kind: 'poison'; readonly cause: unknown }
  /** Nothing was left: all of its shards belong to other writers. */
  | { readonly kind: 'fenced' }

const DURABLE: BatchOutcome = { kind: 'durable' }
const FENCED: BatchOutcome = { kind: 'fenced' }

interface BatchOf<R extends NumberedRecord> extends BatchToAppend {
  readonly records: readonly R[]
}

/** The part of a batch whose shards belong to another writer now. */
export interface FencedPart<R extends NumberedRecord> {
  readonly batch: BatchOf<R>
  readonly cause: unknown
  /** An earlier send may have committed before the fence rose. */
  readonly isInDoubt: boolean
}

interface Sending<R extends NumberedRecord> {
  /** What is left of the batch. */
  batch: BatchOf<R>
  isInDoubt: boolean
  readonly onFenced: (part: FencedPart<R>) => void
}

/**
 * Sends a batch until its outcome is known.
 *
 * - J3 After an unknown outcome the identical entries are sent again. An error response proves only that its own send was not
 *   written: while an earlier send is in doubt, no error means "not written". If sending again cannot settle the doubt (a data
 *   error, a batch that is too slow), this writer raises its own epochs, after which no earlier send can commit, and then
 *   checks what was written.
 * - J5 The records of a fenced shard leave the batch, and the rest is sent again. Whole shards leave, so what is left of a send
 *   that got through is there as a whole, and is found as a duplicate.
 */
export class BatchSender {
  readonly #store: LaneStore
  readonly #clock: Clock
  readonly #newRenewalId: () => string
  /** By shard. */
  readonly #epochs: number[]
  #resends = 0

  /** @param options.epochs by shard; those that have to be raised are raised here */
  constructor(options: {
    store: LaneStore
    clock: Clock
    epochs: number[]
    newRenewalId: () => string
  }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#newRenewalId = options.newRenewalId
    this.#epochs = options.epochs
  }

  /** The epoch of this writer. It rises whenever a doubt has to be settled. */
  epochOf(shard: number): number {
    const epoch = this.#epochs[shard]
    assert(epoch !== undefined, `Cannot tell the epoch of shard ${shard}: there is no such shard`)
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
   * @param options.onFenced called for shards that turn out to be fenced, before anything else is sent
   * @returns the records that were left, and the outcome that all of them have
   */
  async send<R extends NumberedRecord>(
    records: readonly R[],
    options: { isOverdue: () => boolean; onFenced: (part: FencedPart<R>) => void },
  ): Promise<{ outcome: BatchOutcome; left: readonly R[] }> {
    const sending = { batch: this.#batchOf(records), isInDoubt: false, onFenced: options.onFenced }
    const outcome = await this.#sendUntilKnown(sending, options.isOverdue)
    return { outcome, left: sending.batch.records }
  }

  async #sendUntilKnown<R extends NumberedRecord>(
    sending: Sending<R>,
    isOverdue: () => boolean,
  ): Promise<BatchOutcome> {
    for (;;) {
      const outcome = await this.#store.appendBatch(sending.batch)
      if (outcome === 'durable') return DURABLE
      switch (outcome.kind) {
        case 'fenced':
          leaveOut(sending, outcome)
          if (sending.batch.records.length === 0) return FENCED
          this.#resends += 1
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
          if (sending.isInDoubt) break
          this.#resends += 1
          await sleep(this.#clock, RESEND_DELAY_MS)
          return { kind: 'held_up' }
        default:
          unreachable(outcome)
      }
      this.#resends += 1
      await sleep(this.#clock, RESEND_DELAY_MS)
      if (!sending.isInDoubt && isOverdue()) return { kind: 'given_back' }
    }
  }

  #batchOf<R extends NumberedRecord>(records: readonly R[]): BatchOf<R> {
    const shards = [...new Set(records.map(({ shard }) => shard))].sort((a, b) => a - b)
    return { shards: shards.map((shard) => ({ shard, epoch: this.epochOf(shard) })), records }
  }

  /**
   * An earlier send of the batch may still commit, and sending it again does not help. Once our own epochs are higher, no earlier
   * send can commit any more (J5), so what is stored then is final.
   * @param unwritten the outcome of the batch if it is not stored
   */
  async #settleDoubt<R extends NumberedRecord>(sending: Sending<R>, unwritten: BatchOutcome): Promise<BatchOutcome> {
    // One for all attempts, whichever shards are left: an attempt whose reply was lost may have raised epochs, and a retry under
    // another id would take those for another writer's.
    const renewal = this.#newRenewalId()
    for (;;) {
      const renewed = await this.#store.renewEpochs(sending.batch.shards, renewal)
      if (!('kind' in renewed)) {
        this.#noteEpochs(renewed)
        break
      }
      if (renewed.kind === 'fenced') {
        leaveOut(sending, renewed)
        if (sending.batch.records.length === 0) return FENCED
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

/** Takes the records of fenced shards out of the batch, and says so. */
function leaveOut<R extends NumberedRecord>(sending: Sending<R>, { shards, cause }: ShardsFenced): void {
  const { batch, isInDoubt } = sending
  const isFenced = ({ shard }: { readonly shard: number }) => shards.includes(shard)
  const isLeft = (of: { readonly shard: number }) => !isFenced(of)
  const fenced = { shards: batch.shards.filter(isFenced), records: batch.records.filter(isFenced) }
  assert(fenced.shards.length > 0, 'Cannot leave fenced shards out of a batch: it has none of them')
  sending.batch = { shards: batch.shards.filter(isLeft), records: batch.records.filter(isLeft) }
  sending.onFenced({ batch: fenced, cause, isInDoubt })
}
