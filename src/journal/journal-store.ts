import type { StoredEntry } from './entry-codec.ts'
import type { StoredSnapshot } from './snapshot-codec.ts'

/**
 * What became of a batch that did not become durable.
 * - `not_sent`: no connection could be made; surely not written.
 * - `unknown`: the connection was lost or the deadline missed after sending (J3).
 * - `retry`: the server refused for now; surely not written.
 * - `poison`: the data broke a rule of the database; surely not written (J4).
 * - `fenced`: another writer has taken over (J5).
 */
export type AppendFailureKind = 'not_sent' | 'unknown' | 'retry' | 'poison' | 'fenced'

export interface AppendFailure {
  readonly kind: AppendFailureKind
  readonly cause: unknown
}

export interface Tenure {
  /** Of this writer; higher than any before. */
  readonly epoch: number
  /** The last sequence number that any writer before this one has written; final. */
  readonly lastSeq: number
}

/** A row as its table has it; instants and dates as text, `rates` of a unit as JSON. */
export type BatchRow = Readonly<Record<string, unknown>>

/** By table; what there is none of is left out. `created` and `changed` are rows of `booking`. */
export type BatchContent = Readonly<
  Partial<
    Record<
      'journal' | 'units' | 'guests' | 'created' | 'changed' | 'events' | 'audit' | 'idempotency' | 'usage',
      readonly BatchRow[]
    >
  >
>

export interface BatchToAppend {
  readonly epoch: number
  readonly batchId: string
  readonly firstSeq: number
  /** The same on every send. */
  readonly content: BatchContent
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
  takeOver(holder: string): Promise<Tenure>
  /** Appends a batch, or finds it already there. Never rejects: whatever went wrong is in the answer. */
  appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure>
  /** Whether a batch is durable; null when it cannot be found out. Only for a fenced writer: the answer is final. */
  wasWritten(batch: BatchToAppend): Promise<boolean | null>
  /** Throws the connection away and makes a new one. */
  reconnect(): void
  loadUnit(agencyId: string, unitId: string): Promise<StoredUnit>
  /** Entries of a unit after `seq`, in order. */
  loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]>
  writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void>
}
