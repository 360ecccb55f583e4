import { type EntryPart, groupIn, partIn } from '../core/journal/entry-codec.ts'
import type { ChainKey, Month } from '../core/journal/shard.ts'
import { coveredText, type Link, nextLink, shardOf } from '../core/journal/shard.ts'
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
class ShardCheck {
  readonly #extent: ShardExtent
  readonly #key: ChainKey | null
  readonly #found: Findings
  #entries = 0
  #isPastMark = false
  #lastSeq: number
  #lastMonth: Month = ''
  #lastLink: Link
  /** The next entry of the current record; null if the last entry completed its record. */
  #next: EntryPart | null = null
  /** The group of the booking that the last entry created; null if it created none of a group. */
  #group: string | null = null

  constructor(extent: ShardExtent, key: ChainKey | null, found: Findings) {
    this.#extent = extent
    this.#key = key
    this.#found = found
    this.#lastSeq = extent.base
    this.#lastLink = extent.baseLink
  }

  take(entry: LogEntry): void {
    const { seq, month, agencyId, link } = entry
    const { shard, base, mark } = this.#extent
    this.#entries += 1
    this.#found.entries += 1
    if (seq <= base) {
      this.#add('journal', seq, `the entry exists, but those up to ${base} were archived`)
      return
    }
    if (seq > mark) this.#passMark()
    this.#checkNumber(seq)
    if (month < this.#lastMonth)
      this.#add('journal', seq, `the entry is stored under ${month}, the one before it under ${this.#lastMonth}`)
    if (shardOf(agencyId) !== shard) this.#add('journal', seq, `the entry belongs to shard ${shardOf(agencyId)}`)
    this.#checkLink(entry)
    this.#checkPart(entry)
    this.#lastSeq = seq
    this.#lastMonth = month
    this.#lastLink = link
  }

  end(): void {
    this.#passMark()
    if (this.#next !== null) this.#add('journal', this.#lastSeq, tornMessage(this.#next))
    if (this.#key === null && this.#entries > 0)
      this.#found.add(
        'chain',
        null,
        `${this.#extent.shard}`,
        'the chain cannot be checked: its key is missing, or SECRET_KEY does not open it',
      )
  }

  #passMark(): void {
    if (this.#isPastMark) return
    this.#isPastMark = true
    const { base, mark, markLink } = this.#extent
    if (mark < base) this.#add('journal', base, 'the mark of the shard is before the last archived entry')
    if (!isSame(this.#lastLink, markLink))
      this.#add('chain', mark, 'the mark of the shard does not have the link of the last entry up to it')
    this.#lastSeq = Math.max(this.#lastSeq, mark)
  }

  #checkNumber(seq: number): void {
    const last = this.#lastSeq
    if (seq === last) this.#add('journal', seq, 'the number is used twice (J3)')
    else if (!this.#isPastMark) return
    else if (seq === last + 2) this.#add('journal', last + 1, 'the entry is missing (J3)')
    else if (seq > last + 2) this.#add('journal', last + 1, `entries ${last + 1} to ${seq - 1} are missing (J3)`)
  }

  /** What comes after a broken link is checked against the link as it is stored: each change is named once. */
  #checkLink(entry: LogEntry): void {
    if (this.#key === null || entry.seq <= this.#key.since) return
    if (!isSame(nextLink(this.#key.key, this.#lastLink, coveredText(entry)), entry.link))
      this.#add(
        'chain',
        entry.seq,
        'the chain is broken: the entry, or the one before it, is not as it was written (J7)',
      )
  }

  /** The entries of a record follow one another without a gap (J9). */
  #checkPart(entry: LogEntry): void {
    const next = this.#next
    const part = readIn(partIn, entry)
    const isNext = next === null ? part === null || part[0] === 1 : part?.[0] === next[0] && part[1] === next[1]
    if (next !== null && !isNext) this.#add('journal', this.#lastSeq, tornMessage(next))
    else if (part !== null && !isNext)
      this.#add(
        'journal',
        entry.seq,
        `the entry is number ${part[0]} of ${part[1]} of its record, and does not follow the others (J9)`,
      )
    this.#next = part === null || part[0] >= part[1] ? null : [part[0] + 1, part[1]]
    this.#checkGroup(entry, part)
  }

  /** The bookings of a group are made by all entries of one record, and by no other record. */
  #checkGroup(entry: LogEntry, part: EntryPart | null): void {
    const group = readIn(groupIn, entry)
    const isWithOthers = part === null ? group === null : part[0] === 1 || group === this.#group
    if (!isWithOthers)
      this.#add('journal', entry.seq, 'the booking was not made together with the others of its group (J9)')
    this.#group = group
  }

  #add(what: 'journal' | 'chain', seq: number, message: string): void {
    this.#found.add(what, null, entryName(this.#extent.shard, seq), message)
  }
}

/** If an entry cannot be read, the checks of the chain and of its unit report it. */
function readIn<T>(read: (entry: LogEntry) => T | null, entry: LogEntry): T | null {
  try {
    return read(entry)
  } catch {
    return null
  }
}

function tornMessage([number, of]: EntryPart): string {
  return `the entry is number ${number - 1} of ${of} of its record, and is not followed by the next (J9)`
}

function isSame(a: Link, b: Link): boolean {
  return Buffer.from(a).equals(b)
}
