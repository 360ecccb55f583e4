import { Type } from '@sinclair/typebox'
import { changeLine } from '../../core/bookings/durable-writes.ts'
import { timeOf } from '../../core/catalogue/agency-time.ts'
import type { ResentPart } from '../../events/webhooks/endpoint-rows.ts'
import { RESEND_PART_MAX, RESENT_DUE_MAX, WAITING_COUNTED_MAX } from '../../events/webhooks/webhook-endpoint.ts'
import { timestampOf } from '../../http/json/booking-json.ts'
import { invalidField, notFound, problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { nullable, text, timestampText } from '../../http/text-schema.ts'
import { parseInstant } from '../../lib/clock.ts'
import type { PortalOperation } from './portal-operation.ts'
import { agencyRoute } from './portal-route.ts'
import { ENDPOINT_PATH } from './webhook-endpoints.ts'

const RESEND = {
  id: 'resendWebhookDeliveries',
  role: 'manager',
  method: 'POST',
  path: `${ENDPOINT_PATH}/resend`,
  tag: 'Webhooks',
  summary: 'Send the deliveries of an endpoint again, from a date on',
  description:
    `Each request sends at most ${RESEND_PART_MAX}, in the order in which they were created: while \`remaining\` is not 0, repeat it with the ` +
    '`until` and `after` of the answer. To stop, send no further request. Pings are left out, and what is still to be sent keeps its schedule.',
  body: Type.Object({
    since: timestampText('Deliveries that were created at this time or later.'),
    until: Type.Optional(timestampText('Deliveries that were created at this time or earlier; left out: up to now.')),
    failedOnly: Type.Optional(
      Type.Boolean({ default: false, description: 'Only deliveries that were given up (`dead`).' }),
    ),
    after: Type.Optional(
      text({ minLength: 1, maxLength: 60, description: 'Continue after this delivery: `after` of the last answer.' }),
    ),
  }),
  bodyExample: { since: '2026-03-01T00:00:00Z', failedOnly: true },
  answer: {
    status: 200,
    description: 'What was sent again, and where to continue.',
    schema: Type.Object({
      resend: Type.Object({
        resent: Type.Integer({ minimum: 0, maximum: RESEND_PART_MAX, description: 'Deliveries sent again.' }),
        remaining: Type.Integer({
          minimum: 0,
          maximum: WAITING_COUNTED_MAX,
          description: `Deliveries that have not been looked at, counted up to ${WAITING_COUNTED_MAX}. 0: this was the last part.`,
        }),
        until: Type.String({ format: 'date-time' }),
        after: nullable(Type.String({ description: 'The last delivery that was looked at.' })),
      }),
    }),
  },
} as const satisfies PortalOperation

/** In it a sender sends more than one part to a receiver that answers. */
const RETRY_S = 2

export const WEBHOOK_RESEND = [
  agencyRoute(
    RESEND,
    async ({ ledger, agency, caller, keep, path: { endpointId }, body }) => {
      if (!isIdShaped(endpointId)) return notFound('webhook endpoint')
      const { failedOnly = false, after = null } = body
      const since = parseInstant(body.since)
      const until = body.until === undefined ? timeOf(agency, ledger.clock) : parseInstant(body.until)
      if (since === null) return invalidField('since', 'must be a date and time with an offset from UTC')
      if (until === null) return invalidField('until', 'must be a date and time with an offset from UTC')
      if (body.until !== undefined && since > until) return invalidField('since', 'must not be after until')
      if (after !== null && !isIdShaped(after)) return invalidField('after', UNKNOWN_AFTER)
      const part = { agencyId: agency.id, endpointId, since, until, failedOnly, after }
      const outcome = await ledger.webhooks.resendSince(part, changeLine(ledger, caller, keep.returned()))
      switch (outcome.kind) {
        case 'not_found':
          return notFound('webhook endpoint')
        case 'busy':
          return problem(
            'RATE_LIMITED',
            `${RESENT_DUE_MAX} deliveries are waiting to be sent, as many as an agency may have to send others again: try again in ${RETRY_S} s`,
            {},
            { retryAfterS: RETRY_S },
          )
        case 'refused':
          return outcome.refusal === 'unknown_after'
            ? invalidField('after', UNKNOWN_AFTER)
            : invalidField('endpointId', 'must belong to an active endpoint: re-enable it first')
        case 'resent':
          return shown(outcome.part)
      }
    },
    { shown: ({ ledger }, kept) => shown(ledger.webhooks.keptPart(kept)) },
  ),
]

const UNKNOWN_AFTER = 'must be the id of a delivery of this endpoint'

function shown(part: ResentPart): string {
  return JSON.stringify({ resend: { ...part, until: timestampOf(part.until) } })
}
