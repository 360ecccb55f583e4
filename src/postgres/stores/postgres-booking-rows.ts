import type { BookingRow, BookingRows } from '../../core/bookings/booking-turns.ts'
import type { Instant } from '../../core/domain/booking.ts'
import { decoderOf, type Stored } from '../../core/journal/fields.ts'
import type { ExpiredHold } from '../../core/units/hold-timer.ts'
import { idOf, uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'
import { selected } from './table.ts'
import { BOOKING } from './tables.ts'

/** A row of `booking` as `bookingColumns` selects it. */
export type StoredBooking = Stored<typeof BOOKING.fields>

export function bookingColumns(sql: Sql): Fragment {
  return selected(sql, BOOKING)
}

const decodeRow = decoderOf(BOOKING.fields)

/** @throws CorruptLedgerError */
export function bookingRowOf(row: StoredBooking): BookingRow {
  const { agencyId, seq, guestId: _, notes: __, ...booking } = decodeRow(row)
  return { agencyId, seq, booking }
}

/** Before every hold. */
export const NO_HOLD = { expiry: '-infinity', bookingId: '00000000000000000000000000000000' }

/** What the booking commands look up before they change a booking. */
export class PostgresBookingRows implements BookingRows {
  readonly #sql: Sql
  readonly #shards: () => Iterable<number> | 'all'

  /** @param shards those whose holds are looked for */
  constructor(sql: Sql, shards: () => Iterable<number> | 'all' = () => 'all') {
    this.#sql = sql
    this.#shards = shards
  }

  /** Null: there is none, and every hold would be read in vain. */
  #ofShards(): Fragment | null {
    const shards = this.#shards()
    if (shards === 'all') return this.#sql`true`
    const some = [...shards]
    if (some.length === 0) return null
    return this.#sql`shard_of(agency_id) = any (${`{${some.join()}}`}::text::smallint[])`
  }

  /**
   * Not of a sandbox, whose holds expire by its own clock (SandboxClocks). They are few, and hashed once. Nor of one that has ended: nobody
   * can release those. No index has these agencies, so each hold looks for its own: to hash them would read all agencies every time.
   */
  #isLive(): Fragment {
    return this.#sql`
      agency_id not in (select a.agency_id from agency a where a.clock_now is not null)
      and (select a.status <> 'deleted' from agency a where a.agency_id = booking.agency_id)`
  }

  async find(agencyId: string, bookingId: string): Promise<BookingRow | null> {
    const sql = this.#sql
    const [row] = await sql<StoredBooking[]>`
      select ${bookingColumns(sql)} from booking
      where agency_id = ${uuidOf(agencyId)} and booking_id = ${uuidIn('bkg', bookingId)}`
    return row === undefined ? null : bookingRowOf(row)
  }

  async findAll(agencyId: string, bookingIds: readonly string[]): Promise<readonly BookingRow[]> {
    const sql = this.#sql
    const rows = await sql<StoredBooking[]>`
      select ${bookingColumns(sql)} from booking
      where agency_id = ${uuidOf(agencyId)} and booking_id = any (${`{${bookingIds.map(uuidOf).join()}}`}::text::uuid[])`
    return rows.map(bookingRowOf)
  }

  async ofGroup(agencyId: string, groupId: string): Promise<readonly BookingRow[]> {
    const sql = this.#sql
    const rows = await sql<StoredBooking[]>`
      select ${bookingColumns(sql)} from booking
      where agency_id = ${uuidOf(agencyId)} and group_id = ${uuidIn('grp', groupId)}
      order by booking.booking_id`
    return rows.map(bookingRowOf)
  }

  /** The expiry is passed as text: a `Date` has only milliseconds, and would sort a hold before itself. */
  async expiredHolds(at: Instant, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]> {
    const which = this.#ofShards()
    if (which === null) return []
    const last = after === null ? NO_HOLD : { expiry: after.expiry, bookingId: uuidOf(after.bookingId) }
    const rows = await this.#sql<ExpiredHold[]>`
      select agency_id as "agencyId", unit_id as "unitId", booking_id as "bookingId", hold_expires_at::text as "expiry"
      from booking
      where status in ('draft', 'option') and hold_expires_at <= ${new Date(at)} and ${which} and ${this.#isLive()}
        and (hold_expires_at, booking_id) > (${last.expiry}::text::timestamptz, ${last.bookingId}::text::uuid)
      order by hold_expires_at, booking_id limit ${limit}`
    return rows.map(({ agencyId, unitId, bookingId, expiry }) => ({
      agencyId: idOf('agc', agencyId),
      unitId: idOf('unt', unitId),
      bookingId: idOf('bkg', bookingId),
      expiry,
    }))
  }

  async nextExpiry(at: Instant): Promise<Instant | null> {
    const which = this.#ofShards()
    if (which === null) return null
    const [row] = await this.#sql<{ at: Date | null }[]>`
      select min(hold_expires_at) as "at" from booking
      where status in ('draft', 'option') and hold_expires_at > ${new Date(at)} and ${which} and ${this.#isLive()}`
    return row?.at?.getTime() ?? null
  }
}
