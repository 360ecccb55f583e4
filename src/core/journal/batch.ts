/**
 * One group commit.
 *
 * - J3 Sequence numbers are given here, without gaps in each shard, in the order of the records.
 */
import { assert } from '../../lib/assert.ts'
import type { Link } from './chain.ts'
import { encodeEntry } from './entry-codec.ts'
import type { NumberedRecord } from './journal-store.ts'
import { type Month, storageMonth } from './month.ts'
import type { JournalRecord } from './record.ts'
import { shardOf } from './shard.ts'

/** The end of a shard's log. */
export interface ShardHead {
  /** Of the last entry; the shard's mark when there is none. */
  readonly lastSeq: number
  readonly lastMonth: Month
  readonly lastLink: Link
}

export interface EncodedBatch {
  readonly records: readonly NumberedRecord[]
  /** Of the shards that the batch has entries of, as they are once it is durable. */
  readonly heads: ReadonlyMap<number, ShardHead>
}

/** Each entry is encoded once, here. */
export function encodeBatch(
  records: readonly JournalRecord[],
  log: {
    readonly heads: readonly ShardHead[]
    /** By shard. */
    readonly chainKeys: readonly Uint8Array[]
    readonly newestMonth: Month
  },
): EncodedBatch {
  const heads = new Map<number, ShardHead>()
  const numbered = records.map((record): NumberedRecord => {
    const { agencyId, entry } = record
    const shard = shardOf(agencyId)
    if (entry === undefined) return { shard, record, entry: null }
    const head = heads.get(shard) ?? log.heads[shard]
    const chainKey = log.chainKeys[shard]
    assert(head !== undefined && chainKey !== undefined, `Cannot number an entry: shard ${shard} is not known`)
    const seq = head.lastSeq + 1
    const month = storageMonth(entry.at, { last: head.lastMonth, newest: log.newestMonth })
    const encoded = encodeEntry(agencyId, entry, { shard, seq, month, previousLink: head.lastLink, chainKey })
    heads.set(shard, { lastSeq: seq, lastMonth: month, lastLink: encoded.link })
    return { shard, record, entry: encoded }
  })
  return { records: numbered, heads }
}
