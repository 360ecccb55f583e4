import { withDeadline } from '../lib/deadline.ts'
import type { Sql } from './connect.ts'

/** A probe must be answered soon, or not at all. */
const PROBE_MS_MAX = 1_000

/**
 * The epoch that holds the ledger now.
 * @throws DeadlineError or a database error when it cannot be told
 */
export async function fenceEpoch(sql: Sql): Promise<number> {
  const [row] = await withDeadline(
    sql<{ epoch: number }[]>`select epoch::float8 as "epoch" from writer_fence`,
    PROBE_MS_MAX,
  )
  if (row === undefined) throw new Error('Cannot read the fence: its row is missing')
  return row.epoch
}
