import type { Sql } from '../client/connect.ts'
import { upgradeState } from './old-ledger.ts'
import { UpgradeError } from './upgrade-error.ts'

const DEPENDENT_OBJECTS = '2BP01'

/**
 * Ends the way back: removes the old tables. The present version may serve meanwhile.
 * @throws UpgradeError when the database has no old tables, or they are still in use
 */
export async function finishUpgrade(sql: Sql): Promise<void> {
  const { stage } = await upgradeState(sql)
  if (stage === 'none') throw new UpgradeError('Nothing to finish: this database has no tables of an earlier layout')
  if (stage !== 'switched')
    throw new UpgradeError(
      'Cannot finish: the old tables are still in use. Start the service of this version, which switches to the new ones',
    )
  const tables = await sql<{ name: string }[]>`
    select c.oid::regclass::text as "name" from pg_class c
    where c.relnamespace = 'ledger_previous'::regnamespace and c.relkind = 'r'`
  // Not `cascade`: views of the operator's own may depend on the old tables.
  if (tables.length > 0) await sql.unsafe(`drop table ${tables.map(({ name }) => name).join(', ')}`).catch(stillUsed)
  await sql.unsafe('drop schema ledger_previous, ledger_upgrade cascade')
}

function stillUsed(error: unknown): never {
  const detail = error instanceof Error && 'detail' in error ? String(error.detail) : ''
  if (error instanceof Error && 'code' in error && error.code === DEPENDENT_OBJECTS)
    throw new UpgradeError(`Cannot finish: other objects use the old tables. Remove them first: ${detail}`, {
      cause: error,
    })
  throw error
}

/** How far an upgrade is. */
export interface UpgradeReport {
  readonly stage: 'none' | 'old' | 'copying' | 'switched'
  /** Of the tables that are copied row by row: copied and present rows, the latter estimated. Null before the copy is begun. */
  readonly rows: { readonly copied: number; readonly total: number } | null
  /** Of the old journal: the last number that is copied, and the last one. */
  readonly entries: { readonly copied: number; readonly total: number } | null
  readonly unknownCallers: number
  readonly differentBodies: number
  readonly switchedAt: Date | null
}

/** Reads only. */
export async function reportUpgrade(sql: Sql): Promise<UpgradeReport> {
  const { stage, main } = await upgradeState(sql)
  if (stage === 'none' || stage === 'old')
    return { stage, rows: null, entries: null, unknownCallers: 0, differentBodies: 0, switchedAt: null }
  const journal = stage === 'copying' ? main : 'ledger_previous'
  const [row] = await sql.unsafe<ReportRow[]>(
    `select p.copied_seq::float8 as "entriesCopied", p.unknown_callers::float8 as "unknownCallers",
            p.different_bodies::float8 as "differentBodies", p.switched_at as "switchedAt",
            coalesce((select max(seq) from ${journal}.journal), 0)::float8 as "entriesTotal",
            (select sum(copied) from ledger_upgrade.mirror)::float8 as "rowsCopied",
            (select sum(case when is_copied then copied else greatest(copied, estimate) end)
             from ledger_upgrade.mirror)::float8 as "rowsTotal"
     from ledger_upgrade.progress p`,
  )
  if (row === undefined) throw new UpgradeError('Cannot read how far the upgrade is: its row is missing')
  const { unknownCallers, differentBodies, switchedAt } = row
  return {
    ...{ stage, unknownCallers, differentBodies, switchedAt },
    rows: { copied: row.rowsCopied, total: row.rowsTotal },
    entries: { copied: row.entriesCopied, total: row.entriesTotal },
  }
}

interface ReportRow {
  readonly entriesCopied: number
  readonly entriesTotal: number
  readonly rowsCopied: number
  readonly rowsTotal: number
  readonly unknownCallers: number
  readonly differentBodies: number
  readonly switchedAt: Date | null
}
