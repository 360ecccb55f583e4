import type { StoredEntry } from '../journal/entry-codec.ts'
import type { UnitAddress } from '../journal/recovery.ts'
import type { StoredSnapshot } from '../journal/snapshot-codec.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { ProjectedBooking, StoredEvent, VerifyStore } from '../verify/verify-store.ts'
import { bookingColumns, bookingRowOf, type StoredBooking } from './booking-rows.ts'
import type { Sql } from './connect.ts'

/** A verification may take its time, but not for ever. */
const VERIFY_DEADLINE_MS = 60_000

/** What a verification reads, from the ledger's own tables. */
export class PostgresVerifyStore implements VerifyStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async extent(): Promise<{ lastSeq: number; entries: number; numbers: number }> {
    const [row] = await withDeadline(
      this.#sql<{ lastSeq: number; entries: number; numbers: number }[]>`
        select coalesce(max(seq), 0)::float8 as "lastSeq", count(*)::float8 as "entries",
               count(distinct seq)::float8 as "numbers" from journal`,
      VERIFY_DEADLINE_MS,
    )
    return row ?? { lastSeq: 0, entries: 0, numbers: 0 }
  }

  async units(after: UnitAddress, limit: number): Promise<readonly UnitAddress[]> {
    return withDeadline(
      this.#sql<UnitAddress[]>`
        select agency_id as "agencyId", unit_id as "unitId" from (
          select agency_id, unit_id from unit where (agency_id, unit_id) > (${after.agencyId}, ${after.unitId})
          union
          select agency_id, unit_id from journal where (agency_id, unit_id) > (${after.agencyId}, ${after.unitId})
        ) known order by agency_id, unit_id limit ${limit}`,
      VERIFY_DEADLINE_MS,
    )
  }

  async entries({ agencyId, unitId }: UnitAddress, untilSeq: number): Promise<readonly StoredEntry[]> {
    return withDeadline(
      this.#sql<StoredEntry[]>`
        select seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", kind, payload, checksum
        from journal
        where agency_id = ${agencyId} and (unit_id = ${unitId} or other_unit_id = ${unitId}) and seq <= ${untilSeq}
        order by seq`,
      VERIFY_DEADLINE_MS,
    )
  }

  async snapshots({ agencyId, unitId }: UnitAddress, untilSeq: number): Promise<readonly StoredSnapshot[]> {
    return withDeadline(
      this.#sql<StoredSnapshot[]>`
        select agency_id as "agencyId", unit_id as "unitId", seq::float8 as "seq", format, hash, state from snapshot
        where agency_id = ${agencyId} and unit_id = ${unitId} and seq <= ${untilSeq} order by seq`,
      VERIFY_DEADLINE_MS,
    )
  }

  async bookingsIn({ agencyId, unitId }: UnitAddress): Promise<readonly ProjectedBooking[]> {
    const sql = this.#sql
    return projected(sql, sql`booking.agency_id = ${agencyId} and booking.unit_id = ${unitId}`)
  }

  async bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]> {
    if (bookingIds.length === 0) return []
    const sql = this.#sql
    const ids = sql`select jsonb_array_elements_text(${JSON.stringify(bookingIds)}::text::jsonb)`
    return projected(sql, sql`booking.agency_id = ${agencyId} and booking.booking_id in (${ids})`)
  }

  async events(agencyId: string, untilSeq: number): Promise<readonly StoredEvent[]> {
    const rows = await withDeadline(
      this.#sql<{ seq: number; kind: string; body: string }[]>`
        select seq::float8 as "seq", kind, body from webhook_event
        where agency_id = ${agencyId} and seq <= ${untilSeq}`,
      VERIFY_DEADLINE_MS,
    )
    return rows.map(({ seq, kind, body }) => {
      const envelope = JSON.parse(body) as { seq: number; data: StoredEvent['body'] }
      const { id, version, status, arrival, departure, totalAmount } = envelope.data
      return { seq, kind, body: { seq: envelope.seq, id, version, status, arrival, departure, totalAmount } }
    })
  }

  async auditLines(agencyId: string): Promise<ReadonlyMap<string, number>> {
    const rows = await withDeadline(
      this.#sql<{ id: string; lines: number }[]>`
        select booking_id as "id", count(*)::int as "lines" from audit
        where agency_id = ${agencyId} and outcome = 'OK' and booking_id is not null group by booking_id`,
      VERIFY_DEADLINE_MS,
    )
    return new Map(rows.map(({ id, lines }) => [id, lines]))
  }

  async strayDeliveries(): Promise<readonly string[]> {
    const rows = await withDeadline(
      this.#sql<{ id: string }[]>`
        select d.delivery_id as "id" from webhook_delivery d
        left join webhook_event e on e.agency_id = d.agency_id and e.event_id = d.event_id
        left join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
        where e.event_id is null or w.endpoint_id is null order by 1 limit 1000`,
      VERIFY_DEADLINE_MS,
    )
    return rows.map(({ id }) => id)
  }

  async orphanedDeliveries(): Promise<readonly string[]> {
    const rows = await withDeadline(
      this.#sql<{ id: string }[]>`
        select d.delivery_id as "id" from webhook_delivery d
        join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
        where d.status = 'pending' and w.status = 'deleted' order by 1 limit 1000`,
      VERIFY_DEADLINE_MS,
    )
    return rows.map(({ id }) => id)
  }
}

type ProjectedRow = StoredBooking & { hasGuest: boolean }

async function projected(sql: Sql, where: ReturnType<Sql>): Promise<readonly ProjectedBooking[]> {
  const rows = await withDeadline(
    sql<ProjectedRow[]>`
      select ${bookingColumns(sql)},
             booking.guest_id is null or exists (
               select from guest g where g.agency_id = booking.agency_id and g.guest_id = booking.guest_id
             ) as "hasGuest"
      from booking where ${where}`,
    VERIFY_DEADLINE_MS,
  )
  return rows.map((row) => ({
    ...bookingRowOf(row),
    guestId: row.guestId,
    hasGuest: row.hasGuest,
  }))
}
