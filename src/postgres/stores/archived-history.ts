/**
 * Units whose oldest entries were archived (retire_month in sql/).
 *
 * - S2 Such a unit is not recovered without the snapshot that replaces them: the remaining entries alone give a wrong state.
 */
import { CorruptLedgerError } from '../../core/journal/corrupt-ledger-error.ts'
import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { UnitAddress } from '../../core/journal/recovery.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

/** @throws CorruptLedgerError when entries of the unit after `afterSeq` were archived */
export async function assertNotArchived(
  sql: Sql,
  { unitId, afterSeq }: { unitId: string; afterSeq: number },
): Promise<void> {
  const [base] = await sql<{ seq: number }[]>`
    select snapshot.seq::float8 as "seq" from snapshot
    where unit_id = ${uuidOf(unitId)} and is_base and snapshot.seq > ${afterSeq}`
  if (base !== undefined)
    throw new CorruptLedgerError(
      `Cannot recover unit ${unitId}: its entries up to ${base.seq} may be archived, and its snapshots are damaged`,
    )
}

/**
 * For a unit without a snapshot. The first entry of a unit creates it.
 * @param first the first entry that is left of it
 * @throws CorruptLedgerError when entries before it were archived
 */
export async function assertHistory(
  sql: Sql,
  { agencyId, unitId, first }: UnitAddress & { first: StoredEntry | null },
): Promise<void> {
  if (first?.kind === 'unit_set') return
  const [archived] = await sql<{ seq: number }[]>`
    select s.base::float8 as "seq" from shard s join unit u on u.agency_id = ${uuidOf(agencyId)} and u.unit_id = ${uuidOf(unitId)}
    where s.shard = shard_of(u.agency_id) and s.base > 0`
  if (archived !== undefined)
    throw new CorruptLedgerError(
      `Cannot recover unit ${unitId}: its entries up to ${archived.seq} were archived, and the snapshot that takes their place is missing`,
    )
}
