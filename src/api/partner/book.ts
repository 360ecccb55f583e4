import { Type } from '@sinclair/typebox'
import type { BookingRequest } from '../../core/bookings/booking-request.ts'
import type { Quote } from '../../core/domain/pricing.ts'
import type { Stay } from '../../core/domain/stay.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { ifMatchOf } from '../http/entity-tag.ts'
import { BookingJson } from '../json/booking-json.ts'
import { quoteTag } from '../json/quote-json.ts'
import { guestOf, NEW_BOOKING_FIELDS, PARTY_FIELDS, STAY_FIELDS } from '../json/request-fields.ts'
import { stayOf } from '../json/stay-fields.ts'
import type { BodyOf, Operation } from '../operation.ts'
import { invalidField, notFound } from '../problems/problems.ts'
import { choice } from '../schema/text-schema.ts'
import { partnerRoute } from './partner-route.ts'
import { recordedRefusal, writeOnce } from './write-once.ts'

/** See docs/contract.md#post-bookings and docs/contract.md#limits. Price-shaped fields are not in it: they are ignored. */
const NEW_BOOKING = Type.Object({
  ...STAY_FIELDS,
  status: Type.Optional(
    choice(['draft', 'option', 'confirmed'], {
      default: 'confirmed',
      description: '`draft` and `option` are holds that expire on their own.',
    }),
  ),
  ...PARTY_FIELDS,
  ...NEW_BOOKING_FIELDS,
})

const CREATE_BOOKING = {
  id: 'createBooking',
  method: 'POST',
  path: '/partner/v1/bookings',
  tag: 'Bookings',
  summary: 'Create a booking',
  description:
    'The pricing engine computes the total when the booking is written. Checks run in this order: minimum stay, cleaning ' +
    'block after the previous checkout, announced extension of the current guest, double booking. None can be overridden. ' +
    'With `If-Match`, the price is checked last.',
  scope: 'write:bookings',
  takesIfMatch: true,
  body: NEW_BOOKING,
  bodyExample: {
    unit: 'sea-view',
    arrival: '2027-03-01',
    departure: '2027-03-05',
    adults: 2,
    sourceRef: 'A-1001',
    guest: { firstName: 'Ana', lastName: 'Reis', email: 'ana@example.com' },
  },
  answer: { status: 201, description: 'The booking.', schema: Type.Object({ booking: BookingJson }) },
  problems: [
    'VALIDATION',
    'NOT_FOUND',
    'BOOKING_CONFLICT',
    'TURNOVER_BLOCK_CONFLICT',
    'EXPECTED_EXTENSION_CONFLICT',
    'QUOTE_CHANGED',
    'MIN_STAY',
    'IDEMPOTENCY_KEY_REUSED',
  ],
} as const satisfies Operation

export const BOOK = [
  partnerRoute(CREATE_BOOKING, (call) => {
    const { ledger, agency, caller, body } = call
    const stay = stayOf(body)
    if ('code' in stay) return stay
    const wanted = wantedOf(body, stay)
    const asked = { status: 201, canonicalBody: () => JSON.stringify([body.unit, wanted]) }
    return writeOnce(call, asked, async (keep) => {
      // Read here, because a repeated request is answered without it.
      const inventory = ledger.catalogue.peekInventory(agency.id) ?? (await ledger.catalogue.inventory(agency.id))
      const ifMatch = ifMatchOf(call.request.headers.get('if-match'))
      if (ifMatch.kind === 'malformed') return recordedRefusal(call, MALFORMED_IF_MATCH)
      const unit = inventory.sellableUnit(body.unit)
      if (unit === null) return recordedRefusal(call, notFound('unit'))
      const isAgreed =
        ifMatch.kind === 'any' ? undefined : (quote: Quote) => ifMatch.tags.includes(quoteTag(unit, quote))
      return ledger.commands.book(agency, { ...requestOf(unit, wanted), isAgreed }, caller, keep)
    })
  }),
]

const MALFORMED_IF_MATCH = invalidField(
  'If-Match',
  'must be * or a list of entity tags in double quotes, such as the ETag of a quote',
)

/** The request without its unit, defaults filled in, members in a fixed order. */
function wantedOf(body: BodyOf<typeof CREATE_BOOKING>, stay: Stay) {
  return {
    stay,
    status: body.status ?? 'confirmed',
    sourceRef: body.sourceRef ?? null,
    adults: body.adults ?? 2,
    children: body.children ?? 0,
    extraBed: body.extraBed ?? false,
    notes: body.notes ?? null,
    holdHours: body.holdHours ?? null,
    guest: guestOf(body.guest),
  }
}

function requestOf(unit: Unit, wanted: ReturnType<typeof wantedOf>): BookingRequest {
  return { ...wanted, unit, type: 'guest', source: 'partner', enforcement: 'partner' }
}
