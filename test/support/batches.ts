import { encodeBatch, headAt, type LogEnd, type ShardHead } from '../../src/core/journal/batch.ts'
import type { BatchToAppend, NumberedRecord, WriterTerm } from '../../src/core/journal/journal-store.ts'
import type { AuditDraft, JournalRecord } from '../../src/core/journal/record.ts'
import { CALLER, CHAIN_KEYS, sampleId, sampleUnit } from './samples.ts'

/** What a writer knows of the log, without a journal around it: a test makes batches with it, good ones and others. */
export class SampleWriter {
  readonly #term: WriterTerm
  readonly #heads: ShardHead[]

  constructor(term: WriterTerm) {
    this.#term = term
    this.#heads = [...term.shards]
  }

  /** A batch that continues the log as this writer knows it, under its epochs. */
  batch(records: readonly JournalRecord[]): BatchToAppend {
    return this.batchOf(encodeBatch(records, this.log))
  }

  /** The same for records that have their numbers. */
  batchOf(records: readonly NumberedRecord[]): BatchToAppend {
    const shards = [...new Set(records.map(({ shard }) => shard))].sort((a, b) => a - b)
    return { shards: shards.map((shard) => ({ shard, epoch: this.epochOf(shard) })), records }
  }

  get log(): LogEnd {
    return { heads: this.#heads, chainKeys: CHAIN_KEYS, newestMonth: this.#term.newestMonth }
  }

  epochOf(shard: number): number {
    return this.#term.shards[shard]?.epoch ?? 0
  }

  /** From now on the log ends with the entries of the batch. */
  note({ records }: BatchToAppend): void {
    for (const { shard, entry } of records) if (entry !== null) this.#heads[shard] = headAt(entry)
  }

  /** From now on the log of a shard ends elsewhere, whatever the database has. */
  setHead(shard: number, change: Partial<ShardHead>): void {
    const head = this.#heads[shard]
    if (head !== undefined) this.#heads[shard] = { ...head, ...change }
  }
}

/** A change of a unit: an entry that needs no other row. */
export function unitRecord(agencyId: string, label: string | number, at = Date.now()): JournalRecord {
  const unit = sampleUnit({ id: sampleId('unt', label), slug: `unit-${label}` })
  const id = sampleId('evt', label)
  return { agencyId, at, entry: { id, event: { kind: 'unit_set', unit }, at, caller: CALLER, envelope: null } }
}

/** A record without an entry. */
export function auditRecord(agencyId: string, label: string | number, change: Partial<AuditDraft> = {}): JournalRecord {
  const { actor, route, requestId } = CALLER
  const line = { auditId: sampleId('aud', label), at: Date.now(), outcome: 'MIN_STAY', bookingId: null, count: 1 }
  return { agencyId, at: line.at, audit: { ...line, actor, route, requestId, ...change } }
}
