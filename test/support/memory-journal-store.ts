import type { BookingRow, BookingRows } from '../../src/core/bookings/booking-rows.ts'
import type { Instant } from '../../src/core/domain/booking.ts'
import type { StoredEntry } from '../../src/core/journal/entry-codec.ts'
import type {
  AppendFailure,
  BatchToAppend,
  JournalStore,
  NumberedRecord,
  StoredUnit,
  WriterTerm,
} from '../../src/core/journal/journal-store.ts'
import type { AuditDraft, IdempotencyDraft, JournalRecord } from '../../src/core/journal/record.ts'
import type { StoredSnapshot } from '../../src/core/journal/snapshot-codec.ts'
import type { ExpiredHold } from '../../src/core/units/expired-hold.ts'

/** A webhook event as the outbox has it. */
export interface WrittenEvent {
  readonly eventId: string
  readonly seq: number
  readonly body: string
  readonly at: Instant
}

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
 * `append_batch` and its tables in memory, with the same answers: fence, duplicates, all or nothing. The fate of every
 * send can be chosen; what was sent is recorded.
 */
export class MemoryJournalStore implements JournalStore, BookingRows {
  epoch = 0
  /** Of the last call that raised the epoch for its own writer. */
  #renewal: string | null = null
  readonly journal: (StoredEntry & { agencyId: string; batchId: string })[] = []
  readonly bookings = new Map<string, BookingRow>()
  readonly audit = new Map<string, AuditDraft>()
  readonly events: WrittenEvent[] = []
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

  async takeOver(): Promise<WriterTerm> {
    this.epoch += 1
    return { epoch: this.epoch, lastSeq: this.journal.at(-1)?.seq ?? 0 }
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
    if (batch.epoch !== this.epoch) return { kind: 'fenced', cause: new Error('fenced') }
    const { records } = batch
    const firstSeq = records.find(({ entry }) => entry !== null)?.entry?.seq
    const taken = this.journal.find((entry) => entry.seq === firstSeq)
    if (taken !== undefined) {
      return taken.batchId === batch.batchId ? 'durable' : { kind: 'fenced', cause: new Error('sequence taken') }
    }
    if (records.some(({ record }) => this.isPoison(record)))
      return { kind: 'poison', cause: new Error('data exception') }
    if (records.some(({ record }) => this.#isStale(record)))
      return { kind: 'poison', cause: new Error('version mismatch') }
    for (const record of records) this.#writeRecord(record, batch.batchId)
    return 'durable'
  }

  #isStale({ entry }: JournalRecord): boolean {
    if (entry === undefined || entry.event.kind === 'unit_set' || entry.event.kind === 'booking_created') return false
    const { id, version } = entry.event.after
    return this.bookings.get(id)?.booking.version !== version - 1
  }

  #writeRecord({ record, entry, body }: NumberedRecord, batchId: string): void {
    const { agencyId, announcement, audit, idempotency } = record
    const event = record.entry?.event
    if (entry !== null) {
      const { booking: _, ...stored } = entry
      this.journal.push({ ...stored, agencyId, batchId })
      if (event !== undefined && event.kind !== 'unit_set')
        this.bookings.set(event.after.id, { agencyId, booking: event.after, seq: entry.seq })
      if (announcement !== undefined && body !== null)
        this.events.push({ eventId: announcement.eventId, seq: entry.seq, body, at: record.entry?.at ?? 0 })
    }
    if (audit !== undefined) {
      const count = Math.max(audit.count, this.audit.get(audit.auditId)?.count ?? 0)
      this.audit.set(audit.auditId, { ...audit, count })
    }
    if (idempotency !== undefined) this.idempotency.push(idempotency)
  }

  async renewEpoch(epoch: number, renewal: string): Promise<number | AppendFailure> {
    if (this.epoch === epoch + 1 && this.#renewal === renewal) return this.epoch
    if (this.epoch !== epoch) return { kind: 'fenced', cause: new Error('fenced') }
    this.epoch += 1
    this.#renewal = renewal
    return this.epoch
  }

  async wasWritten(batch: BatchToAppend): Promise<boolean | null> {
    return this.journal.some((entry) => entry.seq === batch.firstSeq && entry.batchId === batch.batchId)
  }

  reconnect(): void {
    this.reconnects += 1
  }

  async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    const snapshots = this.snapshots.filter((snapshot) => snapshot.unitId === unitId).sort((a, b) => b.seq - a.seq)
    return { snapshots, tail: await this.loadEntries(agencyId, unitId, snapshots[0]?.seq ?? 0) }
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

  async expiredHolds(at: number, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]> {
    const place = (hold: ExpiredHold) => `${hold.expiry} ${hold.bookingId}`
    return [...this.bookings.values()]
      .filter(({ booking }) => booking.holdExpiresAt !== null && booking.holdExpiresAt <= at)
      .map(({ agencyId, booking }) => ({
        ...{ agencyId, unitId: booking.unitId, bookingId: booking.id },
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
