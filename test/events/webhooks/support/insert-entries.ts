import { encodeBooking } from '../../../../src/core/journal/booking-codec.ts'
import { systemIds, uuidOf } from '../../../../src/lib/ids.ts'
import type { Sql } from '../../../../src/postgres/client/connect.ts'
import { inserted } from '../../../../src/postgres/stores/table.ts'
import { BOOKING } from '../../../../src/postgres/stores/tables.ts'
import type { SampleEntry } from './sample-entries.ts'

/** Writes entries and the rows of their bookings, without the writer: their numbers and links need not continue anything. */
export async function insertEntries(sql: Sql, entries: readonly SampleEntry[]): Promise<void> {
  for (const entry of entries) {
    const { agencyId, seq, after } = entry
    // A unit of its own, so that no night is sold twice.
    const booking = encodeBooking({ ...after, unitId: systemIds('unt') })
    await inserted(sql, BOOKING, { ...booking, agencyId, seq, guestId: null, notes: null })
    await sql`
      insert into journal (seq, at, checksum, epoch, agency_id, unit_id, other_unit_id, booking_id, entry_id, actor_id, month,
                           shard, is_announced, kind, actor_kind, link, route, request_id, payload)
      select ${seq}, ${new Date(entry.at)}, ${entry.checksum}, 0, ${uuidOf(agencyId)}, ${uuidOf(entry.unitId ?? '')},
             ${entry.otherUnitId === null ? null : uuidOf(entry.otherUnitId)}::uuid, ${uuidOf(after.id)}, ${uuidOf(entry.id)},
             null, ${entry.month}, ${entry.shard}, ${entry.isAnnounced}, ${entry.kind}, ${entry.actor.kind},
             decode(${Buffer.from(entry.link).toString('hex')}, 'hex'), ${entry.route}, ${entry.requestId}, ${entry.payload}`
  }
}
