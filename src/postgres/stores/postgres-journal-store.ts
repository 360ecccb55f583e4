import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type {
  AppendFailure,
  AppendFailureKind,
  BatchToAppend,
  JournalStore,
  StoredUnit,
  WriterTerm,
} from '../../core/journal/journal-store.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import { connect, type Sql } from '../client/connect.ts'
import { classifyDatabaseError, isErrorResponse } from '../client/database-error.ts'
import { assertWritable } from '../client/writable.ts'
import { appendBatch } from './append-batch.ts'

/** How long a look-up of what was written is repeated. */
const WAS_WRITTEN_MS_MAX = 5_000
const WAS_WRITTEN_DELAY_MS = 100
/** Snapshots kept per unit: the newest, and some to fall back to (S1). */
const SNAPSHOTS_KEPT = 3

/**
 * The journal in Postgres. Appends go through one connection of their own, which is discarded whenever an outcome is
 * unknown; recovery reads go through the pool.
 */
export class PostgresJournalStore implements JournalStore {
  readonly #url: string
  readonly #queries: Sql
  #journal: Sql
  /**
   * Whether the journal's connection has proved to be open, on a server that accepts writes, and has not been seen to close. Only
   * then is a batch sent on it: a failure before that wrote nothing, a failure after it may have (J3).
   */
  #isWritable = false

  constructor(options: { url: string; queries: Sql }) {
    this.#url = options.url
    this.#queries = options.queries
    this.#journal = this.#connect()
  }

