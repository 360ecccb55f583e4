import type { AsOfPlace, AsOfRows } from '../../src/core/bookings/units-as-of.ts'
import type { StoredEntry } from '../../src/core/journal/entry-codec.ts'
import type { UnitAddress } from '../../src/core/journal/recovery.ts'
import type { JournalRow, MemoryJournalStore } from './memory-journal-store.ts'

const SETS: readonly string[] = ['unit_set', 'rates_set']

/** `unit_as_of` and `entries_of_unit` over a journal in memory, with the same answers. */
export class MemoryAsOfRows implements AsOfRows {
  readonly #store: MemoryJournalStore
  /** Entries of each page that was read, in order. */
  readonly pages: number[] = []
  /** The last archived entry of each unit; its entries up to it are no longer in the journal. */
  readonly archived = new Map<string, number>()
  /** Everything archived is older. */
  oldestAt = Number.NEGATIVE_INFINITY
  /** Runs before each page. */
  beforePage: () => void | Promise<void> = () => {}
  readonly caller = new AbortController()

  constructor(store: MemoryJournalStore) {
    this.#store = store
  }

  inTurn<T>(_agencyId: string, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return read(this.caller.signal)
  }

  async find({ unitId }: UnitAddress, at: number): Promise<AsOfPlace> {
    const entries = this.#entriesOf(unitId)
    const archivedSeq = this.archived.get(unitId) ?? 0
    const last = entries.findLast((entry) => entry.at <= at)
    const untilSeq = last?.seq ?? (archivedSeq > 0 && at >= this.oldestAt ? archivedSeq : null)
    const upTo = ({ seq }: { seq: number }) => untilSeq !== null && seq <= untilSeq
    return {
      untilSeq,
      archivedSeq,
      setSeq: entries.findLast((entry) => upTo(entry) && SETS.includes(entry.kind))?.seq ?? null,
      snapshots: this.#store.snapshots
        .filter((snapshot) => snapshot.unitId === unitId && upTo(snapshot))
        .sort((a, b) => b.seq - a.seq),
    }
  }

  async entries(
    { unitId }: UnitAddress,
    { after, place: { untilSeq, setSeq }, limit }: { after: number; place: AsOfPlace; limit: number },
  ): Promise<readonly StoredEntry[] | null> {
    await this.beforePage()
    if ((this.archived.get(unitId) ?? 0) > after) return null
    const page = this.#entriesOf(unitId)
      .filter(({ seq, kind }) => seq > after && seq <= (untilSeq ?? 0) && (!SETS.includes(kind) || seq === setSeq))
      .slice(0, limit)
      .map((row): StoredEntry => {
        const { seq, otherUnitId, bookingId, kind, payload, checksum } = row
        return { seq, unitId: row.unitId, otherUnitId, bookingId, kind, payload, checksum }
      })
    this.pages.push(page.length)
    return page
  }

  #entriesOf(unitId: string): JournalRow[] {
    return this.#store.journal.filter((row) => row.unitId === unitId || row.otherUnitId === unitId)
  }
}
