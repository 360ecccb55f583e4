import { type Static, Type } from '@sinclair/typebox'
import type { Guest } from '../../core/bookings/booking-lists.ts'
import type { Inventory } from '../../core/catalogue/agency.ts'
import { BOOKING_STATUSES, type Booking } from '../../core/domain/booking.ts'
import { formatNight } from '../../core/domain/night.ts'
import { assert } from '../../lib/assert.ts'
import { charactersOf, dateText } from '../text-schema.ts'
import { timestampOf } from './booking-json.ts'

const nullableText = () => Type.Union([Type.String(), Type.Null()])

const GUEST = {
  id: Type.String(),
  firstName: Type.String(),
  lastName: Type.String(),
  email: nullableText(),
  phone: nullableText(),
  nationality: nullableText(),
  createdAt: Type.String({ format: 'date-time' }),
}

/** See docs/contract.md#guest: personal data, behind a scope of its own. */
export const GuestJson = Type.Object(GUEST, { $id: 'Guest' })

/** See docs/contract.md#limits: stays in a guest read. */
export const GUEST_STAYS_MAX = 100

export const GuestWithStaysJson = Type.Object(
  {
    ...GUEST,
    stays: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Works with `GET /bookings/{id}`.' }),
        unitSlug: Type.String(),
        arrival: dateText('The first night.'),
        departure: dateText('The departure day.'),
        status: Type.Unsafe<Booking['status']>({ type: 'string', enum: [...BOOKING_STATUSES] }),
      }),
      { maxItems: GUEST_STAYS_MAX, description: 'The most recent arrivals first.' },
    ),
  },
  { $id: 'GuestWithStays' },
)

export function guestJson(guest: Guest): Static<typeof GuestJson> {
  const { id, firstName, lastName, email, phone, nationality, createdAt } = guest
  return { id, firstName, lastName, email, phone, nationality, createdAt: timestampOf(createdAt) }
}

export function guestWithStaysJson(
  guest: Guest,
  stays: readonly Booking[],
  inventory: Inventory,
): Static<typeof GuestWithStaysJson> {
  return {
    ...guestJson(guest),
    stays: stays.map(({ id, unitId, arrival, departure, status }) => {
      const unit = inventory.unitById(unitId)
      assert(unit !== null, 'Cannot show a stay: its unit is not in the catalogue')
      return { id, unitSlug: unit.slug, arrival: formatNight(arrival), departure: formatNight(departure), status }
    }),
  }
}

/** A search is applied from this many characters (docs/contract.md#limits). */
export const SEARCH_LENGTH_MIN = 2

/** The search that a list of guests applies; null for none. */
export function searchOf({ search = '' }: { search?: string }): string | null {
  return charactersOf(search) < SEARCH_LENGTH_MIN ? null : search
}
