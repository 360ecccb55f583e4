/**
 * - L1 Only what is due is returned or deleted, and a booking only if all of its entries are archived.
 */

import type { Retention } from '../../accounts/retention.ts'
import type { GuestPlace, RetainedAgency, RetentionRows } from '../../accounts/retention-job.ts'
import { formatNight, type Night } from '../../core/domain/night.ts'
import { encodeInstant } from '../../core/journal/fields.ts'
import type { AuditDraft, ChangeLine } from '../../core/journal/record.ts'
import { type Month, shardOf } from '../../core/journal/shard.ts'
import { idOf, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { auditedWrite, fencedWrite } from './audited-write.ts'

type OwnRow = { readonly [N in keyof Retention]: number | null }

/** What retention reads, and what it removes besides guests. */
export class PostgresRetentionRows implements RetentionRows {
  readonly #sql: Sql
  readonly #epochOf: (agencyId: string) => number

  /** @param epochOf returns the current epoch of this writer for the agency (Journal.epochOf) */
  constructor(sql: Sql, epochOf: (agencyId: string) => number) {
    this.#sql = sql
    this.#epochOf = epochOf
  }

  async find(agencyId: string): Promise<Partial<Retention>> {
    const [row] = await this.#sql<OwnRow[]>`
      select ${this.#columns()} from agency_retention r where r.agency_id = ${uuidOf(agencyId)}`
    return row === undefined ? {} : ownOf(row)
  }

  async set(agencyId: string, own: Partial<Retention>, audit: ChangeLine): Promise<void> {
    const { bookingYears = null, guestMonths = null, logYears = null, deliveryDays = null } = own
    const change = this.#sql`
      insert into agency_retention (agency_id, booking_years, guest_months, log_years, delivery_days)
      values (${uuidOf(agencyId)}, ${bookingYears}, ${guestMonths}, ${logYears}, ${deliveryDays})
      on conflict (agency_id) do update set
        booking_years = excluded.booking_years, guest_months = excluded.guest_months, log_years = excluded.log_years,
        delivery_days = excluded.delivery_days
      returning true`
    await auditedWrite(this.#sql, { agencyId, epoch: this.#epochOf(agencyId), audit, change })
  }

  async agencies(): Promise<readonly RetainedAgency[]> {
    const rows = await this.#sql<(OwnRow & { agencyId: string })[]>`
      select a.agency_id as "agencyId", ${this.#columns()}
      from agency a left join agency_retention r on r.agency_id = a.agency_id
      where a.status <> 'deleted' and a.clock_now is null order by a.agency_id`
    return rows.map(({ agencyId, ...own }) => ({ agencyId: idOf('agc', agencyId), own: ownOf(own) }))
  }

  async dueGuests(
    agencyId: string,
    { before, after, limit }: { before: Night; after: GuestPlace | null; limit: number },
  ): Promise<{ guestIds: readonly string[]; next: GuestPlace | null }> {
    const { createdAt, guestId } = after ?? { createdAt: '-infinity', guestId: uuidOf(agencyId) }
    const day = formatNight(before)
    // The page is of all that were created before the day, so that a statement reads no more rows than it may return. Stays that were
    // cancelled are none.
    const rows = await this.#sql<(GuestPlace & { isDue: boolean })[]>`
      select g.created_at::text as "createdAt", g.guest_id as "guestId", not g.keep and not exists (
               select from booking b
               where b.guest_id = g.guest_id and b.agency_id = g.agency_id and b.status <> 'cancelled'
                 and b.departure >= ${day}::text::date) as "isDue"
      from guest g
      where g.agency_id = ${uuidOf(agencyId)} and g.created_at < ${day}::text::date at time zone 'UTC'
        and g.created_at >= ${createdAt}::text::timestamptz
        and (g.created_at, g.guest_id) > (${createdAt}::text::timestamptz, ${guestId}::text::uuid)
      order by g.created_at, g.guest_id limit ${limit}`
    return {
      guestIds: rows.filter(({ isDue }) => isDue).map((row) => idOf('gst', row.guestId)),
      next: rows.length < limit ? null : (rows.at(-1) ?? null),
    }
  }

  async countDueBookings(agencyId: string, before: Night): Promise<number> {
    const [row] = await this.#sql<{ count: number }[]>`
      select count(*)::float8 as "count" from booking b where ${this.#isDue(agencyId, before)}`
    return row?.count ?? 0
  }

  async deleteBookings(
    agencyId: string,
    { before, limit, audit }: { before: Night; limit: number; audit: AuditDraft },
  ): Promise<number> {
    const { auditId, at, actor, route, outcome } = audit
    const isDue = this.#isDue(agencyId, before)
    // Twice: of a booking that is being moved meanwhile, releases of PostgreSQL from before November 2025 do not check the place again.
    const [row] = await fencedWrite(this.#sql<{ count: number }[]>`
      with fence as materialized (select check_fence(${shardOf(agencyId)}, ${this.#epochOf(agencyId)}) as held),
      deleted as (
        delete from booking b where (select held from fence) and ${isDue} and b.ctid = any (array(
          select b.ctid from booking b where ${isDue} limit ${limit}))
        returning 1),
      counted as (select count(*) as count, ${encodeInstant(at)}::text::timestamptz as at from deleted),
      audited as (
        insert into audit_line (at, count, agency_id, line_id, month, actor_kind, route, outcome)
        select at, count, ${uuidOf(agencyId)}, ${uuidOf(auditId)}, storage_month(at), ${actor.kind}, ${route}, ${outcome}
        from counted where count > 0)
      select count::float8 as "count" from counted`)
    return row?.count ?? 0
  }

  async countMonths(before: Month): Promise<number> {
    const [row] = await this.#sql<{ count: number }[]>`
      select count(*)::float8 as "count"
      from ledger, generate_series(oldest_month::timestamp, newest_month::timestamp, interval '1 month') as m (month)
      where m.month < ${before}::text::date`
    return row?.count ?? 0
  }

  async forgetDeliveries(before: Month): Promise<void> {
    await this.#sql`select forget_deliveries(${before}::text::date)`
  }

  /** All entries of a booking have numbers up to that of its last one. */
  #isDue(agencyId: string, before: Night): Fragment {
    const day = formatNight(before)
    return this.#sql`
      b.agency_id = ${uuidOf(agencyId)} and b.arrival < ${day}::text::date and b.departure < ${day}::text::date
      and b.seq <= (select s.base from shard s where s.shard = ${shardOf(agencyId)})`
  }

  #columns(): Fragment {
    return this.#sql`
      r.booking_years as "bookingYears", r.guest_months as "guestMonths", r.log_years as "logYears",
      r.delivery_days as "deliveryDays"`
  }
}

function ownOf(row: OwnRow): Partial<Retention> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
}
