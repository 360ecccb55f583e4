import type { EncodedEntry, StoredEntry } from './entry-codec.ts'
import type { JournalRecord } from './record.ts'
import type { StoredSnapshot } from './snapshot-codec.ts'

/**
 * Why one send of a batch did not make it durable. An error response proves that its own send was not written; it says
 * nothing about an earlier send whose outcome is unknown (J3).
 * - `not_sent`: no connection could be made, or it leads to a server that cannot write. This send was not written.
 * - `unknown`: the connection was lost or the deadline missed after sending. It may be written, now or later.
 * - `retry`: the server refused for now (a lock, a deadlock). This send was not written; the connection is good.
 * - `refused`: the server answered with an error that is not about the data (read-only, disk full, an internal error).
 *   This send was not written; the connection must be discarded.
 * - `too_slow`: the server cancelled the statement at its timeout. This send was not written; a smaller batch may pass.
 * - `poison`: the data broke a rule of the database. This send was not written (J4).
 * - `fenced`: another writer has taken over (J5). This send was not written.
 */
export type AppendFailureKind = 'not_sent' | 'unknown' | 'retry' | 'refused' | 'too_slow' | 'poison' | 'fenced'

export interface AppendFailure {
  readonly kind: AppendFailureKind
  readonly cause: unknown
}

export interface WriterTerm {
  /** Of this writer; higher than any before. */
  readonly epoch: number
  /** The last sequence number that any writer before this one has written; final. */
  readonly lastSeq: number
}

/** A record, and what depends on the sequence number of its entry, encoded once. */
export interface NumberedRecord {
  readonly record: JournalRecord
  /** The record's entry; null when it has none. */
  readonly entry: EncodedEntry | null
  /** The body of the record's announcement; null when it has none. */
  readonly body: string | null
}

export interface BatchToAppend {
  readonly epoch: number
  readonly batchId: string
  readonly firstSeq: number
  /** The same on every send (J3). */
  readonly records: readonly NumberedRecord[]
}

export interface StoredUnit {
  /** Newest first; at most the few that are kept. */
  readonly snapshots: readonly StoredSnapshot[]
  /** The entries after the newest snapshot, in order. */
  readonly tail: readonly StoredEntry[]
}

/** The port the journal writes and recovers through. */
export interface JournalStore {
  /** Becomes the only writer (J5). */
  takeOver(holder: string): Promise<WriterTerm>
  /** Appends a batch, or finds it already there. Never rejects: whatever went wrong is in the answer. */
  appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure>
  /**
   * Raises this writer's own epoch by one, after everything in progress has ended: no batch of the old epoch can commit
   * afterwards. Never rejects.
   * @param renewal a UUID of this call and its retries, so that a retry after a lost reply finds what the first call did
   * @returns the new epoch, or why it is not known whether it was raised
   */
  renewEpoch(epoch: number, renewal: string): Promise<number | AppendFailure>
  /**
   * Whether a batch is durable; null when this could not be found out within a few seconds. The answer is final only
   * when the fence has a higher epoch.
   */
  wasWritten(batch: BatchToAppend): Promise<boolean | null>
  /** Throws the connection away and makes a new one. */
  reconnect(): void
  loadUnit(agencyId: string, unitId: string): Promise<StoredUnit>
  /** Entries of a unit after `seq`, in order. */
  loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]>
  writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void>
}
