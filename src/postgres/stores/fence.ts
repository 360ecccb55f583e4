import { withDeadline } from '../../lib/deadline.ts'
import type { Sql } from '../client/connect.ts'
import { readOnlyFault, type SessionState } from '../client/writable.ts'

/** A probe must be answered soon, or not at all. */
const PROBE_MS_MAX = 1_000

/** What the readiness probe reads from the database. */
export interface FenceProbe {
  /** The epoch that may write. */
  readonly epoch: number
  /** Why the server does not accept writes; null when it does. */
  readonly readOnly: string | null
}

/** @throws DeadlineError or a database error when it cannot be read */
export async function probeFence(sql: Sql): Promise<FenceProbe> {
  const [row] = await withDeadline(
    sql<(SessionState & { epoch: number })[]>`
      select epoch::float8 as "epoch", current_setting('transaction_read_only')::boolean as "isReadOnly",
             pg_is_in_recovery() as "isInRecovery"
      from writer_fence`,
    PROBE_MS_MAX,
  )
  if (row === undefined) throw new Error('Cannot read the fence: its row is missing')
  return { epoch: row.epoch, readOnly: readOnlyFault(row) }
}
