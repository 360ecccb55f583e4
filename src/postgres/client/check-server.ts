import type { Sql } from './connect.ts'
import { readOnlyFault, type SessionState } from './failed-write.ts'

/** The server is not fit to hold the ledger. The message names every reason. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
}

const SERVER_VERSION_MIN = 15

/** The settings that decide whether "committed" means "survives", and whether anything can be committed. */
type ServerSettings = SessionState & { versionNum: number; fsync: string; synchronousCommit: string; encoding: string }

/**
 * Refuses a server that is too old, does not accept writes, or may lose what it has acknowledged.
 * @throws ServerError naming every unfit setting
 */
export async function checkServer(sql: Sql): Promise<void> {
  const { faults } = await readServerFaults(sql)
  if (faults.length > 0) throw new ServerError(`Cannot use this database server: ${faults.join(' ')}`)
}

/** The faults for which `checkServer` refuses the server, and its version. */
export async function readServerFaults(
  sql: Sql,
): Promise<{ readonly faults: readonly string[]; readonly version: string }> {
  const [settings] = await sql<(ServerSettings & { version: string })[]>`
    select current_setting('server_version') as "version",
           current_setting('server_version_num')::int as "versionNum",
           current_setting('fsync') as "fsync",
           current_setting('synchronous_commit') as "synchronousCommit",
           current_setting('server_encoding') as "encoding",
           current_setting('transaction_read_only')::boolean as "isReadOnly",
           pg_is_in_recovery() as "isInRecovery"`
  if (settings === undefined) throw new ServerError('Cannot use this database server: it did not report its settings.')
  return { faults: faultsOf(settings), version: settings.version }
}

/** Every reason not to use the server, as full sentences; empty when it is fit. */
export function faultsOf({ versionNum, fsync, synchronousCommit, encoding, ...session }: ServerSettings): string[] {
  const faults: string[] = []
  const readOnly = readOnlyFault(session)
  if (readOnly !== null) faults.push(`It does not accept writes: ${readOnly}. Set DATABASE_URL to the primary.`)
  const major = Math.floor(versionNum / 10_000)
  if (major < SERVER_VERSION_MIN) {
    faults.push(`It runs PostgreSQL ${major}; version ${SERVER_VERSION_MIN} or newer is required.`)
  }
  if (fsync !== 'on') faults.push('The setting fsync is off, so a power failure can lose bookings: set fsync = on.')
  if (synchronousCommit === 'off') {
    faults.push('The setting synchronous_commit is off, so a crash can lose bookings: set synchronous_commit = on.')
  }
  if (encoding !== 'UTF8') {
    faults.push(
      `The database has the encoding ${encoding}, which cannot store every name: create one with encoding 'UTF8' template template0.`,
    )
  }
  return faults
}

/**
 * What the primary reports about its standbys: only with one that every commit waits for does what is acknowledged survive the loss of the
 * primary.
 */
export interface Standbys {
  /** Whether commits wait for a standby. */
  readonly isSynchronous: boolean
  /** Whether they wait for one that is not connected: none can end. */
  readonly isAwaited: boolean
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
  // Without `pg_read_all_stats`, the states are null.
  const [row] = await sql<{ names: string; isConnected: boolean; asynchronous: string[] | null }[]>`
    select current_setting('synchronous_standby_names') as "names",
           exists (select from pg_stat_replication
                   where sync_state is null or sync_state in ('sync', 'quorum')) as "isConnected",
           (select jsonb_agg(distinct r.application_name) from pg_stat_replication r
            where r.state in ('streaming', 'catchup') and r.sync_state not in ('sync', 'quorum')
              and not exists (select from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')
           ) as "asynchronous"`
  const isSynchronous = (row?.names ?? '') !== ''
  return { isSynchronous, isAwaited: isSynchronous && !row?.isConnected, asynchronous: row?.asynchronous ?? [] }
}
