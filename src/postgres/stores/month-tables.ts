/** The tables of a month: what an archive is written from (retire_month in sql/). */
import type { Month } from '../../core/journal/shard.ts'
import type { Sql } from '../client/connect.ts'

/** What is partitioned by month, each with the columns that the rows of a month are ordered by. */
const ORDER = {
  journal: ['shard', 'seq'],
  audit_line: ['agency_id', 'line_id'],
  webhook_delivery: ['agency_id', 'delivery_id'],
  webhook_attempt: ['agency_id', 'delivery_id', 'attempt'],
} as const

export type MonthTable = keyof typeof ORDER
export const MONTH_TABLES = Object.keys(ORDER) as readonly MonthTable[]

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
export async function* rowsOf(sql: Sql, table: MonthTable, month: Month): AsyncGenerator<readonly string[]> {
  const key = ORDER[table]
  for (let after: readonly string[] | null = null; ; ) {
    const from = after === null ? '' : `where (${key.join()}) > (${after.map((value) => `'${value}'`).join()})`
    const rows: readonly Record<string, string>[] = await sql.unsafe(
      `select row_to_json(t)::text as line, ${key.map((column) => `t.${column}::text`).join()}
       from ${partitionOf(table, month)} t ${from} order by ${key.map((column) => `t.${column}`).join()} limit ${ROWS_PER_PAGE}`,
    )
    if (rows.length > 0) yield rows.map(({ line = '' }) => line)
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_PER_PAGE) return
    after = key.map((column) => last[column] ?? '')
  }
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

/** Detaches the month's tables. @throws what the database says when the month cannot be archived (NL020) */
export async function retireMonth(sql: Sql, month: Month): Promise<void> {
  await sql`select retire_month(${month}::text::date)`
}

/** Only of a month that was detached: dropping a partition would block every read and write of its parent. */
export async function dropTables(sql: Sql, month: Month): Promise<void> {
  await sql.unsafe(`drop table ${MONTH_TABLES.map((table) => partitionOf(table, month)).join()}`)
}
