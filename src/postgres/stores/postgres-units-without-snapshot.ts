import type { UnitAddress } from '../../core/journal/recovery.ts'
import { SNAPSHOT_FORMAT } from '../../core/journal/snapshot-codec.ts'
import type { UnitsWithoutSnapshot } from '../../core/units/month-snapshots.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'

const FIRST = '0'.repeat(32)

/** Which units have no intact snapshot yet of what they were at the end of last month, by the clock of the database. */
export class PostgresUnitsWithoutSnapshot implements UnitsWithoutSnapshot {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async page(
    after: UnitAddress | null,
    limit: number,
  ): Promise<{ units: readonly UnitAddress[]; next: UnitAddress | null }> {
    const [agencyId, unitId] = after === null ? [FIRST, FIRST] : [uuidOf(after.agencyId), uuidOf(after.unitId)]
    // Of each unit one entry is read from each index. What counts as intact is what `retire_month` takes.
    const rows = await this.#sql<(UnitAddress & { isLacking: boolean })[]>`
      select u.agency_id as "agencyId", u.unit_id as "unitId",
             last.seq is not null and not exists (
               select from snapshot s where s.unit_id = u.unit_id and s.seq >= last.seq and s.format = ${SNAPSHOT_FORMAT}
                 and s.hash = encode(sha256(convert_to('unt_' || replace(s.unit_id::text, '-', '') || E'\\n' || s.state, 'UTF8')), 'hex')
             ) as "isLacking"
      from unit u
      cross join lateral (select date_trunc('month', now() at time zone 'UTC')::date as month) this
      cross join lateral (
        select greatest(
          (select j.seq from journal j where j.unit_id = u.unit_id and j.month < this.month order by j.seq desc limit 1),
          (select j.seq from journal j where j.other_unit_id = u.unit_id and j.month < this.month order by j.seq desc limit 1)
        ) as seq) last
      where (u.agency_id, u.unit_id) > (${agencyId}::text::uuid, ${unitId}::text::uuid)
      order by u.agency_id, u.unit_id limit ${limit}`
    const units = rows.map((row) => ({
      agencyId: idOf('agc', row.agencyId),
      unitId: idOf('unt', row.unitId),
      isLacking: row.isLacking,
    }))
    const last = units.length < limit ? null : (units.at(-1) ?? null)
    return { units: units.filter(({ isLacking }) => isLacking), next: last }
  }
}
