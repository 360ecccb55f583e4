/** The tables of a month: what an archive is written from (retire_month in sql/). */
import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { UnitAddress } from '../../core/journal/recovery.ts'
import type { Month } from '../../core/journal/shard.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import { idOf, idOrNull, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** What is partitioned by month, each with the columns that the rows of a month are ordered by. */
const PARTITIONED = {
  journal: ['shard', 'seq'],
  audit_line: ['agency_id', 'line_id'],
  webhook_delivery: ['agency_id', 'delivery_id'],
  webhook_attempt: ['agency_id', 'delivery_id', 'attempt'],
} as const
/** The checkpoints of a month are archived as well, and stay in the ledger. */
const ORDER = { ...PARTITIONED, checkpoint: ['agency_id', 'first_leaf'] } as const

type MonthTable = keyof typeof PARTITIONED
export const MONTH_TABLES = Object.keys(PARTITIONED) as readonly MonthTable[]
export type ArchivedRows = keyof typeof ORDER
export const ARCHIVED_ROWS = Object.keys(ORDER) as readonly ArchivedRows[]

const ROWS_PER_PAGE = 2_000

/** `journal_2026_01` */
export function partitionOf(table: MonthTable, month: Month): string {
  return `${table}_${month.slice(0, 7).replace('-', '_')}`
}

/** The oldest month of the ledger, which is the next to be archived. */
export async function oldestMonth(sql: Sql): Promise<Month> {
  const [row] = await sql<{ oldest: Month }[]>`select oldest_month::text as "oldest" from ledger`
  if (row === undefined) throw new Error('Cannot read the oldest month: the ledger has no row')
  return row.oldest
}

/** Those of the month's tables that exist, as part of the ledger or detached from it. */
export async function tablesOf(sql: Sql, month: Month): Promise<readonly MonthTable[]> {
  const rows = await sql<{ name: string }[]>`
    select relname as "name" from pg_class
    where relkind = 'r' and relnamespace = (select relnamespace from pg_class where oid = 'journal'::regclass)
      and right(relname, 8) = ${partitionOf('journal', month).slice(-8)}`
  const names = new Set(rows.map(({ name }) => name))
  return MONTH_TABLES.filter((table) => names.has(partitionOf(table, month)))
}

/** All rows of a table of the month, in order, as JSON texts that `jsonb_populate_record` reads. */
export async function* rowsOf(sql: Sql, table: ArchivedRows, month: Month): AsyncGenerator<readonly string[]> {
  if (table !== 'checkpoint') return yield* pagesOf(sql, table, partitionOf(table, month))
  // By agency: what the month has of all of them would be worked out again for each page.
  const agencies = await sql.unsafe<{ id: string; first: string; last: string }[]>(`
    select agency_id::text as id, min(seq)::text as first, max(seq)::text as last
    from ${partitionOf('journal', month)} group by agency_id order by agency_id`)
  for (const agency of agencies) yield* pagesOf(sql, table, checkpointsOf(agency))
}

async function* pagesOf(sql: Sql, table: ArchivedRows, source: string): AsyncGenerator<readonly string[]> {
  const key = ORDER[table]
  for (let after: readonly string[] | null = null; ; ) {
    const from = after === null ? '' : `where (${key.join()}) > (${after.map((value) => `'${value}'`).join()})`
    const rows: readonly Record<string, string>[] = await sql.unsafe(
      `select row_to_json(t)::text as line, ${key.map((column) => `t.${column}::text`).join()}
       from ${source} t ${from} order by ${key.map((column) => `t.${column}`).join()} limit ${ROWS_PER_PAGE}`,
    )
    if (rows.length > 0) yield rows.map(({ line = '' }) => line)
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_PER_PAGE) return
    after = key.map((column) => last[column] ?? '')
  }
}

/** The checkpoints of an agency with leaves of these entries. */
function checkpointsOf({ id, first, last }: { id: string; first: string; last: string }): string {
  return `(
    select c.* from checkpoint c
    where c.agency_id = '${id}' and c.last_seq >= ${first} and c.last_seq <= (
      select min(e.last_seq) from checkpoint e where e.agency_id = '${id}' and e.last_seq >= ${last}))`
}

/** Where the entries of a shard that are of the month begin and end. */
export interface ShardMonth {
  readonly shard: number
  readonly first: number
  readonly last: number
  /** Hexadecimal. */
  readonly lastLink: string
}

