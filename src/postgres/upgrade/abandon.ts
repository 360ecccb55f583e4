import type { Sql } from '../client/connect.ts'
import { withLockRetries } from './lock-retries.ts'
import type { OnStep } from './progress.ts'

const LOCK_ATTEMPTS_MAX = 360

/**
 * Removes everything that a copy has created, complete or not. Does not change the old tables; the previous version may keep serving.
 * @param main the old schema, quoted
 */
export async function abandonCopy(sql: Sql, main: string, onStep: OnStep): Promise<void> {
  const triggers = await sql<{ name: string; table: string }[]>`
    select t.tgname as "name", t.tgrelid::regclass::text as "table" from pg_trigger t
    join pg_proc p on p.oid = t.tgfoid join pg_namespace n on n.oid = p.pronamespace
    where n.nspname = 'ledger_upgrade'`
  for (const { name, table } of triggers)
    await withLockRetries(
      () => sql.unsafe(`set local lock_timeout = '500ms'; drop trigger if exists ${name} on ${table}`).simple(),
      { attempts: LOCK_ATTEMPTS_MAX, onBusy: () => onStep(`Waiting for a lock on table ${table}`) },
    )
  await sql.unsafe('drop schema if exists ledger_upgrade, ledger_next cascade')
  await sql.unsafe(`drop index concurrently if exists ${main}.webhook_event_upgrade`)
}
