import type { BookingRow, BookingRows } from '../../src/core/bookings/booking-turns.ts'
import { headAt, type ShardHead } from '../../src/core/journal/batch.ts'
import type { EncodedEntry, StoredEntry } from '../../src/core/journal/entry-codec.ts'
import type {
  AppendFailure,
  BatchToAppend,
  JournalStore,
  LaneStore,
  NumberedRecord,
  ShardEpoch,
  StoredUnit,
  WriterTerm,
} from '../../src/core/journal/journal-store.ts'
import type { AuditDraft, IdempotencyDraft, JournalRecord } from '../../src/core/journal/record.ts'
import { NO_LINK, SHARDS } from '../../src/core/journal/shard.ts'
import type { StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import type { ExpiredHold } from '../../src/core/units/hold-timer.ts'

/** An entry as the table of the journal has it. */
export type JournalRow = Omit<EncodedEntry, 'booking'>

/** A row of the table `shard`. */
export interface ShardRow {
  epoch: number
  /** Of the last call that raised the epoch for its own writer. */
  renewal: string | null
  /** Of the last take-over. */
  holder: string
  /** No number up to this one is given any more, as after an archiving or a restore. */
  mark: number
}

/** The months that the journal has partitions for. */
const MONTHS = { oldest: '2026-01-01', newest: '2029-12-01' } as const

/**
 * What a test does to one send: let it through, lose it, lose only its reply, or refuse it. `read_only`: the server answers
 * that it takes no writes. `too_slow`: it cancels the statement.
 */
export type Fate =
  | 'deliver'
  | 'lose_request'
  | 'lose_reply'
  | 'refuse_connection'
  | 'refuse_for_now'
  | 'read_only'
  | 'too_slow'
  | 'poison'

/**
 * `append_batch` and its tables in memory, with the same answers: fences, gaps, duplicates, all or nothing. The fate of every
 * send can be chosen; what was sent is recorded.
 */
export class MemoryJournalStore implements JournalStore, LaneStore, BookingRows {
  readonly shards: readonly ShardRow[] = Array.from({ length: SHARDS }, () => ({
    epoch: 0,
    renewal: null,
    holder: '',
    mark: 0,
  }))
  /** Of all shards, in the order in which they became durable. */
  readonly journal: JournalRow[] = []
  readonly bookings = new Map<string, BookingRow>()
  /** The lines of the audit trail that no entry tells. */
  readonly audit = new Map<string, AuditDraft>()
  readonly idempotency: IdempotencyDraft[] = []
  readonly snapshots: StoredSnapshot[] = []
  readonly sends: BatchToAppend[] = []
  reconnects = 0
  /** Asked once per send, in order. */
  fate: (batch: BatchToAppend) => Fate = () => 'deliver'
  /** Runs between a send and its outcome, as the network and the disk would take their time. */
  delay: () => Promise<void> = async () => {}
  /** Records that the database refuses as data errors (class 22 or 23). */
  isPoison: (record: JournalRecord) => boolean = () => false

  async takeOver(holder = 'test'): Promise<WriterTerm> {
    return this.takeOverShards(this.shards.keys(), holder)
  }

  /** As a cluster does: some shards get another writer. @returns a term whose epochs of the other shards are those of nobody */
  takeOverShards(taken: Iterable<number>, holder: string): WriterTerm {
    const takenShards = new Set(taken)
    for (const shard of takenShards) Object.assign(this.#shard(shard), { epoch: this.#shard(shard).epoch + 1, holder })
    const shards = this.shards.map(({ epoch }, shard) => ({
      shard,
      epoch: takenShards.has(shard) ? epoch : -1,
      ...this.headOf(shard),
    }))
    return { shards, newestMonth: MONTHS.newest }
  }

  /** All lanes send through the same object: the order of `sends` is that of all lanes. */
  lane(_lane: number): LaneStore {
    return this
  }

  async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    this.sends.push(batch)
    const fate = this.fate(batch)
    await this.delay()
    switch (fate) {
      case 'refuse_connection':
        return { kind: 'not_sent', cause: new Error('connection refused') }
      case 'refuse_for_now':
        return { kind: 'retry', cause: new Error('lock not available') }
      case 'lose_request':
        return { kind: 'unknown', cause: new Error('connection lost') }
      case 'read_only':
        return { kind: 'refused', cause: new Error('cannot execute INSERT in a read-only transaction') }
      case 'too_slow':
        return { kind: 'too_slow', cause: new Error('canceling statement due to statement timeout') }
      case 'poison':
        return { kind: 'poison', cause: new Error('data exception') }
      case 'lose_reply': {
        this.write(batch)
        return { kind: 'unknown', cause: new Error('connection lost') }
      }
      case 'deliver':
        return this.write(batch)
    }
  }

  /** What the server does with a batch that reaches it. */
  protected write(batch: BatchToAppend): 'durable' | AppendFailure {
    const fenced = this.fencedIn(batch)
    if (fenced.length > 0) return { kind: 'fenced', shards: fenced, cause: new Error('fenced') }
    const { records } = batch
    const entries = entriesOf(batch)
    if (entries.length > 0 && entries.every((entry) => this.#isThere(entry))) {
      for (const record of records) if (record.entries.length === 0) this.#writeRecord(record)
      return 'durable'
    }
    const misplaced = this.#misplacedIn(entries)
    if (misplaced.length > 0) return { kind: 'fenced', shards: misplaced, cause: new Error('numbers taken, or a gap') }
    if (records.some(({ record }) => this.isPoison(record)))
      return { kind: 'poison', cause: new Error('data exception') }
    if (records.some(({ record }) => this.#isStale(record)))
      return { kind: 'poison', cause: new Error('version mismatch') }
    for (const record of records) this.#writeRecord(record)
    return 'durable'
  }

  /** The shards of a batch that belong to another writer. */
  protected fencedIn({ shards }: BatchToAppend): number[] {
    return shards.flatMap(({ shard, epoch }) => (this.#shard(shard).epoch === epoch ? [] : [shard]))
  }

  /** Whether an entry may follow the end of its shard's log. */
  protected follows(entry: JournalRow, { lastSeq, lastMonth }: ShardHead): boolean {
    return entry.seq === lastSeq + 1 && entry.month >= lastMonth
  }

  #misplacedIn(entries: readonly EncodedEntry[]): number[] {
    const heads = new Map<number, ShardHead>()
    const misplaced = entries.filter((entry) => {
      const head = heads.get(entry.shard) ?? this.headOf(entry.shard)
      heads.set(entry.shard, headAt(entry))
      return !this.follows(entry, head)
    })
    return [...new Set(misplaced.map(({ shard }) => shard))]
  }

  #isThere({ shard, seq, id }: EncodedEntry): boolean {
    return this.journal.some((row) => row.shard === shard && row.seq === seq && row.id === id)
  }

  #isStale({ entries = [] }: JournalRecord): boolean {
    return entries.some(({ event }) => {
      if (!('before' in event)) return false
      return this.bookings.get(event.after.id)?.booking.version !== event.after.version - 1
    })
  }

  #writeRecord({ record, entries }: NumberedRecord): void {
    const { agencyId, audit, idempotency } = record
    for (const [i, { booking: _, ...row }] of entries.entries()) {
      this.journal.push(row)
      const event = record.entries?.[i]?.event
      if (event !== undefined && 'after' in event)
        this.bookings.set(event.after.id, { agencyId, booking: event.after, seq: row.seq })
    }
    if (audit !== undefined) {
      const count = Math.max(audit.count, this.audit.get(audit.auditId)?.count ?? 0)
      this.audit.set(audit.auditId, { ...audit, count })
    }
    if (idempotency !== undefined) this.idempotency.push(idempotency)
  }

  async renewEpochs(shards: readonly ShardEpoch[], renewal: string): Promise<readonly ShardEpoch[] | AppendFailure> {
    const isRenewed = ({ shard, epoch }: ShardEpoch) =>
      this.#shard(shard).epoch === epoch + 1 && this.#shard(shard).renewal === renewal
    const fenced = shards.filter((of) => !isRenewed(of) && this.#shard(of.shard).epoch !== of.epoch)
    if (fenced.length > 0)
      return { kind: 'fenced', shards: fenced.map(({ shard }) => shard), cause: new Error('fenced') }
    return shards.map(({ shard, epoch }) => {
      Object.assign(this.#shard(shard), { epoch: epoch + 1, renewal })
      return { shard, epoch: epoch + 1 }
    })
  }

  async wasWritten(batch: BatchToAppend): Promise<boolean | null> {
    if (batch.shards.some(({ shard, epoch }) => this.#shard(shard).epoch <= epoch)) return null
    const isCounted = ({ record: { audit } }: NumberedRecord) =>
      audit === undefined || (this.audit.get(audit.auditId)?.count ?? 0) >= audit.count
    return entriesOf(batch).every((entry) => this.#isThere(entry)) && batch.records.every(isCounted)
  }

  reconnect(): void {
    this.reconnects += 1
  }

  /** The entries that fire a webhook event. */
  get announced(): readonly JournalRow[] {
    return this.journal.filter(({ isAnnounced }) => isAnnounced)
  }

  /** The end of a shard's log. */
  headOf(shard: number): ShardHead {
    const { mark } = this.#shard(shard)
    const last = this.journal.findLast((row) => row.shard === shard)
    if (last === undefined) return { lastSeq: mark, lastMonth: MONTHS.oldest, lastLink: NO_LINK }
    return { ...headAt(last), lastSeq: Math.max(last.seq, mark) }
  }

  #shard(shard: number): ShardRow {
    const row = this.shards[shard]
    if (row === undefined) throw new Error(`Cannot use shard ${shard}: there is no such shard`)
    return row
  }

  async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    const snapshots = this.snapshots.filter((snapshot) => snapshot.unitId === unitId).sort((a, b) => b.seq - a.seq)
    return { snapshots, tail: await this.loadEntries(agencyId, unitId, snapshots[0]?.seq ?? 0) }
  }

  async loadUnits(agencyId: string, unitIds: readonly string[]): Promise<ReadonlyMap<string, StoredUnit>> {
    const units = new Map<string, StoredUnit>()
    for (const unitId of unitIds) {
      const stored = await this.loadUnit(agencyId, unitId)
      if (stored.snapshots.length > 0 || stored.tail[0]?.kind === 'unit_set') units.set(unitId, stored)
    }
    return units
  }

  async loadEntries(_agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]> {
    return this.journal.filter((e) => (e.unitId === unitId || e.otherUnitId === unitId) && e.seq > afterSeq)
  }

  async writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void> {
    for (const snapshot of snapshots) {
      const same = this.snapshots.findIndex((s) => s.unitId === snapshot.unitId && s.seq === snapshot.seq)
      if (same >= 0) this.snapshots.splice(same, 1)
      this.snapshots.push(snapshot)
    }
  }

  async find(agencyId: string, bookingId: string): Promise<BookingRow | null> {
    const row = this.bookings.get(bookingId)
    return row?.agencyId === agencyId ? row : null
  }

  async findAll(agencyId: string, bookingIds: readonly string[]): Promise<readonly BookingRow[]> {
    return bookingIds.flatMap((id) => this.bookings.get(id) ?? []).filter((row) => row.agencyId === agencyId)
  }

  async ofGroup(agencyId: string, groupId: string): Promise<readonly BookingRow[]> {
    const rows = [...this.bookings.values()].filter(
      (row) => row.agencyId === agencyId && row.booking.groupId === groupId,
    )
    return rows.sort((a, b) => (a.booking.id < b.booking.id ? -1 : 1))
  }

  async expiredHolds(at: number, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]> {
    const place = (hold: ExpiredHold) => `${hold.expiry} ${hold.bookingId}`
    return [...this.bookings.values()]
      .filter(({ booking }) => booking.holdExpiresAt !== null && booking.holdExpiresAt <= at)
      .map(({ agencyId, booking }) => ({
        agencyId,
        unitId: booking.unitId,
        bookingId: booking.id,
        expiry: new Date(booking.holdExpiresAt ?? 0).toISOString(),
      }))
      .filter((hold) => after === null || place(hold) > place(after))
      .sort((a, b) => (place(a) < place(b) ? -1 : 1))
      .slice(0, limit)
  }

  async nextExpiry(at: number): Promise<number | null> {
    const expiries = [...this.bookings.values()].flatMap(({ booking }) => booking.holdExpiresAt ?? [])
    const later = expiries.filter((expiry) => expiry > at)
    return later.length === 0 ? null : Math.min(...later)
  }
}

function entriesOf({ records }: BatchToAppend): EncodedEntry[] {
  return records.flatMap(({ entries }) => entries)
}
