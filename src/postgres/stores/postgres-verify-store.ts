import { type Actor, actorOf } from '../../core/journal/record.ts'
import type { UnitAddress } from '../../core/journal/recovery.ts'
import { idOf, idOrNull, uuidOf } from '../../lib/ids.ts'
import type {
  CursorDifference,
  LogEntry,
  LogPosition,
  ProjectedBooking,
  ShardExtent,
  TreePart,
  UnitEntry,
  VerifiedSnapshot,
  VerifiedUnit,
  VerifyStore,
} from '../../verify/verify-store.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { bookingColumns, bookingRowOf, type StoredBooking } from './postgres-booking-rows.ts'
import { hashesIn } from './postgres-checkpoint-rows.ts'
import { archivedOf } from './postgres-months.ts'
import { cursorsBeyondEnd, missingDeliveries, orphanedDeliveries, strayDeliveries } from './verified-deliveries.ts'

/** Before every unit and every entry. */
const FIRST_UNIT = '0'.repeat(32)
/** Units that one statement looks at when the one before it has found none. */
const UNITS_PASSED = 1_000
const FIRST_POSITION: LogPosition = { seq: 0, month: '0001-01-01' }

/** What a verification reads, from the ledger's own tables. */
export class PostgresVerifyStore implements VerifyStore {
  readonly #sql: Sql
  readonly #journal: string

  /** @param journal the table that `log` reads: that of one month, for its archive */
  constructor(sql: Sql, journal = 'journal') {
    this.#sql = sql
    this.#journal = journal
  }

