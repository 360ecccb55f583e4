import type { Sql } from '../client/connect.ts'
import { MIGRATIONS } from '../schema/migrations.ts'

/** The newest version of the layout before shards. */
export const OLD_VERSION = (MIGRATIONS[0]?.version ?? 1) - 1

/**
 * - `none`: the database has the new layout from the start, or is empty.
 * - `old`: it has the layout before shards, and nothing is copied.
 * - `copying`: a copy into the new layout was begun; the previous version may still serve.
 * - `switched`: it has the new layout, and the old one is kept for the way back.
 */
export type UpgradeStage = 'none' | 'old' | 'copying' | 'switched'

export interface UpgradeState {
  readonly stage: UpgradeStage
  /** The schema that the program's tables are in, quoted for SQL. */
  readonly main: string
}

/** Where an upgrade of this database stands. */
export async function upgradeState(sql: Sql): Promise<UpgradeState> {
  const [found] = await sql<{ main: string; hasCopy: boolean }[]>`
    select n.oid::regnamespace::text as "main", to_regclass('ledger_upgrade.progress') is not null as "hasCopy"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.oid = to_regclass('schema_migration')`
  if (found === undefined) return { stage: 'none', main: 'public' }
  const { main } = found
  if (found.hasCopy) {
    const [progress] = await sql<{ state: 'copying' | 'switched' }[]>`select state from ledger_upgrade.progress`
    return { stage: progress?.state ?? 'copying', main }
  }
  const [newest] = await sql<{ version: number }[]>`select max(version) as "version" from schema_migration`
  const version = newest?.version ?? 0
  return { stage: version > 0 && version <= OLD_VERSION ? 'old' : 'none', main }
}