export async function shardsOf(sql: Sql, month: Month): Promise<readonly ShardMonth[]> {
  const journal = sql.unsafe(partitionOf('journal', month))
  return sql<ShardMonth[]>`
    select e.shard, e.first::float8 as "first", e.last::float8 as "last", encode(j.link, 'hex') as "lastLink"
    from (select shard, min(seq) as first, max(seq) as last from ${journal} group by shard) e
    join ${journal} j on j.shard = e.shard and j.seq = e.last
    order by e.shard`
}

/** Whether the month has these last entries of shards with the same links, and so the same entries before them (J7). */
export async function hasEntries(
  sql: Sql,
  month: Month,
  shards: readonly Pick<ShardMonth, 'shard' | 'last' | 'lastLink'>[],
): Promise<boolean> {
  const [row] = await sql<{ hasAll: boolean }[]>`
    select not exists (
      select from jsonb_to_recordset(${JSON.stringify(shards)}::text::jsonb) as s (shard smallint, last bigint, "lastLink" text)
      where not exists (
        select from ${sql.unsafe(partitionOf('journal', month))} j
        where j.shard = s.shard and j.seq = s.last and j.link = decode(s."lastLink", 'hex'))) as "hasAll"`
  return row?.hasAll === true
}

/** A unit that has entries in the month, with the number of the last of them. */
export interface UnitMonth extends UnitAddress {
  readonly lastSeq: number
}

export async function unitsOf(sql: Sql, month: Month): Promise<readonly UnitMonth[]> {
  const journal = sql.unsafe(partitionOf('journal', month))
  const rows = await sql<UnitMonth[]>`
    select e.agency_id as "agencyId", e.unit_id as "unitId", max(e.seq)::float8 as "lastSeq"
    from (select agency_id, unit_id, seq from ${journal} where unit_id is not null
          union all
          select agency_id, other_unit_id, seq from ${journal} where other_unit_id is not null) e
    group by e.agency_id, e.unit_id order by e.unit_id`
  return rows.map((row) => ({ ...row, agencyId: idOf('agc', row.agencyId), unitId: idOf('unt', row.unitId) }))
}

/** The unit's entries of the month after `after`, in order. */
export async function entriesOf(
  sql: Sql,
  month: Month,
  { unitId, after }: { unitId: string; after: number },
): Promise<readonly StoredEntry[]> {
  const journal = sql.unsafe(partitionOf('journal', month))
  const rows = await sql<StoredEntry[]>`
    select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", booking_id as "bookingId", kind, payload,
           checksum::text as "checksum"
    from ${journal} j
    where seq > ${after} and (unit_id = ${uuidOf(unitId)}::text::uuid or other_unit_id = ${uuidOf(unitId)}::text::uuid)
    order by seq`
  return rows.map(({ unitId: of, otherUnitId, bookingId, ...row }) => ({
    ...row,
    unitId: idOrNull('unt', of),
    otherUnitId: idOrNull('unt', otherUnitId),
    bookingId: idOrNull('bkg', bookingId),
  }))
}

/**
 * Snapshots that are never pruned, because entries up to them are about to be archived. In the place of damaged ones, if there are any: what
 * was replayed from the same entries is the same.
 */
export async function insertBases(sql: Sql, snapshots: readonly StoredSnapshot[]): Promise<void> {
  const rows = snapshots.map((snapshot) => ({
    ...snapshot,
    agencyId: uuidOf(snapshot.agencyId),
    unitId: uuidOf(snapshot.unitId),
  }))
  await sql`
    insert into snapshot (agency_id, unit_id, seq, format, hash, state, taken_at, is_base)
    select s."agencyId", s."unitId", s.seq, s.format, s.hash, s.state, now(), true
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as s (
      "agencyId" uuid, "unitId" uuid, seq bigint, format integer, hash text, state text)
    on conflict (unit_id, seq) do update set
      format = excluded.format, hash = excluded.hash, state = excluded.state, is_base = true`
}

/** Detaches the month's tables. @throws what the database says when the month cannot be archived (NL020) */
export async function retireMonth(sql: Sql, month: Month): Promise<void> {
  await sql`select retire_month(${month}::text::date)`
}

/** Only of a month that was detached: dropping a partition would block every read and write of its parent. */
export async function dropTables(sql: Sql, month: Month): Promise<void> {
  await sql.unsafe(`drop table ${MONTH_TABLES.map((table) => partitionOf(table, month)).join()}`)
}
