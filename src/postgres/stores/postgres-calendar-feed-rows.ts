import type { CalendarFeedRows } from '../../accounts/calendar-feeds.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import { uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { auditedWrite } from './audited-write.ts'

export class PostgresCalendarFeedRows implements CalendarFeedRows {
  readonly #sql: Sql
  readonly #epochOf: (agencyId: string) => number

  /** @param epochOf returns the current epoch of this writer for the agency, which may rise (Journal.epochOf) */
  constructor(sql: Sql, epochOf: (agencyId: string) => number) {
    this.#sql = sql
    this.#epochOf = epochOf
  }

  async version(agencyId: string, unitId: string): Promise<number> {
    const [row] = await this.#sql<{ version: number }[]>`
      select version from calendar_feed where agency_id = ${uuidOf(agencyId)} and unit_id = ${uuidOf(unitId)}`
    return row?.version ?? 0
  }

  async raiseVersion(agencyId: string, unitId: string, audit: ChangeLine): Promise<number> {
    const change = this.#sql`
      insert into calendar_feed (agency_id, unit_id, version) values (${uuidOf(agencyId)}, ${uuidOf(unitId)}, 1)
      on conflict (agency_id, unit_id) do update set version = calendar_feed.version + 1
      returning version`
    const input = { agencyId, epoch: this.#epochOf(agencyId), audit, change }
    const row = await auditedWrite<{ version: number }>(this.#sql, input)
    if (row === null) throw new Error('Cannot change a calendar address: no row came back')
    return row.version
  }
}
