import { NO_LINK, shardOf } from '../../src/core/journal/shard.ts'
import { type ChangeEntry, type ChangeRows, isShown, type ReadChanges } from '../../src/events/changes/change-page.ts'
import { fingerprintOf } from '../../src/events/changes/cursor.ts'
import type { JournalRow, MemoryJournalStore } from './memory-journal-store.ts'

type Asked = Parameters<ChangeRows['read']>[1]

/** `changes_after` over a journal in memory, with the same answers. */
export class MemoryChangeRows implements ChangeRows {
  readonly #store: MemoryJournalStore
  /** What was asked, in order. */
  readonly reads: (Asked & { readonly agencyId: string })[] = []
  /** Runs before each answer, which has been read by then. */
  delay: () => Promise<void> = async () => {}

  constructor(store: MemoryJournalStore) {
    this.#store = store
  }

  async read(agencyId: string, params: Asked): Promise<ReadChanges | null> {
    this.reads.push({ agencyId, ...params })
    const read = this.#read(agencyId, params)
    await this.delay()
    return read
  }

  #read(agencyId: string, { from, entriesMax, shown }: Asked): ReadChanges | null {
    const shard = shardOf(agencyId)
    const log = this.#store.journal.filter((row) => row.shard === shard)
    const end = { seq: this.#store.headOf(shard).lastSeq, fingerprint: fingerprintOf(log.at(-1)?.link ?? NO_LINK) }
    if (from !== 'start') {
      const last = log.findLast(({ seq }) => seq <= from.seq)
      if (from.seq > end.seq || from.fingerprint !== fingerprintOf(last?.link ?? NO_LINK)) return null
    }
    const after = from === 'start' ? 0 : from.seq
    const entries = log.filter((row) => row.agencyId === agencyId && isShown(shown, row) && row.seq > after)
    return { end, entries: entries.slice(0, entriesMax).map((row) => this.#entryOf(row)) }
  }

  #entryOf(row: JournalRow): ChangeEntry {
    const sourceRef = this.#store.bookings.get(row.bookingId ?? '')?.booking.sourceRef ?? null
    return { ...row, sourceRef, fingerprint: fingerprintOf(row.link) }
  }
}
