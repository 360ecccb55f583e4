import { Type } from '@sinclair/typebox'
import { BookingJson } from '../json/booking-json.ts'
import { optionalText } from '../json/request-fields.ts'
import type { Operation } from '../operation.ts'
import { notFound } from '../problems/problems.ts'
import { isIdShaped } from '../route/id-shape.ts'
import { partnerRoute } from './partner-route.ts'
import { writeOnce } from './write-once.ts'

const CANCEL_BOOKING = {
  id: 'cancelBooking',
  method: 'POST',
  path: '/partner/v1/bookings/{id}/cancel',
  tag: 'Bookings',
  summary: 'Cancel a booking',
  description:
    'Releases the nights and keeps the record with the reason. Cancelling a cancelled booking is not an error.',
  scope: 'write:bookings',
  pathParameters: { id: { description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  body: Type.Object({ reason: optionalText(255) }),
  isBodyOptional: true,
  bodyExample: { reason: 'Guest fell ill' },
  answer: {
    status: 200,
    description: 'The cancelled booking; unchanged if it was already cancelled.',
    schema: Type.Object({ booking: BookingJson }),
  },
  problems: ['VALIDATION', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

export const CANCEL = [
  partnerRoute(CANCEL_BOOKING, (call) => {
    const { ledger, agency, caller, path, body } = call
    const { reason = null } = body
    if (!isIdShaped(path.id)) return notFound('booking')
    return writeOnce(call, { status: 200, canonicalBody: () => JSON.stringify({ reason }) }, (keep) =>
      ledger.commands.cancel(agency, { bookingId: path.id, reason }, caller, keep),
    )
  }),
]
