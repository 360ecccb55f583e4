import type { Sql } from './connect.ts'
import { readOnlyFault, type SessionState } from './writable.ts'

/** The server is not fit to hold the ledger. The message names every reason. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
}

const SERVER_VERSION_MIN = 15

/** The settings that decide whether "committed" means "survives", and whether anything can be committed. */
type ServerSettings = SessionState & { versionNum: number; fsync: string; synchronousCommit: string }

/**
 * Refuses a server that is too old, does not accept writes, or may lose what it has acknowledged.
 * @throws ServerError naming every unfit setting
 */
export async function checkServer(sql: Sql): Promise<void> {
  const [settings] = await sql<ServerSettings[]>`
    select current_setting('server_version_num')::int as "versionNum",
           current_setting('fsync') as "fsync",
           current_setting('synchronous_commit') as "synchronousCommit",
           current_setting('transaction_read_only')::boolean as "isReadOnly",
           pg_is_in_recovery() as "isInRecovery"`
  if (settings === undefined) throw new ServerError('Cannot use this database server: it did not report its settings.')
  const faults = faultsOf(settings)
  if (faults.length > 0) throw new ServerError(`Cannot use this database server: ${faults.join(' ')}`)
}

/** Every reason not to use the server, as full sentences; empty when it is fit. */
export function faultsOf({ versionNum, fsync, synchronousCommit, ...session }: ServerSettings): string[] {
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
  return faults
}
