import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { Booking } from '../../core/domain/booking.ts'
import { BookingJson } from '../json/booking-json.ts'
import { described } from '../openapi/described.ts'
import type { BodyOf, Operation } from '../operation.ts'
import { problemOfRejection } from '../problems/problem-of-rejection.ts'
import { notFound } from '../problems/problems.ts'
import { text } from '../schema/text-schema.ts'
import type { PartnerLedger, PartnerSurface } from './partner-dependencies.ts'
import { type Call, isIdShaped, type Outcome, partnerRoute } from './partner-route.ts'
import { answerOnce, auditedRefusal, writeOnce } from './write-once.ts'

const CANCEL_BOOKING = {
  id: 'cancelBooking',
  method: 'POST',
  path: '/partner/v1/bookings/{id}/cancel',
  tag: 'Bookings',
  summary: 'Cancel a booking',
  description:
    'Releases the nights and keeps the record with the reason. Cancelling a cancelled booking is not an error.',
  scope: 'write:bookings',
  isWrite: true,
  pathParameter: { name: 'id', description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' },
  body: Type.Object({ reason: Type.Optional(Type.Union([text({ maxLength: 255 }), Type.Null()])) }),
  isBodyOptional: true,
  bodyExample: { reason: 'Guest fell ill' },
  answer: {
    status: 200,
    description: 'The cancelled booking; unchanged if it was already cancelled.',
    schema: Type.Object({ booking: BookingJson }),
  },
  problems: ['VALIDATION', 'NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED'],
} as const satisfies Operation

export const cancel = (surface: PartnerSurface) =>
  new Elysia().post(
    '/partner/v1/bookings/:id/cancel',
    partnerRoute(surface, CANCEL_BOOKING, (call) => cancelBooking(surface.ledger, call)),
    described(CANCEL_BOOKING),
  )

async function cancelBooking(
  ledger: PartnerLedger,
  call: Call<unknown, BodyOf<typeof CANCEL_BOOKING>>,
): Promise<Outcome> {
  const { agency, caller, path: bookingId, body } = call
  const reason = body.reason ?? null
  if (!isIdShaped(bookingId)) return auditedRefusal(ledger, call, notFound('booking'))

  return writeOnce(ledger, call, JSON.stringify({ reason }), async (keep) => {
    const inventory = await ledger.catalogue.inventory(agency.id)
    // The booking's unit may have been made since the inventory was read.
    const cancelled = answerOnce(200, () => ledger.catalogue.peekInventory(agency.id) ?? inventory)
    const keepAnswer = keep === null ? undefined : (booking: Booking) => keep(cancelled(booking))
    const outcome = await ledger.commands.cancel(agency, { bookingId, reason }, caller, keepAnswer)
    if (outcome.kind === 'not_found') return notFound('booking')
    return outcome.kind === 'rejected' ? problemOfRejection(outcome.rejection) : cancelled(outcome.booking)
  })
}
