/**
 * The logs of the shards, as this writer continues them: of all, or of those that it owns now.
 *
 * - J1 One append in flight per shard: a batch holds its shards until all of it is settled.
 * - J3 Sequence numbers are assigned here, without gaps in each shard.
 */
import { assert } from '../../lib/assert.ts'
import { encodeBatch, headAt, type LogEnd, type ShardHead } from './batch.ts'
import type { EncodedEntry } from './entry-codec.ts'
import type { NumberedRecord, WriterTerm } from './journal-store.ts'
import type { JournalRecord } from './record.ts'
import type { Month } from './shard.ts'
import { NO_LINK, SHARDS } from './shard.ts'

/** Of a shard that was never this writer's: below every epoch. */
const NO_EPOCH = -1
const NO_HEAD: ShardHead = { lastSeq: 0, lastMonth: '', lastLink: NO_LINK }

export class ShardLogs {
  /** By shard, of this writer. They rise whenever a doubt has to be settled. */
  readonly epochs: number[]
  /** By shard. */
  readonly #heads: ShardHead[]
  readonly #chainKeys: readonly Uint8Array[]
  #newestMonth: Month
  readonly #held = new Set<number>()
  /** Null: all, for good. */
  readonly #owned: Set<number> | null

  /**
   * @param options.chainKeys by shard
   * @param options.isPartial the process owns the shards of the term, and may get others and lose some
   */
  constructor(options: { term: WriterTerm; chainKeys: readonly Uint8Array[]; isPartial?: boolean }) {
    const { term, chainKeys, isPartial = false } = options
    const isWhole = isPartial || term.shards.length === SHARDS
    assert(isWhole && chainKeys.length === SHARDS, 'Cannot open the journal: a shard is missing')
    this.epochs = new Array<number>(SHARDS).fill(NO_EPOCH)
    this.#heads = Array.from({ length: SHARDS }, () => NO_HEAD)
    this.#chainKeys = chainKeys
    this.#newestMonth = term.newestMonth
    this.#owned = isPartial ? new Set() : null
    this.adopt(term)
  }

  /** Whether this writer may append to the shard. */
  isOwned(shard: number): boolean {
    return this.#owned === null || this.#owned.has(shard)
  }

  /** Shards were taken over, at these ends of their logs. */
  adopt({ shards, newestMonth }: WriterTerm): void {
    for (const { shard, epoch, lastSeq, lastMonth, lastLink } of shards) {
      assert(!this.#held.has(shard), `Cannot adopt shard ${shard}: a batch of it is in flight`)
      this.epochs[shard] = epoch
      this.#heads[shard] = { lastSeq, lastMonth, lastLink }
      this.#owned?.add(shard)
    }
    this.setNewestMonth(newestMonth)
  }

  /** Nothing more is appended to these shards, beyond the batches in flight. */
  retire(shards: Iterable<number>): void {
    assert(this.#owned !== null, 'Cannot retire shards: this process is the only writer')
    for (const shard of shards) this.#owned.delete(shard)
  }

  epochOf(shard: number): number {
    const epoch = this.epochs[shard]
    assert(epoch !== undefined, `Cannot tell the epoch of shard ${shard}: there is no such shard`)
    return epoch
  }

  /** The end of the shard's log: everything that this process knows to be durable. */
  headOf(shard: number): ShardHead {
    const head = this.#heads[shard]
    assert(head !== undefined, `Cannot tell the end of a log: there is no shard ${shard}`)
    return head
  }

  /** The newest month that is known to have partitions; empty: a node that has had no shard yet knows none. */
  get newestMonth(): Month {
    return this.#newestMonth
  }

  /** Partitions now exist up to this month. Ignored if a newer month is already known. */
  setNewestMonth(month: Month): void {
    if (month > this.#newestMonth) this.#newestMonth = month
  }

  /** Whether a batch of the shard is in flight. */
  isHeld(shard: number): boolean {
    return this.#held.has(shard)
  }

  /** Called with the shards of a batch before its records are numbered. */
  hold(shards: ReadonlySet<number>): void {
    for (const shard of shards) {
      assert(!this.#held.has(shard), `Cannot send a batch: another one of shard ${shard} is in flight`)
      this.#held.add(shard)
    }
  }

  /** Called when nothing of the batch is open any more. */
  release(shards: ReadonlySet<number>): void {
    for (const shard of shards) this.#held.delete(shard)
  }

  /** Numbers and encodes records of shards that are held. What is not written leaves its numbers to the next call. */
  numbered(records: readonly JournalRecord[]): NumberedRecord[] {
    const log: LogEnd = { heads: this.#heads, chainKeys: this.#chainKeys, newestMonth: this.#newestMonth }
    const numbered = encodeBatch(records, log)
    for (const { shard } of numbered)
      assert(this.#held.has(shard), `Cannot number a record: shard ${shard} is not held`)
    return numbered
  }

  /** An entry is durable: its shard's log now ends with it. */
  advance(entry: EncodedEntry): void {
    this.#heads[entry.shard] = headAt(entry)
  }
}
