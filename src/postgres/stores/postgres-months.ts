import { CorruptLedgerError } from '../../core/journal/journal-error.ts'
import type { Month } from '../../core/journal/shard.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
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

/**
 * Those of the units that have archived entries (retire_month in sql/), and the number of the last one of each.
 *
 * - S2 Such a unit is not recovered without the snapshot that replaces them: the remaining entries alone give a wrong state.
 */
export async function archivedOf(
  sql: Sql,
  agencyId: string,
  unitIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ unitId: string; seq: number }[]>`
    select unit_id as "unitId", seq::float8 as "seq" from archived_unit
    where agency_id = ${uuidOf(agencyId)}::text::uuid and unit_id = any (${`{${unitIds.map(uuidOf).join()}}`}::text::uuid[])`
  return new Map(rows.map(({ unitId, seq }) => [idOf('unt', unitId), seq]))
}

/** @throws CorruptLedgerError when entries of the unit after `afterSeq` were archived */
export async function assertNotArchived(
  sql: Sql,
  { agencyId, unitId, afterSeq }: { agencyId: string; unitId: string; afterSeq: number },
): Promise<void> {
  const seq = (await archivedOf(sql, agencyId, [unitId])).get(unitId) ?? 0
  if (seq > afterSeq)
    throw new CorruptLedgerError(
      `Cannot recover unit ${unitId}: its entries up to ${seq} were archived, and the snapshot that takes their place is missing or damaged`,
    )
}
