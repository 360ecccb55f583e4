import type { DayUsed, KeyUse, MonthUsed, UsageDraft } from '../../accounts/usage-meter.ts'
import type { ShardEpoch } from '../../core/journal/journal-store.ts'
import { shardOf } from '../../core/journal/shard.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { fencesText } from './append-batch.ts'

/** Ten years. */
const MONTHS_MAX = 120

/** Requests used per agency, by month and by day: totals, of which the highest is kept. And when keys were last used: the latest. */
export class PostgresUsageRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * What a usage meter starts from: all agencies' use of this month.
   * @param month `YYYY-MM`; later months come too, in case the clock of an earlier process was ahead
   * @param shards of these agencies only; null: of all
   */
  async loadFrom(month: string, shards: readonly number[] | null = null): Promise<readonly UsageDraft[]> {
    const which =
      shards === null
        ? this.#sql`true`
        : this.#sql`agency_id in (
            select a.agency_id from agency a where shard_of(a.agency_id) = any (${`{${shards.join()}}`}::text::smallint[]))`
    const rows = await this.#sql<UsageDraft[]>`
      select agency_id as "agencyId", month, used::float8 as "used" from usage_month where month >= ${month} and ${which}`
    return rows.map((row) => ({ ...row, agencyId: idOf('agc', row.agencyId) }))
  }

  /**
   * Under the fences of the agencies' shards, because a total belongs to its agency.
   * @param epochOf returns the current epoch of this writer for the agency, which may rise (Journal.epochOf)
   * @throws an error of class `fenced` when another writer has taken over, DeadlineError, or what the database answers
   */
  async keep(
    epochOf: (agencyId: string) => number,
    totals: readonly UsageDraft[],
    uses: readonly KeyUse[] = [],
  ): Promise<void> {
    const rows = JSON.stringify(totals.map((total) => ({ ...total, agencyId: uuidOf(total.agencyId) })))
    const { shards, epochs } = fencesText(fencesOf([...totals, ...uses], epochOf))
    const alongside = uses.length === 0 ? this.#sql`` : this.#sql`, keep_key_uses(${usesText(uses)}::text::jsonb)`
    await this.#sql`
      select keep_usage(${shards}::text::smallint[], ${epochs}::text::bigint[], ${rows}::text::jsonb)${alongside}`
  }

  /** The agency's months, newest first, the last ten years at most; the current one as of the meter's last flush. */
  async usageOf(agencyId: string): Promise<readonly MonthUsed[]> {
    return this.#sql<MonthUsed[]>`
      select month, used::float8 as "used" from usage_month
      where agency_id = ${uuidOf(agencyId)} order by month desc limit ${MONTHS_MAX}`
  }

  /**
   * The agency's days on which requests were counted, newest first, as of the meter's last flush.
   * @param from `YYYY-MM-DD`
   */
  async daysOf(agencyId: string, from: string): Promise<readonly DayUsed[]> {
    return this.#sql<DayUsed[]>`
      select day::text, used::float8 as "used", total_after::float8 as "total" from (
        select day, total_after,
               greatest(0, total_after - greatest(min(total_before) over whole, max(total_after) over earlier)) as used
        from usage_day where agency_id = ${uuidOf(agencyId)} and day >= date_trunc('month', ${from}::text::date)
        window whole as (partition by date_trunc('month', day)),
               earlier as (whole order by day rows between unbounded preceding and 1 preceding)) d
      where used > 0 and day >= ${from}::text::date order by day desc`
  }
}

function usesText(uses: readonly KeyUse[]): string {
  return JSON.stringify(
    uses.map(({ agencyId, keyId, usedAt }) => ({
      agencyId: uuidOf(agencyId),
      keyId: uuidOf(keyId),
      usedAt: new Date(usedAt).toISOString(),
    })),
  )
}

/** One of each shard, in order. */
function fencesOf(
  rows: readonly { readonly agencyId: string }[],
  epochOf: (agencyId: string) => number,
): readonly ShardEpoch[] {
  const epochs = new Map(rows.map(({ agencyId }) => [shardOf(agencyId), epochOf(agencyId)]))
  return [...epochs].map(([shard, epoch]) => ({ shard, epoch })).sort((a, b) => a.shard - b.shard)
}
