/** Whether what is acknowledged survives the loss of the primary: only with a standby that every commit waits for. */
import { ServerError } from './check-server.ts'
import type { Sql } from './connect.ts'

/** What the primary reports about its standbys. */
export interface Standbys {
  /** Whether commits wait for a standby. */
  readonly isSynchronous: boolean
  /** Application names of standbys that no commit waits for. Empty without the right to see them (`pg_read_all_stats`). */
  readonly asynchronous: readonly string[]
}

/**
 * @param options.isRequired whether a server whose commits wait for no standby is refused
 * @throws ServerError
 */
export async function checkStandbys(sql: Sql, { isRequired }: { isRequired: boolean }): Promise<Standbys> {
  const standbys = await readStandbys(sql)
  if (isRequired && !standbys.isSynchronous)
    throw new ServerError(
      'Cannot use this database server: its commits wait for no standby, but REQUIRE_SYNCHRONOUS_STANDBY is true. Set synchronous_standby_names, ' +
        'or remove REQUIRE_SYNCHRONOUS_STANDBY.',
    )
  return standbys
}

/** Readers of single changes (logical replication) are none: they cannot be promoted. */
async function readStandbys(sql: Sql): Promise<Standbys> {
  const [row] = await sql<{ names: string; asynchronous: string[] | null }[]>`
    select current_setting('synchronous_standby_names') as "names",
           (select jsonb_agg(distinct r.application_name) from pg_stat_replication r
            where r.state in ('streaming', 'catchup') and r.sync_state not in ('sync', 'quorum')
              and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')
           ) as "asynchronous"`
  return { isSynchronous: (row?.names ?? '') !== '', asynchronous: row?.asynchronous ?? [] }
}
