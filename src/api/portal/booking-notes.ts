import { Type } from '@sinclair/typebox'
import type { AgencyBooking } from '../../core/bookings/booking-lists.ts'
import type { Inventory } from '../../core/catalogue/agency.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { nullable, text } from '../../http/text-schema.ts'
import {
  AgencyBookingJson,
  agencyBookingJson,
  type BookingWithoutGuest,
  bookingWithoutGuest,
  withGuest,
} from './booking-json.ts'
import { BOOKING_PATH } from './bookings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { type AgencyCall, agencyRoute, settled } from './portal-route.ts'

export const NOTES_LENGTH_MAX = 2_000
const notes = { maxLength: NOTES_LENGTH_MAX }

const SET_NOTES = {
  id: 'setBookingNotes',
  role: 'desk',
  method: 'PUT',
  path: `${BOOKING_PATH}/notes`,
  tag: 'Bookings',
  summary: 'Set or clear the notes of a booking',
  description:
    'Only the agency reads them. The version of the booking stays as it is, and the change is in the audit trail but not in the feed of changes.',
  body: Type.Object({
    notes: nullable(text({ ...notes, description: 'Null or empty: none.' })),
    replaces: Type.Optional(
      nullable(
        text({
          ...notes,
          description:
            'The notes that the change is based on. If there are others, nothing changes: 409 `NOTES_CHANGED`.',
        }),
      ),
    ),
  }),
  bodyExample: { notes: 'Arrives late: leave the key with the porter.' },
  answer: { status: 200, description: 'The booking.', schema: Type.Object({ booking: AgencyBookingJson }) },
  problems: ['NOTES_CHANGED'],
} as const satisfies PortalOperation

const ERASE_TEXTS = {
  id: 'eraseBookingTexts',
  role: 'owner',
  method: 'POST',
  path: `${BOOKING_PATH}/erase-texts`,
  tag: 'Bookings',
  summary: 'Erase the free texts of a booking',
  description:
    'Erases `notes`, `sourceRef` and `cancelReason` (except `hold_expired`), for example because they name a guest who wants to be forgotten; change the guest separately. ' +
    'The version of the booking stays as it is, and the change is in the audit trail but not in the feed of changes. Partners keep what they received before. ' +
    'An import that finds its bookings by `sourceRef` does not find this one any more.',
  answer: { status: 200, description: 'The booking.', schema: Type.Object({ booking: AgencyBookingJson }) },
} as const satisfies PortalOperation

export const BOOKING_NOTES = [
  agencyRoute(
    ERASE_TEXTS,
    async ({ ledger, agency, caller, keep, path: { bookingId } }) => {
      if (!isIdShaped(bookingId)) return notFound('booking')
      const inventory = await ledger.catalogue.inventory(agency.id)
      const outcome = await ledger.bookingNotes.eraseTexts(agency, bookingId, caller, keep.of(kept(inventory)))
      return settled(outcome, 'booking', (found) => ({ booking: agencyBookingJson(found, inventory) }))
    },
    { shown: replayed },
  ),
  agencyRoute(
    SET_NOTES,
    async ({ ledger, agency, caller, keep, path: { bookingId }, body }) => {
      if (!isIdShaped(bookingId)) return notFound('booking')
      const inventory = await ledger.catalogue.inventory(agency.id)
      const { replaces } = body
      const params = {
        bookingId,
        notes: noneIfEmpty(body.notes),
        replaces: replaces === undefined ? undefined : noneIfEmpty(replaces),
      }
      const outcome = await ledger.bookingNotes.set(agency, params, caller, keep.of(kept(inventory)))
      return settled(outcome, 'booking', (found) => ({ booking: agencyBookingJson(found, inventory) }))
    },
    { shown: replayed },
  ),
]

/** Texts are not kept a second time: an erasure that comes in between would not find them. */
const kept =
  (inventory: Inventory) =>
  ({ booking }: AgencyBooking) => ({
    booking: bookingWithoutGuest({ ...booking, sourceRef: null, cancelReason: null }, inventory),
  })

/** The booking as the first request left it, with its texts as they are now. */
async function replayed({ ledger, agency }: Pick<AgencyCall<unknown>, 'ledger' | 'agency'>, text: string) {
  const { booking } = JSON.parse(text) as { booking: BookingWithoutGuest }
  const found = await ledger.bookings.find(agency.id, booking.id)
  const { sourceRef, cancelReason } = found?.booking ?? { sourceRef: null, cancelReason: null }
  return JSON.stringify({ booking: withGuest({ ...booking, sourceRef, cancelReason }, found) })
}

function noneIfEmpty(entered: string | null): string | null {
  return entered === '' ? null : entered
}