  async extents(): Promise<readonly ShardExtent[]> {
    return this.#sql<ShardExtent[]>`
      select s.shard, s.base::float8 as "base", s.base_link as "baseLink", s.mark::float8 as "mark", s.mark_link as "markLink",
             greatest(s.mark, coalesce(j.seq, 0))::float8 as "lastSeq"
      from shard s left join lateral (
        select seq from journal where journal.shard = s.shard order by journal.seq desc limit 1
      ) j on true
      order by s.shard`
  }

  async log(
    shard: number,
    { after, until, limit }: { after: LogPosition | null; until: number; limit: number },
  ): Promise<readonly LogEntry[]> {
    const from = after ?? FIRST_POSITION
    const rows = await this.#sql<LogRow[]>`
      select j.seq::float8 as "seq", month::text as "month", at, agency_id as "agencyId", unit_id as "unitId",
             other_unit_id as "otherUnitId", booking_id as "bookingId", entry_id as "id", kind,
             is_announced as "isAnnounced", actor_kind as "actorKind", actor_id as "actorId", route,
             request_id as "requestId", traceparent, payload, link
      from ${this.#sql.unsafe(this.#journal)} j
      where shard = ${shard}::smallint and j.seq <= ${until} and (j.seq, j.month) > (${from.seq}, ${from.month}::text::date)
      order by j.seq, j.month limit ${limit}`
    return rows.map((row) => logEntryOf(shard, row))
  }

  async units(after: VerifiedUnit | null, limit: number): Promise<readonly VerifiedUnit[]> {
    const inJournal = after?.hasEntries === false ? [] : await this.#unitsInJournal(after, limit)
    if (inJournal.length === limit) return inJournal
    const rest = await this.#unitsOnlyInTable(after?.hasEntries === false ? after : null, limit - inJournal.length)
    return [...inJournal, ...rest]
  }

  /** One row of each unit is read, by steps along the index. */
  async #unitsInJournal(after: UnitAddress | null, limit: number): Promise<readonly VerifiedUnit[]> {
    const rows = await this.#sql<UnitAddress[]>`
      with recursive found as (
        (select unit_id, agency_id, 1 as place from journal where unit_id > ${unitUuidOf(after)}::text::uuid order by unit_id limit 1)
        union all
        select next.unit_id, next.agency_id, found.place + 1 from found cross join lateral (
          select unit_id, agency_id from journal where unit_id > found.unit_id order by unit_id limit 1
        ) next where found.place < ${limit}::int
      )
      select unit_id as "unitId", agency_id as "agencyId" from found order by unit_id`
    return rows.map((row) => verifiedUnitOf(row, true))
  }

  /** Passes over the others, which nearly always are all of them, in statements of a bounded size. */
  async #unitsOnlyInTable(after: UnitAddress | null, limit: number): Promise<readonly VerifiedUnit[]> {
    let [agency, unit] = after === null ? [FIRST_UNIT, FIRST_UNIT] : [uuidOf(after.agencyId), uuidOf(after.unitId)]
    for (let passed = limit; ; passed = UNITS_PASSED) {
      const rows = await this.#sql<(UnitAddress & { hasEntries: boolean })[]>`
        select u.unit_id as "unitId", u.agency_id as "agencyId", exists (
          select from journal j where j.unit_id = u.unit_id and j.agency_id = u.agency_id) as "hasEntries"
        from unit u where (u.agency_id, u.unit_id) > (${agency}::text::uuid, ${unit}::text::uuid)
        order by u.agency_id, u.unit_id limit ${passed}`
      const only = rows.filter(({ hasEntries }) => !hasEntries).slice(0, limit)
      const last = rows.at(-1)
      if (only.length > 0 || last === undefined) return only.map((row) => verifiedUnitOf(row, false))
      ;[agency, unit] = [last.agencyId, last.unitId]
    }
  }

  async entries(
    { agencyId, unitId }: UnitAddress,
    { after, until, limit }: { after: number; until: number; limit: number },
  ): Promise<readonly UnitEntry[]> {
    const sql = this.#sql
    const unit = sql`${uuidOf(unitId)}::text::uuid`
    // With `or` instead of two halves every page would read and sort all of the unit.
    const half = (belongs: Fragment) => sql`
      (select journal.seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId",
              kind, payload, checksum, is_announced as "isAnnounced"
       from journal
       where agency_id = ${uuidOf(agencyId)}::text::uuid and ${belongs} and journal.seq > ${after} and journal.seq <= ${until}
       order by journal.seq limit ${limit})`
    const rows = await sql<UnitEntry[]>`
      ${half(sql`unit_id = ${unit}`)} union all ${half(sql`other_unit_id = ${unit}`)} order by "seq" limit ${limit}`
    return rows.map((row) => ({ ...row, ...idsOf(row) }))
  }

  async snapshots({ agencyId, unitId }: UnitAddress, limit: number): Promise<readonly VerifiedSnapshot[]> {
    const rows = await this.#sql<Omit<VerifiedSnapshot, 'agencyId' | 'unitId'>[]>`
      select snapshot.seq::float8 as "seq", format, hash, state, is_base as "isBase",
             snapshot.seq > greatest(h.base, (select max(j.seq) from journal j where j.shard = h.shard)) as "isAhead"
      from snapshot join shard h on h.shard = shard_of(agency_id)
      where agency_id = ${uuidOf(agencyId)}::text::uuid and unit_id = ${uuidOf(unitId)}::text::uuid
      order by snapshot.seq desc limit ${limit}`
    return rows.map((row) => ({ ...row, agencyId, unitId }))
  }

  async hasArchivedEntries({ agencyId, unitId }: UnitAddress): Promise<boolean> {
    return (await archivedOf(this.#sql, agencyId, [unitId])).size > 0
  }

  async agencies(after: string | null, limit: number): Promise<readonly string[]> {
    const rows = await this.#sql<{ id: string }[]>`
      select agency_id as "id" from agency
      where agency_id > ${after === null ? FIRST_UNIT : uuidOf(after)}::text::uuid order by agency_id limit ${limit}`
    return rows.map(({ id }) => idOf('agc', id))
  }

  async treeParts(agencyId: string, fromLeaf: number, limit: number): Promise<readonly TreePart[]> {
    const rows = await this.#sql<(Omit<TreePart, 'leaves'> & { leaves: Uint8Array | null })[]>`
      select c.first_leaf::float8 as "firstLeaf", c.size::float8 as "size", c.last_seq::float8 as "lastSeq", c.hashes, (
        select string_agg(sha256('\\x00'::bytea || convert_to(l.entry, 'UTF8')), ''::bytea order by l.seq) from leaves() l
        where l.agency_id = c.agency_id and l.seq <= c.last_seq and l.seq > coalesce((
          select p.last_seq from checkpoint p where p.agency_id = c.agency_id and p.first_leaf < c.first_leaf
          order by p.first_leaf desc limit 1), 0)) as "leaves"
      from checkpoint c where c.agency_id = ${uuidOf(agencyId)}::text::uuid and c.first_leaf >= ${fromLeaf}
      order by c.first_leaf limit ${limit}`
    return rows.map(({ leaves, ...part }) => ({ ...part, leaves: hashesIn(leaves ?? new Uint8Array()) }))
  }

  async bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]> {
    const sql = this.#sql
    const ids = JSON.stringify(bookingIds.map(uuidOf))
    const rows = await sql<(StoredBooking & { hasGuest: boolean; versionMark: number })[]>`
      select ${bookingColumns(sql)},
             booking.guest_id is null or exists (
               select from guest g where g.agency_id = booking.agency_id and g.guest_id = booking.guest_id
             ) or exists (
               select from guest_erasure e
               where e.agency_id = booking.agency_id and e.guest_id = booking.guest_id and e.erased_at is null
             ) as "hasGuest", (select version_mark from ledger) as "versionMark"
      from booking where booking.agency_id = ${uuidOf(agencyId)}::text::uuid
        and booking.booking_id in (select jsonb_array_elements_text(${ids}::text::jsonb)::uuid)`
    return rows.map((row) => ({
      ...bookingRowOf(row),
      guestId: row.guestId === null ? null : idOf('gst', row.guestId),
      hasGuest: row.hasGuest,
      versionMark: row.versionMark,
    }))
  }

  /** A row is written with its entry: they are read at one moment, so a row without one is stray however new it is. */
  async strayBookings(limit: number): Promise<readonly { id: string; unitId: string; seq: number }[]> {
    const rows = await this.#sql<{ id: string; unitId: string; seq: number }[]>`
      select b.booking_id as "id", b.unit_id as "unitId", b.seq::float8 as "seq" from booking b
      join shard s on s.shard = shard_of(b.agency_id)
      left join journal j on j.shard = s.shard and j.seq = b.seq and j.agency_id = b.agency_id and j.booking_id = b.booking_id
      where (b.seq > s.base or b.seq < 1) and j.seq is null
      order by b.booking_id limit ${limit}`
    return rows.map(({ id, unitId, seq }) => ({ id: idOf('bkg', id), unitId: idOf('unt', unitId), seq }))
  }

  async strayErasures(limit: number): Promise<readonly string[]> {
    const rows = await this.#sql<{ id: string }[]>`
      select e.guest_id as "id" from guest_erasure e
      join shard s on s.shard = shard_of(e.agency_id)
      left join journal j on j.shard = s.shard and j.seq = e.seq and j.agency_id = e.agency_id and j.kind = 'guest_erased'
      where (e.seq > s.base and j.seq is null)
        or exists (select from guest g where g.agency_id = e.agency_id and g.guest_id = e.guest_id)
      order by 1 limit ${limit}`
    return rows.map(({ id }) => idOf('gst', id))
  }

  strayDeliveries(limit: number): Promise<readonly string[]> {
    return strayDeliveries(this.#sql, limit)
  }

  orphanedDeliveries(limit: number): Promise<readonly string[]> {
    return orphanedDeliveries(this.#sql, limit)
  }

  missingDeliveries(limit: number): Promise<readonly CursorDifference[]> {
    return missingDeliveries(this.#sql, limit)
  }

  cursorsBeyondEnd(limit: number): Promise<readonly CursorDifference[]> {
    return cursorsBeyondEnd(this.#sql, limit)
  }
}

function unitUuidOf(after: UnitAddress | null): string {
  return after === null ? FIRST_UNIT : uuidOf(after.unitId)
}

/** @param row with UUIDs */
function verifiedUnitOf({ agencyId, unitId }: UnitAddress, hasEntries: boolean): VerifiedUnit {
  return { agencyId: idOf('agc', agencyId), unitId: idOf('unt', unitId), hasEntries }
}

/** A row of `journal`, with UUIDs. */
interface LogRow extends Omit<LogEntry, 'shard' | 'at' | 'actor'> {
  readonly at: Date
  readonly actorKind: Actor['kind']
  readonly actorId: string | null
}

function logEntryOf(shard: number, { at, actorKind, actorId, ...row }: LogRow): LogEntry {
  return {
    ...row,
    ...idsOf(row),
    shard,
    at: at.getTime(),
    agencyId: idOf('agc', row.agencyId),
    id: idOf('evt', row.id),
    actor: actorOf(actorKind, actorId),
  }
}

interface NamedIds {
  readonly unitId: string | null
  readonly otherUnitId: string | null
  readonly bookingId: string | null
}

function idsOf({ unitId, otherUnitId, bookingId }: NamedIds): NamedIds {
  return {
    unitId: idOrNull('unt', unitId),
    otherUnitId: idOrNull('unt', otherUnitId),
    bookingId: idOrNull('bkg', bookingId),
  }
}
