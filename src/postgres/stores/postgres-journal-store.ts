import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { JournalStore, StoredUnit, WriterTerm } from '../../core/journal/journal-store.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { PostgresLane } from './append-batch.ts'
import { entryOf, type LoadedRow, storedUnitOf, type TakenRow, termOf } from './loaded-rows.ts'
import { archivedOf, assertNotArchived } from './postgres-months.ts'

/** Snapshots kept per unit: the newest, and some to fall back to (S1). A base snapshot, which replaces archived entries, is kept as well. */
const SNAPSHOTS_KEPT = 3

/** Below that of every writer. */
const NO_EPOCH = 0

/** Batches of the journal in flight at a time: a third one gained nothing (docs/decisions.md#speed). */
export const APPEND_LANES = 2

/** The journal in Postgres. Every lane appends through a connection of its own; recovery reads go through the pool. */
export class PostgresJournalStore implements JournalStore {
  readonly #url: string
  readonly #queries: Sql
  readonly #writer: WriterRow | null
  readonly #epochOf: (agencyId: string) => number
  readonly #lanes: PostgresLane[] = []

  /**
   * @param options.writer the row that `takeOver` makes for this process; without it, nobody waits for this process
   * @param options.epochOf returns the current epoch of this writer for the agency (Journal.epochOf); without it, no snapshot is written
   */
  constructor(options: { url: string; queries: Sql; writer?: WriterRow; epochOf?: (agencyId: string) => number }) {
    this.#url = options.url
    this.#queries = options.queries
    this.#writer = options.writer ?? null
    this.#epochOf = options.epochOf ?? (() => NO_EPOCH)
  }

  lane(lane: number): PostgresLane {
    for (let next = this.#lanes.length; next <= lane; next++) this.#lanes.push(new PostgresLane(this.#url))
    return this.#lanes[lane] as PostgresLane
  }

  /** Opens the connections of all lanes, so that a take-over finds them open (PostgresLane.open). */
  async open(): Promise<void> {
    for (let lane = 0; lane < APPEND_LANES; lane++) await this.lane(lane).open()
  }

  async takeOver(holder: string, gone: readonly string[] | null = null): Promise<WriterTerm> {
    const first = this.lane(0)
    try {
      const rows = await first.client<TakenRow[]>`
        select shard, epoch::float8 as "epoch", last_seq::float8 as "lastSeq", last_month::text as "lastMonth",
               last_link as "lastLink", newest_month::text as "newestMonth"
        from take_over(${holder}, ${this.#writer?.writerId ?? null}, ${this.#writer?.run ?? null},
                       ${gone === null ? null : `{${gone.join()}}`}::text::uuid[])`
      return termOf(rows)
    } catch (error) {
      first.reconnect()
      throw error
    }
  }

  async loadUnit(agencyId: string, unitId: string): Promise<StoredUnit> {
    const rows = await this.#queries<LoadedRow[]>`
      select seq::float8 as "seq", format, checksum, payload, kind, unit_id as "unitId", other_unit_id as "otherUnitId",
             booking_id as "bookingId"
      from load_unit(${uuidOf(unitId)})`
    const stored = storedUnitOf(agencyId, unitId, rows)
    if (stored.snapshots.length === 0) await assertNotArchived(this.#queries, { agencyId, unitId, afterSeq: 0 })
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
      units.set(unitId, storedUnitOf(agencyId, unitId, ofUnit))
    }
    const bare = [...units].filter(([, { snapshots }]) => snapshots.length === 0).map(([unitId]) => unitId)
    // `loadUnit` says of each what it lacks (S2).
    if (bare.length > 0)
      for (const unitId of (await archivedOf(this.#queries, agencyId, bare)).keys()) units.delete(unitId)
    return units
  }

  async loadEntries(agencyId: string, unitId: string, afterSeq: number): Promise<readonly StoredEntry[]> {
    const unit = uuidOf(unitId)
    const rows = await this.#queries<StoredEntry[]>`
      select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload,
             checksum::text as "checksum"
      from journal where unit_id = ${unit} and seq > ${afterSeq}
      union all
      select seq::float8, unit_id, other_unit_id, booking_id, kind, payload, checksum::text
      from journal where other_unit_id = ${unit} and seq > ${afterSeq}
      order by "seq"`
    // Afterwards: a month may have been archived while they were read.
    await assertNotArchived(this.#queries, { agencyId, unitId, afterSeq })
    return rows.map(entryOf)
  }

  /**
   * S3: writes only those whose shard is still this writer's and whose last entry is in the log. After a fail-over that has lost entries,
   * memory is ahead of the log until the writer notices. The statement sees fences and log at one moment.
   */
  async writeSnapshots(snapshots: readonly StoredSnapshot[]): Promise<void> {
    const rows = JSON.stringify(
      snapshots.map(({ agencyId, unitId, ...snapshot }) => ({
        agencyId: uuidOf(agencyId),
        unitId: uuidOf(unitId),
        epoch: this.#epochOf(agencyId),
        ...snapshot,
      })),
    )
    await this.#queries`
      with written as (
        insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at)
        select s."agencyId", s."unitId", s.seq, s.format, s.hash, s.state, now()
        from jsonb_to_recordset(${rows}::text::jsonb) as s (
          "agencyId" uuid, "unitId" uuid, epoch bigint, seq bigint, format integer, hash text, state text)
        join shard h on h.shard = shard_of(s."agencyId") and h.epoch = s.epoch
        where s.seq <= h.base
           or exists (select from journal j where j.unit_id = s."unitId" and j.seq = s.seq)
           or exists (select from journal j where j.other_unit_id = s."unitId" and j.seq = s.seq)
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
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }
}

interface WriterRow {
  /** A UUID, drawn for this process. */
  readonly writerId: string
  /** Of `ownRun`. */
  readonly run: string | null
}
