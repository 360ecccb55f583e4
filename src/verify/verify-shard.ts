import { type Link, nextLink } from '../core/journal/chain.ts'
import type { ChainKey } from '../core/journal/chain-key.ts'
import type { Month } from '../core/journal/month.ts'
import { shardOf } from '../core/journal/shard.ts'
import { entryName, type Findings } from './findings.ts'
import type { LogEntry, LogPosition, ShardExtent, VerifyStore } from './verify-store.ts'

/** Reads the log of one shard, page by page, and checks its numbers, its months and its chain. */
export async function verifyShard(input: {
  readonly store: Pick<VerifyStore, 'log'>
  readonly extent: ShardExtent
  /** Null when it is missing, or SECRET_KEY does not open it. */
  readonly key: ChainKey | null
  readonly limit: number
  readonly found: Findings
}): Promise<void> {
  const { store, extent, key, limit, found } = input
  const check = new ShardCheck(extent, key, found)
  for (let after: LogPosition | null = null; ; ) {
    const page: readonly LogEntry[] = await store.log(extent.shard, { after, until: extent.lastSeq, limit })
    for (const entry of page) check.take(entry)
    const last = page.at(-1)
    if (last === undefined || page.length < limit) break
    after = { seq: last.seq, month: last.month }
  }
  check.end()
}

/** Takes the entries of a shard in order. Every one that is not as it was written is named. */
export class ShardCheck {
  readonly #extent: ShardExtent
  readonly #key: ChainKey | null
  readonly #found: Findings
  #lastSeq: number
  #lastMonth: Month = ''
  #lastLink: Link
  #entries = 0
  /** Entries where by the mark there are none. */
  #beforeMark: { readonly from: number; readonly to: number } | null = null

  constructor(extent: ShardExtent, key: ChainKey | null, found: Findings) {
    this.#extent = extent
    this.#key = key
    this.#found = found
    this.#lastSeq = extent.mark
    this.#lastLink = extent.markLink
  }

  take(entry: LogEntry): void {
    const { seq } = entry
    this.#entries += 1
    this.#found.entries += 1
    if (seq <= this.#extent.mark) {
      this.#beforeMark = { from: this.#beforeMark?.from ?? seq, to: seq }
      return
    }
    this.#checkNumber(seq)
    if (entry.month < this.#lastMonth)
      this.#add('journal', seq, `the entry is stored under ${entry.month}, the one before it under ${this.#lastMonth}`)
    if (shardOf(entry.agencyId) !== this.#extent.shard)
      this.#add('journal', seq, `the entry belongs to shard ${shardOf(entry.agencyId)}`)
    this.#checkLink(entry)
    this.#lastSeq = seq
    this.#lastMonth = entry.month
    this.#lastLink = entry.link
  }

  end(): void {
    const { mark, shard } = this.#extent
    if (this.#beforeMark !== null) {
      const { from, to } = this.#beforeMark
      this.#add('journal', from, `entries ${from} to ${to} exist, but the log of shard ${shard} begins after ${mark}`)
    }
    if (this.#key === null && this.#entries > 0)
      this.#found.add(
        'chain',
        null,
        `${shard}`,
        'the chain cannot be checked: its key is missing, or SECRET_KEY does not open it',
      )
  }

  #checkNumber(seq: number): void {
    const last = this.#lastSeq
    if (seq === last) this.#add('journal', seq, 'the number is used twice (J3)')
    else if (seq === last + 2) this.#add('journal', last + 1, 'the entry is missing (J3)')
    else if (seq !== last + 1) this.#add('journal', last + 1, `entries ${last + 1} to ${seq - 1} are missing (J3)`)
  }

  /** What comes after a broken link is checked against the link as it is stored: each change is named once. */
  #checkLink(entry: LogEntry): void {
    if (this.#key === null || entry.seq <= this.#key.since) return
    if (!Buffer.from(nextLink(this.#key.key, this.#lastLink, entry)).equals(entry.link))
      this.#add('chain', entry.seq, 'the chain is broken: the entry, or the one before it, is not as it was written')
  }

  #add(what: 'journal' | 'chain', seq: number, message: string): void {
    this.#found.add(what, null, entryName(this.#extent.shard, seq), message)
  }
}
