import { Type } from '@sinclair/typebox'
import { changeLine, successLine } from '../../core/bookings/durable-writes.ts'
import type { WebhookDelivery } from '../../events/webhooks/sender-store.ts'
import { PINGS_PER_AGENCY_MAX } from '../../events/webhooks/webhook-commands.ts'
import { PAGE_QUERY, pageMembers, pageOf, pageSchema } from '../../http/json/page.ts'
import { invalidField, notFound, problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { BOOKING_PATH } from './bookings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, agencyRoute } from './portal-route.ts'
import { ENDPOINT_PATH } from './webhook-endpoints.ts'
import { DeliveryJson, deliveryJson } from './webhook-json.ts'

const deliveryAnswer = {
  status: 200,
  description: 'The delivery.',
  schema: Type.Object({ delivery: DeliveryJson }),
} as const

const PING = {
  id: 'pingWebhookEndpoint',
  role: 'manager',
  method: 'POST',
  path: `${ENDPOINT_PATH}/ping`,
  tag: 'Webhooks',
  summary: 'Send a test message now and return the result',
  description: 'One attempt. It does not affect the count of failed deliveries.',
  answer: { ...deliveryAnswer, description: 'The delivery and its outcome.' },
} as const satisfies PortalOperation

const LIST = {
  id: 'listWebhookDeliveries',
  role: 'viewer',
  method: 'GET',
  path: `${ENDPOINT_PATH}/deliveries`,
  tag: 'Webhooks',
  summary: 'List the deliveries of an endpoint with their attempts, newest first',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('deliveries', DeliveryJson) },
} as const satisfies PortalOperation

const LIST_OF_BOOKING = {
  id: 'listBookingDeliveries',
  role: 'viewer',
  method: 'GET',
  path: `${BOOKING_PATH}/deliveries`,
  tag: 'Webhooks',
  summary: 'List the deliveries of a booking to all endpoints, newest first',
  query: Type.Object(PAGE_QUERY),
  answer: { status: 200, description: 'A page of results.', schema: pageSchema('deliveries', DeliveryJson) },
} as const satisfies PortalOperation

const RESEND = {
  id: 'resendWebhookDelivery',
  role: 'manager',
  method: 'POST',
  path: `${AGENCY_PATH}/deliveries/{deliveryId}/resend`,
  tag: 'Webhooks',
  summary: 'Send a delivery again, regardless of its outcome',
  description: 'Same id and body, with a new retry schedule.',
  answer: deliveryAnswer,
} as const satisfies PortalOperation

/** Pings in progress end within 10 s (docs/contract.md#delivery, rule 1). */
const PING_RETRY_S = 10

const shown = (delivery: WebhookDelivery) => ({ delivery: deliveryJson(delivery) })

export const WEBHOOK_DELIVERIES = [
  agencyRoute(PING, async ({ ledger, agency, caller, keep, path: { endpointId } }) => {
    if (!isIdShaped(endpointId)) return notFound('webhook endpoint')
    const outcome = await ledger.webhooks.ping(agency.id, endpointId, successLine(ledger, caller), keep.of(shown))
    if (outcome.kind === 'not_found') return notFound('webhook endpoint')
    if (outcome.kind === 'busy')
      return problem(
        'RATE_LIMITED',
        `Too many pings are in progress (an agency has at most ${PINGS_PER_AGENCY_MAX} at once): try again in ${PING_RETRY_S} s`,
        {},
        { retryAfterS: PING_RETRY_S },
      )
    return JSON.stringify(shown(outcome.delivery))
  }),
  agencyRoute(LIST, async ({ ledger, agency, path: { endpointId }, query }) => {
    const page = pageOf(query)
    const found = isIdShaped(endpointId) ? await ledger.webhooks.deliveries(agency.id, endpointId, page) : null
    if (found === null) return notFound('webhook endpoint')
    return JSON.stringify({ deliveries: found.rows.map(deliveryJson), ...pageMembers(page, found.total) })
  }),
  agencyRoute(LIST_OF_BOOKING, async ({ ledger, agency, path: { bookingId }, query }) => {
    const page = pageOf(query)
    const isKnown = isIdShaped(bookingId) && (await ledger.bookings.find(agency.id, bookingId)) !== null
    if (!isKnown) return notFound('booking')
    const { rows, total } = await ledger.webhooks.deliveriesOfBooking(agency.id, bookingId, page)
    return JSON.stringify({ deliveries: rows.map(deliveryJson), ...pageMembers(page, total) })
  }),
  agencyRoute(
    RESEND,
    async ({ ledger, agency, caller, keep, path: { deliveryId } }) => {
      if (!isIdShaped(deliveryId)) return notFound('delivery')
      const outcome = await ledger.webhooks.resend(agency.id, deliveryId, changeLine(ledger, caller, keep.returned()))
      if (outcome.kind === 'not_found') return notFound('delivery')
      if (outcome.kind === 'refused')
        return outcome.refusal === 'is_ping'
          ? invalidField('deliveryId', 'must not be a ping: send a new ping instead')
          : invalidField('deliveryId', 'must belong to an existing endpoint: this one was deleted')
      return JSON.stringify(shown(outcome.delivery))
    },
    { shown: ({ ledger }, kept) => JSON.stringify(shown(ledger.webhooks.keptDelivery(kept))) },
  ),
]
