import type { ClockRows, DueHold } from '../../core/bookings/sandbox-clocks.ts'
import type { SandboxClock } from '../../core/catalogue/agency-time.ts'
import type { Instant } from '../../core/domain/booking.ts'
import type { ChangeLine } from '../../core/journal/record.ts'
import { shardOf } from '../../core/journal/shard.ts'
import type { ExpiredHold } from '../../core/units/hold-timer.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Sql } from '../client/connect.ts'
import { auditedWrite, fencedWrite } from './audited-write.ts'
import { NO_HOLD } from './postgres-booking-rows.ts'

/** The clocks of sandboxes, in the rows of their agencies. */
export class PostgresSandboxClocks implements ClockRows {
  readonly #sql: Sql
  readonly #epochOf: (agencyId: string) => number

  /** @param epochOf as for PostgresAgencyStore */
  constructor(sql: Sql, epochOf: (agencyId: string) => number) {
    this.#sql = sql
    this.#epochOf = epochOf
  }

  async aim(agencyId: string, target: Instant, audit: ChangeLine): Promise<void> {
    const change = this.#sql`
      update agency set clock_target = ${new Date(target)}
      where agency_id = ${uuidOf(agencyId)} and clock_target <= ${new Date(target)} returning true as aimed`
    await auditedWrite(this.#sql, { agencyId, epoch: this.#epochOf(agencyId), audit, change })
  }

  /** Sending it twice changes nothing. */
  async reach(agencyId: string, now: Instant): Promise<void> {
    await fencedWrite(this.#sql`
      with fence as (select check_fence(${shardOf(agencyId)}, ${this.#epochOf(agencyId)}) as held)
      update agency set clock_now = greatest(clock_now, ${new Date(now)})
      where (select held from fence) and agency_id = ${uuidOf(agencyId)}`)
  }

  async read(agencyId: string): Promise<SandboxClock | null> {
    const [row] = await this.#sql<{ now: Date; target: Date }[]>`
      select clock_now as "now", clock_target as "target" from agency
      where agency_id = ${uuidOf(agencyId)} and clock_now is not null`
    return row === undefined ? null : { now: row.now.getTime(), target: row.target.getTime() }
  }

  /** By the index of all holds: an index of each agency's own would be one more for every hold of live agencies. */
  async expiredHolds(agencyId: string, until: Instant, after: ExpiredHold | null, limit: number): Promise<DueHold[]> {
    const last = after === null ? NO_HOLD : { expiry: after.expiry, bookingId: uuidOf(after.bookingId) }
    const rows = await this.#sql<{ unitId: string; bookingId: string; expiry: string; at: Date }[]>`
      select unit_id as "unitId", booking_id as "bookingId", hold_expires_at::text as "expiry", hold_expires_at as "at"
      from booking
      where agency_id = ${uuidOf(agencyId)} and status in ('draft', 'option') and hold_expires_at <= ${new Date(until)}
        and (hold_expires_at, booking_id) > (${last.expiry}::text::timestamptz, ${last.bookingId}::text::uuid)
      order by hold_expires_at, booking_id limit ${limit}`
    return rows.map(({ unitId, bookingId, expiry, at }) => ({
      agencyId,
      unitId: idOf('unt', unitId),
      bookingId: idOf('bkg', bookingId),
      expiry,
      at: at.getTime(),
    }))
  }
}