  #connect(): Sql {
    const client: Sql = connect(this.#url, {
      purpose: 'journal',
      onLost: () => {
        if (client === this.#journal) this.#isWritable = false
      },
    })
    this.#isWritable = false
    return client
  }

  async takeOver(holder: string): Promise<WriterTerm> {
    const sql = this.#journal
    const [row] = await sql<{ epoch: number; lastSeq: number }[]>`
      select epoch::float8 as "epoch", last_seq::float8 as "lastSeq" from take_over(${holder})`
    if (row === undefined) throw new Error('Cannot take the ledger over: the database did not answer with an epoch')
    return row
  }

  async appendBatch({ epoch, batchId, records }: BatchToAppend): Promise<'durable' | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    let statement: ReturnType<typeof appendBatch>
    try {
      statement = appendBatch(this.#journal, epoch, batchId, records)
    } catch (error) {
      // The rows could not be encoded: nothing was sent.
      return { kind: 'poison', cause: error }
    }
    try {
      await statement
      return 'durable'
    } catch (error) {
      return { kind: failureKind(error), cause: error }
    }
  }

  async renewEpoch(epoch: number, renewal: string): Promise<number | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    try {
      const [row] = await this.#journal<{ renewed: number }[]>`
        select renew_epoch(${epoch}::text::bigint, ${renewal}::text::uuid)::float8 as "renewed"`
      if (row === undefined) throw new Error('Cannot raise the epoch: the database did not answer with it')
      return row.renewed
    } catch (error) {
      return { kind: failureKind(error), cause: error }
    }
  }

  /**
   * Final, because the server that is asked has the higher epoch: whatever of the old one it will ever have, it has. A server
   * that was replaced does not have it.
   */
  async wasWritten({ batchId, firstSeq, epoch }: BatchToAppend): Promise<boolean | null> {
    const giveUpAt = performance.now() + WAS_WRITTEN_MS_MAX
    do {
      if ((await this.#unfit()) === null) {
        try {
          const [row] = await this.#journal<{ isWritten: boolean }[]>`
            select exists (select from journal where seq = ${firstSeq} and batch_id = ${batchId}::text::uuid) as "isWritten"
            from writer_fence where epoch > ${epoch}::text::bigint`
          if (row !== undefined) return row.isWritten
        } catch {
          // Whatever failed, nothing is known yet.
        }
      }
      this.reconnect()
      await Bun.sleep(WAS_WRITTEN_DELAY_MS)
    } while (performance.now() < giveUpAt)
    return null
  }

  /** Null when the connection may be written to; otherwise why nothing was sent. */
  async #unfit(): Promise<AppendFailure | null> {
    if (this.#isWritable) return null
    try {
      await assertWritable(this.#journal)
      this.#isWritable = true
      return null
    } catch (error) {
      return { kind: 'not_sent', cause: error }
    }
  }

  reconnect(): void {
    const broken = this.#journal
    this.#journal = this.#connect()
    // Whatever becomes of the broken one no longer matters.
    void Promise.allSettled([broken.end({ timeout: 0 })])
  }

  async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    const rows = await this.#queries<LoadedRow[]>`
      with kept as (
        select seq, format, hash, state from snapshot
        where agency_id = ${agencyId} and unit_id = ${unitId}
        order by seq desc limit ${SNAPSHOTS_KEPT}
      ), start as (
        select coalesce(max(seq), 0) as seq from kept
      ), tail as (
        select j.* from journal j, start
        where j.agency_id = ${agencyId} and j.unit_id = ${unitId} and j.seq > start.seq
        union all
        select j.* from journal j, start
        where j.agency_id = ${agencyId} and j.other_unit_id = ${unitId} and j.seq > start.seq
      )
      select seq::float8 as "seq", format, hash as "checksum", state as "payload",
             null as "kind", null as "unitId", null as "otherUnitId"
      from kept
      union all
      select seq::float8, null, checksum, payload, kind, unit_id, other_unit_id from tail
      order by "seq"`
    const snapshots: StoredSnapshot[] = []
    const tail: StoredEntry[] = []
    for (const row of rows) {
      if (row.kind === null || row.unitId === null) snapshots.unshift(snapshotOf(agencyId, unitId, row))
      else tail.push({ ...row, kind: row.kind, unitId: row.unitId })
    }
    return { snapshots, tail }
  }

  async loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]> {
    return this.#queries<StoredEntry[]>`
      select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", kind, payload, checksum
      from journal
      where agency_id = ${agencyId} and (unit_id = ${unitId} or other_unit_id = ${unitId}) and seq > ${afterSeq}
      order by seq`
  }

  async writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void> {
    const rows = JSON.stringify(snapshots)
    await this.#queries`
      with written as (
        insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
        select s."agencyId", s."unitId", s.seq, s.format, s.hash, s.state, now()
        from jsonb_to_recordset(${rows}::text::jsonb) as s (
          "agencyId" text, "unitId" text, seq bigint, format integer, hash text, state text)
        on conflict (agency_id, unit_id, seq) do update set
          format = excluded.format, hash = excluded.hash, state = excluded.state, taken_at = excluded.taken_at
        returning agency_id, unit_id, seq
      )
      delete from snapshot old using written
      where old.agency_id = written.agency_id and old.unit_id = written.unit_id and old.seq < written.seq
        and (select count(*) from snapshot newer
             where newer.agency_id = old.agency_id and newer.unit_id = old.unit_id and newer.seq > old.seq)
            >= ${SNAPSHOTS_KEPT - 1}`
  }

  async close(): Promise<void> {
    await this.#journal.end({ timeout: 1 })
  }
}

interface LoadedRow {
  seq: number
  format: number | null
  checksum: string
  payload: string
  /** Null for a snapshot. */
  kind: string | null
  unitId: string | null
  otherUnitId: string | null
}

function snapshotOf(agencyId: string, unitId: string, row: LoadedRow): StoredSnapshot {
  return { agencyId, unitId, seq: row.seq, format: row.format ?? 0, hash: row.checksum, state: row.payload }
}

/** Only an answer of the server proves that a statement had no effect; anything else leaves the outcome unknown (J3). */
function failureKind(error: unknown): AppendFailureKind {
  if (!isErrorResponse(error)) return 'unknown'
  const of = classifyDatabaseError(error)
  switch (of) {
    case 'connection':
      return 'unknown'
    case 'unfit':
    case 'other':
      return 'refused'
    default:
      return of
  }
}
