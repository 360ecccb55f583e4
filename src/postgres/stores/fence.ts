import type { Sql } from '../client/connect.ts'
import { readOnlyFault, type SessionState } from '../client/writable.ts'

/** What the readiness probe reads from the database. */
interface FenceProbe {
  /** The epoch that may write to shard 0, which stands for all where one process has them. */
  readonly epoch: number
  /** Why the server does not accept writes; null when it does. */
  readonly readOnly: string | null
}

/**
 * @param sql of purpose `probes`: a probe must be answered soon, or not at all
 * @throws DeadlineError or a database error when it cannot be read
 */
export async function probeFence(sql: Sql): Promise<FenceProbe> {
  const [row] = await sql<(SessionState & { epoch: number })[]>`
    select epoch::float8 as "epoch", current_setting('transaction_read_only')::boolean as "isReadOnly",
           pg_is_in_recovery() as "isInRecovery"
    from shard where shard = 0`
  if (row === undefined) throw new Error('Cannot read the fence: its row is missing')
  return { epoch: row.epoch, readOnly: readOnlyFault(row) }
}
