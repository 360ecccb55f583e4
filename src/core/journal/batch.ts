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
    const { agencyId, entry } = record
    const shard = shardOf(agencyId)
    if (entry === undefined) return { shard, record, entry: null }
    const head = heads.get(shard) ?? log.heads[shard]
    const chainKey = log.chainKeys[shard]
    assert(head !== undefined && chainKey !== undefined, `Cannot number an entry: shard ${shard} is not known`)
    const seq = head.lastSeq + 1
    const month = storageMonth(entry.at, { last: head.lastMonth, newest: log.newestMonth })
    const encoded = encodeEntry(agencyId, entry, { shard, seq, month, previousLink: head.lastLink, chainKey })
    heads.set(shard, headAt(encoded))
    return { shard, record, entry: encoded }
  })
}

/** The end of a shard's log whose last entry this is. */
export function headAt({ seq, month, link }: { seq: number; month: Month; link: Link }): ShardHead {
  return { lastSeq: seq, lastMonth: month, lastLink: link }
}
