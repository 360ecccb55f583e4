/** What a ledger has, in the terms of the old layout, read from either layout. */
import type { AuditEntry } from '../../src/admin/audit-list.ts'
import type { IdPrefix } from '../../src/lib/ids.ts'
import { connect, type Sql } from '../../src/postgres/client/connect.ts'
import { ListReads } from '../../src/postgres/stores/list-reads.ts'
import { PostgresAuditList } from '../../src/postgres/stores/postgres-audit-list.ts'
import { ID_COLUMNS } from '../../src/postgres/upgrade/foreign-ids.ts'

/** The old tables with a present one of the same name, and the columns that nobody is shown. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  agency: [],
  api_key: [],
  unit: [],
  fee_type: [],
  calendar_feed: [],
  usage_month: [],
  guest: ['email_key', 'search_text'],
  booking: [],
  idempotency: [],
  webhook_endpoint: [],
  webhook_delivery: [],
  webhook_attempt: [],
  secret_key_check: [],
}

/** The rows of all those tables as JSON, with the columns of the old layout. */
export async function rowsInOldTerms(sql: Sql, schema = 'public'): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {}
  for (const [table, hidden] of Object.entries(TABLES)) {
    const columns = OLD_COLUMNS[table]?.filter((column) => !hidden.includes(column)) ?? []
    const rows = await sql.unsafe<{ row: Record<string, unknown> }[]>(
      `select to_jsonb(t) as row from ${schema}.${table} t`,
    )
    all[table] = rows
      .map(({ row }) =>
        JSON.stringify(Object.fromEntries(columns.map((column) => [column, asText(table, column, row[column])]))),
      )
      .sort()
  }
  return all
}

/** By table; read once from a database in the old layout. */
const OLD_COLUMNS: Record<string, string[]> = {}

export async function readOldColumns(sql: Sql): Promise<void> {
  const rows = await sql<{ table: string; column: string }[]>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = 'public' order by table_name, column_name`
  for (const { table } of rows) OLD_COLUMNS[table] = []
  for (const { table, column } of rows) OLD_COLUMNS[table]?.push(column)
}

function asText(table: string, column: string, value: unknown): unknown {
  const prefix: IdPrefix | undefined = ID_COLUMNS[table]?.[column]
  if (prefix === undefined || typeof value !== 'string' || value.startsWith(`${prefix}_`)) return value
  return `${prefix}_${value.replaceAll('-', '')}`
}

/** What both layouts say of a line. The ids of the lines differ. */
export type ShownLine = Omit<AuditEntry, 'id' | 'event' | 'pricing'>

export async function oldAuditTrail(sql: Sql, agencyId: string): Promise<ShownLine[]> {
  const rows = await sql<{ line: ShownLine & { at: string } }[]>`
    select jsonb_build_object('at', at, 'actor', jsonb_build_object('kind', actor_kind, 'id', actor_id), 'route', route,
      'outcome', outcome, 'bookingId', booking_id, 'requestId', request_id, 'count', count) as "line"
    from audit where agency_id = ${agencyId}`
  return inOrder(rows.map(({ line }) => ({ ...line, at: Date.parse(line.at) })))
}

export async function auditTrail(url: string, agencyId: string): Promise<ShownLine[]> {
  const sql = connect(url, { purpose: 'lists' })
  const none = {
    from: null,
    to: null,
    actorKind: null,
    keyId: null,
    tokenId: null,
    outcome: null,
    bookingId: null,
    requestId: null,
  }
  const { rows } = await new PostgresAuditList(new ListReads(sql)).list(agencyId, none, { offset: 0, limit: 1_000 })
  await sql.end({ timeout: 1 })
  return inOrder(rows.map(({ id: _, pricing: __, ...line }) => line))
}

function inOrder(lines: readonly ShownLine[]): ShownLine[] {
  return lines
    .map((line) => ({
      at: line.at,
      actor: { kind: line.actor.kind, id: line.actor.id },
      ...{
        route: line.route,
        outcome: line.outcome,
        bookingId: line.bookingId,
        requestId: line.requestId,
        count: line.count,
      },
    }))
    .sort((a, b) => a.at - b.at || (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
