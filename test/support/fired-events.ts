import { bodyOfEntry } from '../../src/events/webhooks/envelope.ts'
import { type IdPrefix, idOf, uuidOf } from '../../src/lib/ids.ts'
import type { Sql } from '../../src/postgres/client/connect.ts'

/** The body of a webhook event. */
export interface FiredEvent {
  readonly id: string
  readonly event: string
  readonly occurredAt: string
  readonly seq: number
  readonly data: Record<string, unknown>
}

interface AnnouncedRow {
  readonly seq: number
  readonly at: Date
  readonly entry_id: string
  readonly unit_id: string
  readonly other_unit_id: string | null
  readonly booking_id: string
  readonly kind: string
  readonly payload: string
  readonly checksum: string
  readonly source_ref: string | null
}

/** The webhook events that a booking has fired, oldest first, as an endpoint would get them. */
export async function firedEvents(sql: Sql, bookingId: string): Promise<FiredEvent[]> {
  const rows = await sql<AnnouncedRow[]>`
    select j.seq::float8 as seq, j.at, j.entry_id, j.unit_id, j.other_unit_id, j.booking_id, j.kind, j.payload,
           j.checksum::text as checksum, b.source_ref
    from journal j join booking b on b.agency_id = j.agency_id and b.booking_id = j.booking_id
    where j.booking_id = ${uuidOf(bookingId)} and j.is_announced
    order by j.seq`
  const idOrNull = (prefix: IdPrefix, uuid: string | null) => (uuid === null ? null : idOf(prefix, uuid))
  return rows.map(({ seq, kind, payload, checksum, ...row }) => {
    const entry = {
      seq,
      kind,
      payload,
      checksum,
      at: row.at.getTime(),
      id: idOf('evt', row.entry_id),
      unitId: idOf('unt', row.unit_id),
      otherUnitId: idOrNull('unt', row.other_unit_id),
      bookingId: idOf('bkg', row.booking_id),
    }
    return JSON.parse(bodyOfEntry(entry, row.source_ref)) as FiredEvent
  })
}
