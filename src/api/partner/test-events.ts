import { Type } from '@sinclair/typebox'
import { isSandbox } from '../../core/catalogue/agency.ts'
import type { Operation } from '../../http/operation.ts'
import { notFound, problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, text } from '../../http/text-schema.ts'
import { partnerRoute } from './partner-route.ts'
import { NO_SANDBOX } from './test-clock.ts'

const KINDS = ['duplicate', 'reorder', 'late', 'bad_signature', 'old_timestamp'] as const
const RETRY_AFTER_S = 10

const SEND_TEST_EVENT = {
  id: 'sendTestEvent',
  method: 'POST',
  path: '/partner/v1/test/events',
  tag: 'Sandbox',
  summary: 'Send the last event of a booking again, with a fault',
  description:
    'To the active webhook endpoints of the sandbox whose `events` include it. `duplicate`: the same event again. `reorder`: the last event, then the one before it. ' +
    '`late`: after 10 s. `bad_signature`: signed with another secret. `old_timestamp`: signed ten minutes ago. No delivery is recorded.',
  scope: 'write:bookings',
  takesIdempotencyKey: false,
  body: Type.Object({
    bookingId: text({ description: 'Id of the booking.', examples: ['bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8'] }),
    kind: choice(KINDS),
  }),
  bodyExample: { bookingId: 'bkg_019a2b3c4d5e7f008192a3b4c5d6e7f8', kind: 'duplicate' },
  answer: {
    status: 202,
    description: 'The events are being sent.',
    schema: Type.Object({
      eventIds: Type.Array(Type.String(), { description: 'In the order in which they are sent.' }),
      endpoints: Type.Integer({ description: 'How many endpoints get them.' }),
    }),
  },
  problems: ['VALIDATION', 'NOT_FOUND'],
} as const satisfies Operation

const BUSY = problem(
  'RATE_LIMITED',
  'Too many test events of this sandbox are being sent: retry when the receiver has answered',
  {},
  { retryAfterS: RETRY_AFTER_S },
)

export const TEST_EVENTS = [
  partnerRoute(SEND_TEST_EVENT, async ({ ledger, sandboxEvents, agency, caller, body }) => {
    if (!isSandbox(agency)) return NO_SANDBOX
    if (!isIdShaped(body.bookingId)) return notFound('booking')
    const sent = await sandboxEvents.send(agency.id, body.bookingId, body.kind)
    if (sent.kind !== 'sent') return sent.kind === 'busy' ? BUSY : notFound('booking')
    await ledger.commands.auditSuccess(agency, caller)
    const { eventIds, endpoints } = sent
    return JSON.stringify({ eventIds, endpoints })
  }),
]
