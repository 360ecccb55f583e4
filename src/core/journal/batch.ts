/**
 * One group commit.
 *
 * - J3 Sequence numbers are given here, without gaps, in the order of the records.
 */
import { encodeEntry } from './entry-codec.ts'
import type { NumberedRecord } from './journal-store.ts'
import type { JournalRecord } from './record.ts'

export interface EncodedBatch {
  readonly records: readonly NumberedRecord[]
  /** Of the last entry; `firstSeq - 1` when there is none. */
  readonly lastSeq: number
}

/** `firstSeq`: the number of the first entry. Each event is encoded once, here. */
export function encodeBatch(records: readonly JournalRecord[], firstSeq: number): EncodedBatch {
  let lastSeq = firstSeq - 1
  const numbered = records.map((record): NumberedRecord => {
    const { entry, announcement } = record
    if (entry === undefined) return { record, entry: null, body: null }
    lastSeq += 1
    const body = announcement === undefined ? null : announcement.body(lastSeq)
    return { record, entry: encodeEntry(entry.event, lastSeq), body }
  })
  return { records: numbered, lastSeq }
}
