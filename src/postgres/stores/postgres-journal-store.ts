import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type {
  AppendFailure,
  BatchToAppend,
  JournalStore,
  ShardEpoch,
  StoredUnit,
  WriterTerm,
} from '../../core/journal/journal-store.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import { connect, type Sql } from '../client/connect.ts'
import { classifyDatabaseError, isErrorResponse } from '../client/database-error.ts'
import { assertWritable } from '../client/writable.ts'
import { appendBatch } from './append-batch.ts'
import { assertHistory, assertNotArchived } from './archived-history.ts'
import { batchText, fencesText } from './batch-text.ts'
import { entryOf, type LoadedRow, storedUnitOf } from './loaded-rows.ts'

/** How long a look-up of what was written is repeated. */
const WAS_WRITTEN_MS_MAX = 5_000
const WAS_WRITTEN_DELAY_MS = 100
/** Snapshots kept per unit: the newest, and some to fall back to (S1). A base snapshot, which replaces archived entries, is kept as well. */
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
    const rows = await this.#journal<TakenRow[]>`
      select shard, epoch::float8 as "epoch", last_seq::float8 as "lastSeq", last_month::text as "lastMonth",
             last_link as "lastLink", newest_month::text as "newestMonth"
      from take_over(${holder})`
    const [first] = rows
    if (first === undefined) throw new Error('Cannot take the ledger over: the database did not answer with its shards')
    const shards = rows.map(({ newestMonth: _, ...shard }) => shard)
    return { shards, newestMonth: first.newestMonth }
  }

  async appendBatch(batch: BatchToAppend): Promise<'durable' | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    let statement: ReturnType<typeof appendBatch>
    try {
      statement = appendBatch(this.#journal, batch)
    } catch (error) {
      // The rows could not be encoded: nothing was sent.
      return { kind: 'poison', cause: error }
    }
    try {
      await statement
      return 'durable'
    } catch (error) {
      return appendFailure(error, batch.shards)
    }
  }

  async renewEpochs(shards: readonly ShardEpoch[], renewal: string): Promise<readonly ShardEpoch[] | AppendFailure> {
    const unfit = await this.#unfit()
    if (unfit !== null) return unfit
    const fences = fencesText(shards)
    try {
      await this.#journal`
        select renew_epochs(${fences.shards}::text::smallint[], ${fences.epochs}::text::bigint[], ${renewal}::text::uuid)`
      return shards.map(({ shard, epoch }) => ({ shard, epoch: epoch + 1 }))
    } catch (error) {
      return appendFailure(error, shards)
    }
  }

  /**
   * Final, because the server that is asked has the higher epochs: whatever of the old ones it will ever have, it has. A server
   * that was replaced does not have them.
   */
  async wasWritten(batch: BatchToAppend): Promise<boolean | null> {
    const text = batchText(batch)
    const giveUpAt = performance.now() + WAS_WRITTEN_MS_MAX
    do {
      if ((await this.#unfit()) === null) {
        try {
          const [row] = await this.#journal<{ isWritten: boolean | null }[]>`
            select was_written(${text.shards}::text::smallint[], ${text.epochs}::text::bigint[],
                               ${text.entries}::text::journal_row[], ${text.auditLines}::text::audit_row[]) as "isWritten"`
          if (typeof row?.isWritten === 'boolean') return row.isWritten
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
      select seq::float8 as "seq", format, checksum, payload, kind, unit_id as "unitId", other_unit_id as "otherUnitId",
             booking_id as "bookingId"
      from load_unit(${uuidOf(unitId)})`
    const stored = storedUnitOf(agencyId, unitId, rows)
    if (stored.snapshots.length === 0)
      await assertHistory(this.#queries, { agencyId, unitId, first: stored.tail[0] ?? null })
    return stored
  }

  async loadUnits(agencyId: string, unitIds: readonly string[]): Promise<ReadonlyMap<string, StoredUnit>> {
    const rows = await this.#queries<(LoadedRow & { ofUnit: string })[]>`
      select of_unit as "ofUnit", seq::float8 as "seq", format, checksum, payload, kind, unit_id as "unitId",
             other_unit_id as "otherUnitId", booking_id as "bookingId"
      from load_units(${`{${unitIds.map(uuidOf).join()}}`}::text::uuid[])`
    const byUnit = Map.groupBy(rows, ({ ofUnit }) => ofUnit)
    const units = new Map<string, StoredUnit>()
    for (const [uuid, ofUnit] of byUnit) {
      const unitId = idOf('unt', uuid)
      const stored = storedUnitOf(agencyId, unitId, ofUnit)
      // The first entry of a unit creates it. If that is missing, entries were archived, which `loadUnit` looks into (S2).
      if (stored.snapshots.length > 0 || stored.tail[0]?.kind === 'unit_set') units.set(unitId, stored)
    }
    return units
  }

  async loadEntries(_agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]> {
    const unit = uuidOf(unitId)
    await assertNotArchived(this.#queries, { unitId, afterSeq })
    const rows = await this.#queries<StoredEntry[]>`
      select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload,
             checksum::text as "checksum"
      from journal where unit_id = ${unit} and seq > ${afterSeq}
      union all
      select seq::float8, unit_id, other_unit_id, booking_id, kind, payload, checksum::text
      from journal where other_unit_id = ${unit} and seq > ${afterSeq}
      order by "seq"`
    return rows.map(entryOf)
  }

  async writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void> {
    const rows = JSON.stringify(
      snapshots.map(({ agencyId, unitId, ...snapshot }) => ({
        ...{ agencyId: uuidOf(agencyId), unitId: uuidOf(unitId) },
        ...snapshot,
      })),
    )
    await this.#queries`
      with written as (
        insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
        select s."agencyId", s."unitId", s.seq, s.format, s.hash, s.state, now()
        from jsonb_to_recordset(${rows}::text::jsonb) as s (
          "agencyId" uuid, "unitId" uuid, seq bigint, format integer, hash text, state text)
        on conflict (unit_id, seq) do update set
          format = excluded.format, hash = excluded.hash, state = excluded.state, taken_at = excluded.taken_at
        returning unit_id, seq
      )
      delete from snapshot old using written
      where old.unit_id = written.unit_id and old.seq < written.seq and not old.is_base
        and (select count(*) from snapshot newer where newer.unit_id = old.unit_id and newer.seq > old.seq)
            >= ${SNAPSHOTS_KEPT - 1}`
  }

  async close(): Promise<void> {
    await this.#journal.end({ timeout: 1 })
  }
}

interface TakenRow {
  shard: number
  epoch: number
  lastSeq: number
  lastMonth: string
  lastLink: Uint8Array
  newestMonth: string
}

/** Only an answer of the server proves that a statement had no effect; anything else leaves the outcome unknown (J3). */
function appendFailure(error: unknown, sent: readonly ShardEpoch[]): AppendFailure {
  if (!isErrorResponse(error)) return { kind: 'unknown', cause: error }
  const of = classifyDatabaseError(error)
  switch (of) {
    case 'connection':
      return { kind: 'unknown', cause: error }
    case 'unfit':
    case 'other':
      return { kind: 'refused', cause: error }
    case 'fenced':
      return { kind: 'fenced', cause: error, shards: fencedShards(error, sent) }
    default:
      return { kind: of, cause: error }
  }
}

/** The shards that the error's detail lists; all that were sent when it lists none of them. */
function fencedShards(error: unknown, sent: readonly ShardEpoch[]): readonly number[] {
  const all = sent.map(({ shard }) => shard)
  const detail = error instanceof Error && 'detail' in error && typeof error.detail === 'string' ? error.detail : ''
  const listed = new Set(detail.split(','))
  const fenced = all.filter((shard) => listed.has(String(shard)))
  return fenced.length === 0 ? all : fenced
}
