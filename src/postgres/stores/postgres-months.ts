import type { Month } from '../../core/journal/shard.ts'
import type { Sql } from '../client/connect.ts'

/** Months that have partitions in advance: housekeeping may fail for that long before rows go into a month that is not theirs. */
const MONTHS_AHEAD = 3

/**
 * Creates the partitions of this month and the next three, by the clock of the database. Nothing that reads or writes waits for it.
 * @returns the newest month that has partitions
 */
export async function ensureMonths(sql: Sql): Promise<Month> {
  const [row] = await sql<{ newest: Month }[]>`
    select ensure_months((now() at time zone 'UTC' + ${MONTHS_AHEAD}::integer * interval '1 month')::date)::text as newest`
  if (row === undefined) throw new Error('Cannot create partitions: the database did not answer with a month')
  return row.newest
}
