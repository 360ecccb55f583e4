import { historySchema, historyText } from '../../http/json/history-json.ts'
import { notFound } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice } from '../../http/text-schema.ts'
import { BOOKING_PATH } from './bookings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'

const GET_HISTORY = {
  id: 'getBookingHistory',
  role: 'viewer',
  method: 'GET',
  path: `${BOOKING_PATH}/history`,
  tag: 'Bookings',
  summary: 'Get the history of a booking',
  description: 'Every change of the booking that fired an event, oldest first, without personal data or free text.',
  answer: {
    status: 200,
    description: 'The changes.',
    schema: historySchema(
      choice(['partner', 'agency', 'system'], {
        description: '`partner`: an API key; `agency`: the agency or its operator; `system`: a hold that expired.',
      }),
    ),
  },
} as const satisfies PortalOperation

export const BOOKING_HISTORY = [
  agencyRoute(GET_HISTORY, async ({ ledger, agency, path: { bookingId } }) => {
    const found = isIdShaped(bookingId) ? await ledger.bookings.find(agency.id, bookingId) : null
    if (found === null) return notFound('booking')
    return historyText(ledger.bookingHistory, { agencyId: agency.id, bookingId }, ({ kind }) => {
      if (kind === 'key') return 'partner'
      return kind === 'system' ? 'system' : 'agency'
    })
  }),
]
