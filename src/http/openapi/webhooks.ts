/** The events (docs/contract.md#events, docs/partner-additions.md#9-changes-of-rates-and-units) for the OpenAPI document's `webhooks`. */
import { type TSchema, Type } from '@sinclair/typebox'
import { BOOKING_EVENTS, UNIT_EVENTS, type WebhookEventKind } from '../../core/domain/booking.ts'
import { BookingJson } from '../json/booking-json.ts'
import { choice, dateText, nullable } from '../text-schema.ts'

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

const EVENT_DATA = Type.Object(
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

const UNIT_EVENT_DATA = Type.Object(
  {
    unitId: Type.String(),
    unitSlug: Type.String({ description: 'Slug of the unit after the change.' }),
    version: Type.Integer({ minimum: 1, description: 'Increases with every change to the unit. Versions have gaps.' }),
    from: nullable(
      dateText('The first date for which prices, minimum stays or restrictions may have changed. Null: no first date.'),
    ),
    to: nullable(dateText('The day after the last such date. Null: no last date. Both null: every date.')),
  },
  { $id: 'UnitEventData', description: 'Which unit changed, and for which dates. Contains no prices.' },
)

const EVENTS: Record<WebhookEventKind, string> = {
  'booking.created': 'A booking was created through the portal, the website or a partner key.',
  'booking.updated': "A booking's status, dates or unit changed.",
  'booking.cancelled': 'A booking was cancelled and its nights were released.',
  'rates.updated': "A unit's rates or restrictions changed. Sent only to endpoints whose `events` include it.",
  'unit.updated':
    'A unit was created, or its master data changed, including base price and minimum stay. Sent only to endpoints whose `events` ' +
    'include it.',
}

/** The members of an event other than its kind and data. */
const EVENT_MEMBERS = {
  id: Type.String({ description: 'Unique per event: treat repeated ids as duplicates.' }),
  occurredAt: Type.String({ format: 'date-time' }),
  seq: Type.Integer({ description: 'Increases from event to event: sort by it.' }),
  mode: Type.Optional(Type.Literal('test', { description: 'Only on events of a sandbox.' })),
}

const dataOf = (event: string) => (event.startsWith('booking.') ? EVENT_DATA : UNIT_EVENT_DATA)

/** An event in the feed of changes. @param cursor the schema of a cursor */
export const changeSchema = <C extends TSchema>(cursor: C) =>
  Type.Union([
    Type.Object({ cursor, ...EVENT_MEMBERS, event: choice(BOOKING_EVENTS), data: EVENT_DATA }, { $id: 'Change' }),
    Type.Object({ cursor, ...EVENT_MEMBERS, event: choice(UNIT_EVENTS), data: UNIT_EVENT_DATA }, { $id: 'UnitChange' }),
  ])

function envelope(event: string) {
  const name = event.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Type.Object(
    {
      ...EVENT_MEMBERS,
      event: Type.Literal(event),
      data: dataOf(event),
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
