import { type Static, Type } from '@sinclair/typebox'
import { WEBHOOK_EVENTS } from '../../core/domain/booking.ts'
import type { WebhookDelivery } from '../../events/webhooks/sender-store.ts'
import { WAITING_COUNTED_MAX, type WebhookEndpoint } from '../../events/webhooks/webhook-endpoint.ts'
import { timestampOf, timestampOrNull } from '../../http/json/booking-json.ts'
import { choice, nullable } from '../../http/text-schema.ts'

const timestamp = () => Type.String({ format: 'date-time' })

export const WebhookEndpointJson = Type.Object(
  {
    id: Type.String(),
    url: Type.String(),
    description: nullable(Type.String()),
    events: Type.Array(choice(WEBHOOK_EVENTS), { description: 'The events that the endpoint gets.' }),
    status: choice(['active', 'disabled'], {
      description: '`disabled`: switched off after too many consecutive failures.',
    }),
    disabledReason: nullable(Type.String()),
    consecutiveFailures: Type.Integer({ minimum: 0 }),
    previousSecretUntil: nullable(timestamp()),
    waitingEvents: Type.Integer({
      minimum: 0,
      maximum: WAITING_COUNTED_MAX,
      description:
        `Events that are not queued for delivery yet, counted up to ${WAITING_COUNTED_MAX}. Those of a disabled endpoint wait ` +
        'until it is re-enabled: `pending` decides whether they are sent.',
    }),
    waitingDeliveries: Type.Integer({
      minimum: 0,
      maximum: WAITING_COUNTED_MAX,
      description:
        `Deliveries that are neither delivered nor given up, counted up to ${WAITING_COUNTED_MAX}. Those of a disabled endpoint are ` +
        '`held` until it is re-enabled.',
    }),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
  { $id: 'WebhookEndpoint' },
)

export const DeliveryJson = Type.Object(
  {
    id: Type.String(),
    endpointId: Type.String(),
    eventId: Type.String(),
    event: choice([...WEBHOOK_EVENTS, 'ping']),
    bookingId: nullable(
      Type.String({ description: 'Id of the booking that the event is about; null if it is not about a booking.' }),
    ),
    status: choice(['pending', 'held', 'delivered', 'dead', 'dropped']),
    attempts: Type.Array(
      Type.Object({
        attempt: Type.Integer({ minimum: 1 }),
        at: timestamp(),
        durationMs: Type.Number({ minimum: 0 }),
        httpStatus: nullable(Type.Integer({ description: "The receiver's status code." })),
        reason: nullable(Type.String({ description: 'Why there was no response.' })),
      }),
    ),
    nextAttemptAt: nullable(timestamp()),
    createdAt: timestamp(),
    finishedAt: nullable(timestamp()),
  },
  { $id: 'Delivery' },
)

export function webhookEndpointJson(endpoint: WebhookEndpoint): Static<typeof WebhookEndpointJson> {
  const { id, url, description, events, status, disabledReason, consecutiveFailures } = endpoint
  return {
    id,
    url,
    description,
    events: [...events],
    status,
    disabledReason,
    consecutiveFailures,
    previousSecretUntil: timestampOrNull(endpoint.previousSecretUntil),
    waitingEvents: endpoint.waitingEvents,
    waitingDeliveries: endpoint.waitingDeliveries,
    createdAt: timestampOf(endpoint.createdAt),
    updatedAt: timestampOf(endpoint.updatedAt),
  }
}

export function deliveryJson(delivery: WebhookDelivery): Static<typeof DeliveryJson> {
  const { id, endpointId, eventId, event, bookingId, status, attempts } = delivery
  return {
    id,
    endpointId,
    eventId,
    event,
    bookingId,
    status,
    attempts: attempts.map(({ attempt, at, durationMs, httpStatus, reason }) => ({
      attempt,
      durationMs,
      httpStatus,
      reason,
      at: timestampOf(at),
    })),
    nextAttemptAt: timestampOrNull(delivery.nextAttemptAt),
    createdAt: timestampOf(delivery.createdAt),
    finishedAt: timestampOrNull(delivery.finishedAt),
  }
}
