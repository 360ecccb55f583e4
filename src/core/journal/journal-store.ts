import type { EncodedEntry, StoredEntry } from './entry-codec.ts'
import type { JournalRecord } from './record.ts'
import type { Link, Month } from './shard.ts'
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
 * - `fenced`: another writer has taken over some of its shards or has used its numbers, or the preceding entries are missing
 *   (J3, J5). This send was not written.
 */
type AppendFailureKind = 'not_sent' | 'unknown' | 'retry' | 'refused' | 'too_slow' | 'poison'

export type AppendFailure = { readonly kind: AppendFailureKind; readonly cause: unknown } | ShardsFenced

export interface ShardsFenced {
  readonly kind: 'fenced'
  readonly cause: unknown
  /** Those of the batch that belong to another writer; at least one. */
  readonly shards: readonly number[]
}

/** A shard of which this process is the writer. */
export interface ShardEpoch {
  readonly shard: number
  /** Of this writer; higher than any before. */
  readonly epoch: number
}

/** A shard that was taken over, and the end of its log, which no earlier writer can move any more. */
interface ShardTerm extends ShardEpoch {
  /** The last sequence number that any writer before this one has written; the shard's mark when there is none. */
  readonly lastSeq: number
  /** Of that entry; the oldest month of the ledger when there is none. */
  readonly lastMonth: Month
  /** Of that entry; the mark's when there is none. */
  readonly lastLink: Link
}

export interface WriterTerm {
  /** All of them, in order. */
  readonly shards: readonly ShardTerm[]
  /** The newest month that the journal has a partition for. */
  readonly newestMonth: Month
}

/** A record, and its entries with everything that depends on their place in the log, encoded once. */
export interface NumberedRecord {
  /** Of the record's agency. */
  readonly shard: number
  readonly record: JournalRecord
  /** In the order of the record's entries, with consecutive numbers (J9). */
  readonly entries: readonly EncodedEntry[]
}

export interface BatchToAppend {
  /** Of all its records, in order, each once. */
  readonly shards: readonly ShardEpoch[]
  /** An entry is the same, byte for byte, on every send (J3). */
  readonly records: readonly NumberedRecord[]
}

export interface StoredUnit {
  /** Newest first; at most the few that are kept. */
  readonly snapshots: readonly StoredSnapshot[]
  /** The entries after the newest snapshot, in order. */
  readonly tail: readonly StoredEntry[]
}

/** What one lane of the journal appends through: a connection of its own. */
export interface LaneStore {
  /** Appends a batch, or finds its entries already there. Never rejects: whatever went wrong is in the answer. */
  appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure>
  /**
   * Raises this writer's own epoch of each shard by one, after everything in progress there has ended: no batch of the old epochs
   * can commit afterwards. All of them, or none. Never rejects.
   * A shard that already has the next epoch by the same renewal stays as it is.
   * @param renewal a UUID of this call and its retries, so that a retry after a lost reply finds what the first call did
   * @returns the new epochs, or why it is not known whether they were raised
   */
  renewEpochs(shards: readonly ShardEpoch[], renewal: string): Promise<readonly ShardEpoch[] | AppendFailure>
  /**
   * Whether the entries and audit lines of a batch are stored: all of them, or none (J2). The fences of its shards are locked
   * first, which waits for whatever is still committing. The answer is final, because it is given only when all of them have
   * higher epochs.
   * @returns null when this could not be found out within a few seconds
   */
  wasWritten(batch: BatchToAppend): Promise<boolean | null>
  /** Throws the connection away and makes a new one. */
  reconnect(): void
}

/** The port the journal writes and recovers through. */
export interface JournalStore {
  /**
   * Becomes the only writer of all shards (J5).
   * @param gone the writers that were seen to be gone: if another one serves by now, nothing is taken (P3). Left out: from any that serves
   * @throws when it is not known whether it has, or when another one serves. The next call uses a new connection
   */
  takeOver(holder: string, gone?: readonly string[] | null): Promise<WriterTerm>
  /** @param lane from 0; the same lane for every call with its number */
  lane(lane: number): LaneStore
  /** @throws CorruptLedgerError when entries were archived, and no snapshot takes their place (S2) */
  loadUnit(agencyId: string, unitId: string): Promise<StoredUnit>
  /**
   * Many units of an agency in one statement, by id. Leaves out those whose first entry is missing: `loadUnit` says what is the matter
   * with them.
   */
  loadUnits(agencyId: string, unitIds: readonly string[]): Promise<ReadonlyMap<string, StoredUnit>>
  /**
   * Entries of a unit after `seq`, in order.
   * @throws CorruptLedgerError when some of them were archived (S2)
   */
  loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]>
  writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void>
}
