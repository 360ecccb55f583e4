import type { Sql } from './connect.ts'
import { readOnlyFault, type SessionState } from './writable.ts'

/** The server cannot hold the ledger as it is set up. The message names every reason. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
}

const SERVER_VERSION_MIN = 15

/** The settings that decide whether "committed" means "survives", and whether anything can be committed. */
export type ServerSettings = SessionState & { versionNum: number; fsync: string; synchronousCommit: string }

/**
 * Refuses a server that is too old, that takes no writes, or that may lose what it has acknowledged.
 * @throws ServerError naming every unfit setting
 */
export async function checkServer(sql: Sql): Promise<void> {
  const [settings] = await sql<ServerSettings[]>`
    select current_setting('server_version_num')::int as "versionNum",
           current_setting('fsync') as "fsync",
           current_setting('synchronous_commit') as "synchronousCommit",
           current_setting('transaction_read_only')::boolean as "isReadOnly",
           pg_is_in_recovery() as "isInRecovery"`
  if (settings === undefined) throw new ServerError('Cannot use this database server: it did not tell its settings.')
  const faults = faultsOf(settings)
  if (faults.length > 0) throw new ServerError(`Cannot use this database server: ${faults.join(' ')}`)
}

/** Every reason not to use the server, as full sentences; empty when it is fit. */
export function faultsOf({ versionNum, fsync, synchronousCommit, ...session }: ServerSettings): string[] {
  const faults: string[] = []
  const readOnly = readOnlyFault(session)
  if (readOnly !== null) faults.push(`It takes no writes: ${readOnly}. Point DATABASE_URL at the primary.`)
  const major = Math.floor(versionNum / 10_000)
  if (major < SERVER_VERSION_MIN) {
    faults.push(`It is PostgreSQL ${major}, and version ${SERVER_VERSION_MIN} or newer is needed.`)
  }
  if (fsync !== 'on') faults.push('Its setting fsync is off, so that a power cut loses bookings: set fsync = on.')
  if (synchronousCommit === 'off') {
    faults.push('Its setting synchronous_commit is off, so that a crash loses bookings: set synchronous_commit = on.')
  }
  return faults
}
