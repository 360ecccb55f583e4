import type { BookingEntry, BookingHistory } from '../../core/bookings/booking-lists.ts'
import type { StoredEntry } from '../../core/journal/entry-codec.ts'
import { type Actor, actorOf } from '../../core/journal/record.ts'
import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { ListReads } from './list-reads.ts'
import { entryOf } from './loaded-rows.ts'

type HistoryRow = StoredEntry & { at: Date; actorKind: Actor['kind']; actorId: string | null }

/** Reads the journal entries of a booking. */
export class PostgresBookingHistory implements BookingHistory {
  readonly #lists: ListReads

  constructor(lists: ListReads) {
    this.#lists = lists
  }

  async read(
    agencyId: string,
    bookingId: string,
    { before, limit }: { before: BookingEntry | null; limit: number },
  ): Promise<readonly BookingEntry[]> {
    const { sql } = this.#lists
    const lastUnit = before?.otherUnitId ?? before?.unitId ?? null
    const unit = lastUnit === null ? null : uuidOf(lastUnit)
    const statement = sql<HistoryRow[]>`
      select seq::float8 as "seq", at, actor_kind as "actorKind", actor_id as "actorId", unit_id as "unitId", other_unit_id as "otherUnitId",
             booking_id as "bookingId", kind, payload, checksum
      from changes_of_booking(${uuidOf(agencyId)}, ${uuidIn('bkg', bookingId)}, ${unit}, ${before?.seq ?? null}, ${limit})`
    const rows = await this.#lists.read(agencyId, statement)
    return rows.map((row) => ({ ...entryOf(row), at: row.at.getTime(), actor: actorOf(row.actorKind, row.actorId) }))
  }
}
