import type { MonthUsed, UsageDraft } from '../../access/usage-meter.ts'
import type { Sql } from '../client/connect.ts'

/** Ten years. */
const MONTHS_MAX = 120

/** Requests used per agency and month: totals, of which the highest is kept. */
export class PostgresUsageRows {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /**
   * What a usage meter starts from: all agencies' use of this month.
   * @param month `YYYY-MM`; later months come too, in case the clock of an earlier process was ahead
   */
  async loadFrom(month: string): Promise<readonly UsageDraft[]> {
    return this.#sql<UsageDraft[]>`
      select agency_id as "agencyId", month, used::float8 as "used" from usage_month where month >= ${month}`
  }

  /** @throws an error of class `fenced` when another writer has taken over, DeadlineError, or what the database answers */
  async keep(epoch: number, totals: readonly UsageDraft[]): Promise<void> {
    const rows = JSON.stringify(totals)
    await this.#sql`select keep_usage(${epoch}::text::bigint, ${rows}::text::jsonb)`
  }

  /** The agency's months, newest first, the last ten years at most; the current one as of the meter's last flush. */
  async usageOf(agencyId: string): Promise<readonly MonthUsed[]> {
    return this.#sql<MonthUsed[]>`
      select month, used::float8 as "used" from usage_month
      where agency_id = ${agencyId} order by month desc limit ${MONTHS_MAX}`
  }
}
