import { uuidIn, uuidOf } from '../../lib/ids.ts'
import type { Fragment, Sql } from '../client/connect.ts'

/**
 * The condition `and …` on rows of `journal` that selects the entries of a booking. They are those of the units it has been in, which
 * have an index.
 */
export function ofBooking(sql: Sql, agencyId: string, bookingId: string): Fragment {
  const booking = sql`${uuidIn('bkg', bookingId)}::text::uuid`
  return sql`
    and booking_id = ${booking}
    and unit_id = any (array(
      with recursive stayed_in as (
        select unit_id from booking where agency_id = ${uuidOf(agencyId)} and booking_id = ${booking}
        union
        select j.other_unit_id from stayed_in s
        join journal j on j.unit_id = s.unit_id and j.booking_id = ${booking} and j.other_unit_id is not null)
      select unit_id from stayed_in))`
}
