import type { Actor } from '../../core/journal/record.ts'
import { historySchema, historyText } from '../../http/json/history-json.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'

const GET_HISTORY = {
  id: 'getBookingHistory',
  method: 'GET',
  path: '/partner/v1/bookings/{id}/history',
  isLarge: true,
  tag: 'Bookings',
  summary: 'Get the history of a booking',
  description: 'Every change of the booking that fired an event, oldest first, without personal data or free text.',
  scope: 'read:bookings',
  pathParameters: { id: { description: 'Id of the booking.', example: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8' } },
  answer: {
    status: 200,
    description: 'The changes.',
    schema: historySchema(
      choice(['you', 'partner', 'agency', 'system'], {
        description:
          '`you`: this key; `partner`: another key; `agency`: the agency or its operator; `system`: a hold that expired.',
      }),
    ),
  },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

export const HISTORY = [
  partnerRoute(GET_HISTORY, async ({ ledger, agency, key, path: { id } }) => {
    const row = isIdShaped(id) ? await ledger.bookingRows.find(agency.id, id) : null
    if (row === null) return notFound('booking')
    return historyText(ledger.bookingHistory, { agencyId: agency.id, bookingId: id }, (actor) => byOf(actor, key.id))
  }),
]

function byOf({ kind, id }: Actor, keyId: string): string {
  if (kind === 'key') return id === keyId ? 'you' : 'partner'
  return kind === 'system' ? 'system' : 'agency'
}
