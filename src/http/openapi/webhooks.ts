/** The three events (docs/contract.md#events) for the OpenAPI document's `webhooks`. */
import { Type } from '@sinclair/typebox'
import { BookingJson } from '../json/booking-json.ts'

const {
  id,
  unitSlug,
  unitName,
  type,
  status,
  source,
  sourceRef,
  arrival,
  departure,
  nights,
  adults,
  children,
  totalAmount,
  groupId,
} = BookingJson.properties

export const EVENT_DATA = Type.Object(
  {
    id,
    unitSlug,
    unitName,
    type,
    status,
    source,
    sourceRef,
    arrival,
    departure,
    nights,
    adults,
    children,
    totalAmount,
    currency: Type.String(),
    version: Type.Integer({ minimum: 1, description: 'Increases with every change to the booking.' }),
    groupId,
  },
  { $id: 'BookingEventData', description: 'The booking at the time of the event. Contains no guest personal data.' },
)

const EVENTS = {
  'booking.created': 'A booking was created through the portal, the website or a partner key.',
  'booking.updated': "A booking's status, dates or unit changed.",
  'booking.cancelled': 'A booking was cancelled and its nights were released.',
} as const

const EVENT_KIND = Type.Unsafe<keyof typeof EVENTS>({ type: 'string', enum: Object.keys(EVENTS) })

/** What an event has beside its data. */
export const EVENT_MEMBERS = {
  id: Type.String({ description: 'Unique per event: treat repeated ids as duplicates.' }),
  event: EVENT_KIND,
  occurredAt: Type.String({ format: 'date-time' }),
  seq: Type.Integer({ description: 'Increases from event to event: sort by it.' }),
}

function envelope(event: string) {
  const name = event.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Type.Object(
    {
      ...EVENT_MEMBERS,
      event: Type.Literal(event),
      data: EVENT_DATA,
    },
    { $id: `${name}Event` },
  )
}

export const WEBHOOKS = Object.fromEntries(
  Object.entries(EVENTS).map(([event, summary]) => [
    event,
    {
      post: {
        operationId: `on${event.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
        tags: ['Events'],
        summary,
        description:
          "Signed with the endpoint's secret: `X-Service-Signature: t=<unix_seconds>, v1=<hex>`, where `v1` is the " +
          'HMAC-SHA-256 of `<t>.<raw request body>`. Compare in constant time, and reject timestamps more than 300 seconds off.',
        security: [],
        parameters: [
          {
            name: 'X-Service-Signature',
            in: 'header',
            required: true,
            schema: { type: 'string' },
            example: 't=1772323200, v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
          },
        ],
        requestBody: { required: true, content: { 'application/json': { schema: envelope(event) } } },
        responses: {
          '2XX': { description: 'Accepted. Any other response, or none within 10 seconds, is retried.' },
          '4XX': { description: 'Not accepted: retried after 1 min, 5 min, 30 min, 2 h and 6 h.' },
        },
      },
    },
  ]),
)
