/** Fields that a quote and a booking have in common (contract, POST /quote, POST /bookings, Limits). */
import { Type } from '@sinclair/typebox'
import { dateText, text } from '../schema/text-schema.ts'

export const STAY_FIELDS = {
  unit: text({ minLength: 1, description: 'Slug of the unit.', examples: ['sea-view'] }),
  arrival: dateText('The first night.'),
  departure: dateText('The departure day: after arrival, at most 366 nights later.'),
}

export const PARTY_FIELDS = {
  adults: Type.Optional(Type.Integer({ minimum: 1, maximum: 20, default: 2 })),
  children: Type.Optional(Type.Integer({ minimum: 0, maximum: 10, default: 0 })),
  extraBed: Type.Optional(Type.Boolean({ default: false, description: 'Ignored without children.' })),
}
