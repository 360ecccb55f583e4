import type { BookingRow } from '../../src/core/bookings/booking-turns.ts'
import { isUnitSet } from '../../src/core/domain/booking.ts'
import { decodeEntry } from '../../src/core/journal/entry-codec.ts'
import { shardOf } from '../../src/core/journal/shard.ts'
import type { StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import type { JournalRow, ShardRow } from '../support/memory-journal-store.ts'
import type { SimStore } from './sim-store.ts'

/** All of a database at one moment: what a standby has that was cut off from its primary then. */
export interface Moment {
  readonly entries: number
  readonly answers: number
  readonly shards: readonly ShardRow[]
  readonly bookings: ReadonlyMap<string, BookingRow>
  readonly audit: SimStore['audit']
  readonly snapshots: readonly StoredSnapshot[]
  readonly ledger: { readonly historyId: string; readonly versionMark: number }
}

/** From when `after_restore` counts the seconds that versions continue from. */
const VERSIONS_SINCE = Date.UTC(2026, 0, 1)

/** What a database goes through that loses the end of its log: with all that was derived from it, since all is in one place. */
export class SimHistory {
  /** Of the ledger. */
  historyId = historyIdOf(0)
  versionMark = 0
  /** Rises whenever the log loses its end, or the ledger gets a new history. */
  generation = 0
  /** Entries that were in the log once. Some may be there again: of a batch that was in doubt, and was sent again. */
  readonly lost: JournalRow[] = []
  /** Marks that were in use, by shard: the number after one of them follows any number. */
  readonly marks = new Map<number, Set<number>>()
  /** Shards whose writer is of a version that writes snapshots without looking at the log. The next one is not. */
  readonly oldVersion = new Set<number>()
  /** What was given twice. */
  readonly broken: string[] = []
  /** At the last restore: the highest version of each booking that anybody may have seen, and the highest number of each shard. */
  readonly #seenVersions = new Map<string, number>()
  readonly #seenSeqs = new Map<number, number>()
  readonly #store: SimStore

  constructor(store: SimStore) {
    this.#store = store
  }

  moment(): Moment {
    const { journal, idempotency, shards, bookings, audit, snapshots } = this.#store
    return {
      entries: journal.length,
      answers: idempotency.length,
      snapshots: [...snapshots],
      shards: shards.map((row) => ({ ...row })),
      bookings: new Map(bookings),
      audit: new Map(audit),
      ledger: { historyId: this.historyId, versionMark: this.versionMark },
    }
  }

  /** Its standby takes the place of a primary that is lost for good. */
  failOverTo(moment: Moment): void {
    const { journal, idempotency, shards, snapshots } = this.#store
    this.#store.failOver()
    this.generation += 1
    this.lost.push(...journal.splice(moment.entries))
    idempotency.length = moment.answers
    snapshots.splice(0, snapshots.length, ...moment.snapshots)
    for (const [shard, row] of moment.shards.entries()) Object.assign(shards[shard] ?? {}, row)
    replace(this.#store.bookings, moment.bookings)
    replace(this.#store.audit, moment.audit)
    Object.assign(this, moment.ledger)
  }

  /** As `after_restore`, at `now` of the database's clock. */
  afterRestore(now: number): void {
    const store = this.#store
    this.generation += 1
    this.historyId = historyIdOf(this.generation)
    for (const [shard, row] of store.shards.entries()) {
      const last = Math.max(row.mark, store.headOf(shard).lastSeq)
      const mark = Math.max(last + 1_000_000, now * 1_000)
      Object.assign(row, { epoch: row.epoch + 1, holder: 'after-restore', renewal: null, mark })
      this.marks.set(shard, (this.marks.get(shard) ?? new Set()).add(mark))
    }
    store.cutBackSnapshots(new Set(store.shards.keys()))
    for (const row of [...this.lost, ...store.journal]) this.#noteSeen(row)
    if (store.unchecked === 'versions') return
    this.versionMark = Math.max(this.versionMark + 1, Math.floor((now - VERSIONS_SINCE) / 1_000))
    for (const [id, { booking, ...row }] of store.bookings) {
      const version = Math.max(booking.version + 1, this.versionMark)
      store.bookings.set(id, { ...row, booking: { ...booking, version } })
    }
  }

  /** Whether the log does not have what the snapshot includes. */
  isAhead({ agencyId, seq }: StoredSnapshot): boolean {
    const shard = shardOf(agencyId)
    return seq > (this.#store.journal.findLast((row) => row.shard === shard)?.seq ?? 0)
  }

  noteTaken(shards: ReadonlySet<number>): void {
    for (const shard of shards) this.oldVersion.delete(shard)
  }

  noteWritten(rows: readonly JournalRow[]): void {
    if (this.#seenSeqs.size === 0) return
    for (const row of rows) {
      const { shard, seq, id } = row
      if (seq <= (this.#seenSeqs.get(shard) ?? 0)) this.broken.push(`S3: number ${shard}/${seq} was given twice`)
      const event = decodeEntry(row)
      if (isUnitSet(event)) continue
      const { id: bookingId, version } = event.after
      if (version <= (this.#seenVersions.get(bookingId) ?? 0))
        this.broken.push(`S3: version ${version} of ${bookingId} was given twice, by ${id}`)
    }
  }

  #noteSeen(row: JournalRow): void {
    this.#seenSeqs.set(row.shard, Math.max(row.seq, this.#seenSeqs.get(row.shard) ?? 0))
    const event = decodeEntry(row)
    if (isUnitSet(event)) return
    const { id, version } = event.after
    this.#seenVersions.set(id, Math.max(version, this.#seenVersions.get(id) ?? 0))
  }
}

function replace<K, V>(map: Map<K, V>, by: ReadonlyMap<K, V>): void {
  map.clear()
  for (const [key, value] of by) map.set(key, value)
}

function historyIdOf(generation: number): string {
  return `${generation.toString(16).padStart(8, '0')}-0506-4708-890a-0b0c0d0e0f10`
}
