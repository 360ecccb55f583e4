import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import type { UnitAddress } from '../../core/journal/recovery.ts'
import type { StoredSnapshot } from '../../core/journal/snapshot-codec.ts'
import type { EventAddress, ProjectedBooking, StoredEvent, VerifyStore } from '../../verify/verify-store.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { bookingColumns, bookingRowOf, type StoredBooking } from './postgres-booking-rows.ts'

/** What a verification reads, from the ledger's own tables. */
export class PostgresVerifyStore implements VerifyStore {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async extent(): Promise<{ lastSeq: number; entries: number; numbers: number }> {
    const [row] = await this.#sql<{ lastSeq: number; entries: number; numbers: number }[]>`
      select coalesce(max(seq), 0)::float8 as "lastSeq", count(*)::float8 as "entries",
             count(distinct seq)::float8 as "numbers" from journal`
    return row ?? { lastSeq: 0, entries: 0, numbers: 0 }
  }

  async units(after: UnitAddress, limit: number): Promise<readonly UnitAddress[]> {
    // Each half ends at the limit by itself; of the journal one row of each unit is read, by steps along its key.
    return this.#sql<UnitAddress[]>`
      with recursive filed as (
        (select agency_id, unit_id, 1 as place from journal
         where (agency_id, unit_id) > (${after.agencyId}, ${after.unitId}) order by agency_id, unit_id limit 1)
        union all
        select next.agency_id, next.unit_id, filed.place + 1 from filed cross join lateral (
          select agency_id, unit_id from journal
          where (agency_id, unit_id) > (filed.agency_id, filed.unit_id) order by agency_id, unit_id limit 1
        ) next where filed.place < ${limit}::int
      ), known as (
        select agency_id, unit_id from filed
        union
        (select agency_id, unit_id from unit where (agency_id, unit_id) > (${after.agencyId}, ${after.unitId})
         order by agency_id, unit_id limit ${limit}::int)
      )
      select agency_id as "agencyId", unit_id as "unitId" from known order by agency_id, unit_id limit ${limit}::int`
  }

  async entries(
    { agencyId, unitId }: UnitAddress,
    { after, until, limit }: { after: number; until: number; limit: number },
  ): Promise<readonly StoredEntry[]> {
    const sql = this.#sql
    // With `or` instead of two halves every page would read and sort all of the unit.
    const half = (belongs: Fragment) => sql`
      (select ${entryColumns(sql)} from journal where agency_id = ${agencyId} and ${belongs} and seq > ${after} and seq <= ${until}
       order by journal.seq limit ${limit})`
    return sql<StoredEntry[]>`
      ${half(sql`unit_id = ${unitId}`)} union all ${half(sql`other_unit_id = ${unitId}`)} order by "seq" limit ${limit}`
  }

  async entriesAt(seqs: readonly number[]): Promise<readonly (StoredEntry & { readonly agencyId: string })[]> {
    const sql = this.#sql
    return sql<(StoredEntry & { agencyId: string })[]>`
      select agency_id as "agencyId", ${entryColumns(sql)} from journal
      where seq in (select jsonb_array_elements_text(${JSON.stringify(seqs)}::text::jsonb)::bigint)`
  }

  async snapshots(
    { agencyId, unitId }: UnitAddress,
    untilSeq: number,
    limit: number,
  ): Promise<readonly StoredSnapshot[]> {
    return this.#sql<StoredSnapshot[]>`
      select agency_id as "agencyId", unit_id as "unitId", seq::float8 as "seq", format, hash, state from snapshot
      where agency_id = ${agencyId} and unit_id = ${unitId} and snapshot.seq <= ${untilSeq}
      order by snapshot.seq desc limit ${limit}`
  }

  async bookingsById(agencyId: string, bookingIds: readonly string[]): Promise<readonly ProjectedBooking[]> {
    const sql = this.#sql
    const ids = sql`select jsonb_array_elements_text(${JSON.stringify(bookingIds)}::text::jsonb)`
    const rows = await sql<(StoredBooking & { hasGuest: boolean })[]>`
      select ${bookingColumns(sql)},
             booking.guest_id is null or exists (
               select from guest g where g.agency_id = booking.agency_id and g.guest_id = booking.guest_id
             ) as "hasGuest"
      from booking where booking.agency_id = ${agencyId} and booking.booking_id in (${ids})`
    return rows.map((row) => ({ ...bookingRowOf(row), guestId: row.guestId, hasGuest: row.hasGuest }))
  }

  async strayBookings(
    untilSeq: number,
    limit: number,
  ): Promise<readonly { id: string; unitId: string; seq: number }[]> {
    return this.#sql<{ id: string; unitId: string; seq: number }[]>`
      select b.booking_id as "id", b.unit_id as "unitId", b.seq::float8 as "seq" from booking b
      left join journal j on j.seq = b.seq and j.agency_id = b.agency_id and j.booking_id = b.booking_id
      where b.seq <= ${untilSeq} and j.seq is null order by b.agency_id, b.booking_id limit ${limit}`
  }

  async events(after: EventAddress, untilSeq: number, limit: number): Promise<readonly StoredEvent[]> {
    const rows = await this.#sql<(EventAddress & { seq: number; kind: string; body: string })[]>`
      select agency_id as "agencyId", event_id as "eventId", seq::float8 as "seq", kind, body from webhook_event
      where (agency_id, event_id) > (${after.agencyId}, ${after.eventId})
        and webhook_event.seq between 1 and ${untilSeq}
      order by agency_id, event_id limit ${limit}`
    return rows.map((row) => ({ ...row, body: bodyOf(row.body) }))
  }

  async bookingsShortOfAudit(
    untilSeq: number,
    limit: number,
  ): Promise<readonly { id: string; unitId: string; version: number; lines: number }[]> {
    return this.#sql<{ id: string; unitId: string; version: number; lines: number }[]>`
      select b.booking_id as "id", b.unit_id as "unitId", b.version, coalesce(a.lines, 0)::int as "lines"
      from booking b left join (
        select agency_id, booking_id, count(*) as lines from audit
        where outcome = 'OK' and booking_id is not null group by agency_id, booking_id
      ) a on a.agency_id = b.agency_id and a.booking_id = b.booking_id
      where b.seq <= ${untilSeq} and coalesce(a.lines, 0) < b.version
      order by b.agency_id, b.booking_id limit ${limit}`
  }

  async strayDeliveries(limit: number): Promise<readonly string[]> {
    const rows = await this.#sql<{ id: string }[]>`
      select d.delivery_id as "id" from webhook_delivery d
      left join webhook_event e on e.agency_id = d.agency_id and e.event_id = d.event_id
      left join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
      where e.event_id is null or w.endpoint_id is null order by 1 limit ${limit}`
    return rows.map(({ id }) => id)
  }

  async orphanedDeliveries(limit: number): Promise<readonly string[]> {
    const rows = await this.#sql<{ id: string }[]>`
      select d.delivery_id as "id" from webhook_delivery d
      join webhook_endpoint w on w.agency_id = d.agency_id and w.endpoint_id = d.endpoint_id
      where d.status = 'pending' and w.status = 'deleted' order by 1 limit ${limit}`
    return rows.map(({ id }) => id)
  }
}

function entryColumns(sql: Sql): Fragment {
  return sql`journal.seq::float8 as "seq", unit_id as "unitId", other_unit_id as "otherUnitId", kind, payload, checksum`
}

function bodyOf(text: string): StoredEvent['body'] {
  try {
    const { seq, data } = JSON.parse(text) as { seq: number; data: NonNullable<StoredEvent['body']> }
    const { id, version, status, arrival, departure, totalAmount } = data
    return { seq, id, version, status, arrival, departure, totalAmount }
  } catch {
    return null
  }
}
