import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { BookingRequest } from '../../core/bookings/booking-request.ts'
import type { Booking } from '../../core/domain/booking.ts'
import type { Stay } from '../../core/domain/stay.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { BookingJson } from '../json/booking-json.ts'
import { PARTY_FIELDS, STAY_FIELDS } from '../json/request-fields.ts'
import { stayOf } from '../json/stay-fields.ts'
import { described } from '../openapi/described.ts'
import type { BodyOf, Operation } from '../operation.ts'
import { problemOfRejection } from '../problems/problem-of-rejection.ts'
import { notFound } from '../problems/problems.ts'
import { choice, EMAIL_LENGTH_MAX, text } from '../schema/text-schema.ts'
import type { PartnerLedger, PartnerSurface } from './partner-dependencies.ts'
import { type Call, type Outcome, partnerRoute } from './partner-route.ts'
import { answerOnce, auditedRefusal, writeOnce } from './write-once.ts'

const nullableText = (maxLength: number, description?: string) =>
  Type.Optional(Type.Union([text({ maxLength }), Type.Null()], description === undefined ? {} : { description }))

/** Contract, POST /bookings and Limits. Price-shaped fields are not in it: they are ignored. */
const NEW_BOOKING = Type.Object({
  ...STAY_FIELDS,
  status: Type.Optional(
    choice(['draft', 'option', 'confirmed'], {
      default: 'confirmed',
      description: '`draft` and `option` are holds that expire on their own.',
    }),
  ),
  ...PARTY_FIELDS,
  sourceRef: nullableText(120, 'Your own reference; returned on reads.'),
  notes: nullableText(2_000),
  holdHours: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: 2_160 }), Type.Null()], {
      description: "Lifetime of a draft or option hold in hours; defaults to the agency's setting.",
    }),
  ),
  guest: Type.Optional(
    Type.Union(
      [
        Type.Object({
          firstName: text({ maxLength: 80 }),
          lastName: text({ maxLength: 80 }),
          email: Type.Optional(
            Type.Union([text({ format: 'email', maxLength: EMAIL_LENGTH_MAX }), Type.Null()], {
              description: 'An existing guest with the same e-mail address (case-insensitive) is reused.',
            }),
          ),
          phone: nullableText(60),
          nationality: nullableText(60),
        }),
        Type.Null(),
      ],
      { description: 'The guest. Never returned when the booking is read.' },
    ),
  ),
})

const CREATE_BOOKING = {
  id: 'createBooking',
  method: 'POST',
  path: '/partner/v1/bookings',
  tag: 'Bookings',
  summary: 'Create a booking',
  description:
    'The pricing engine computes the total when the booking is written. Checks run in this order: minimum stay, cleaning ' +
    'block after the previous checkout, announced extension of the current guest, double booking. None can be overridden.',
  scope: 'write:bookings',
  isWrite: true,
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
    'MIN_STAY',
    'IDEMPOTENCY_KEY_REUSED',
  ],
} as const satisfies Operation

type NewBooking = BodyOf<typeof CREATE_BOOKING>

export const book = (surface: PartnerSurface) =>
  new Elysia().post(
    CREATE_BOOKING.path,
    partnerRoute(surface, CREATE_BOOKING, (call) => bookStay(surface.ledger, call)),
    described(CREATE_BOOKING),
  )

async function bookStay(ledger: PartnerLedger, call: Call<unknown, NewBooking>): Promise<Outcome> {
  const { agency, caller, body } = call
  const stay = stayOf(body)
  if ('code' in stay) return auditedRefusal(ledger, call, stay)
  const wanted = wantedOf(body, stay)

  return writeOnce(ledger, call, JSON.stringify([body.unit, wanted]), async (keep) => {
    const inventory = await ledger.catalogue.inventory(agency.id)
    const unit = inventory.sellableUnit(body.unit)
    if (unit === null) return auditedRefusal(ledger, call, notFound('unit'))
    const created = answerOnce(201, () => ledger.catalogue.peekInventory(agency.id) ?? inventory)
    const keepAnswer = keep === null ? undefined : (booking: Booking) => keep(created(booking))
    const outcome = await ledger.commands.book(agency, requestOf(unit, wanted), caller, keepAnswer)
    if (outcome.kind === 'unit_archived') return notFound('unit')
    return outcome.kind === 'rejected' ? problemOfRejection(outcome.rejection) : created(outcome.booking)
  })
}

/** The request without its unit, defaults filled in, members in a fixed order. */
function wantedOf(body: NewBooking, stay: Stay) {
  const { guest = null } = body
  return {
    stay,
    status: body.status ?? 'confirmed',
    sourceRef: body.sourceRef ?? null,
    adults: body.adults ?? 2,
    children: body.children ?? 0,
    extraBed: body.extraBed ?? false,
    notes: body.notes ?? null,
    holdHours: body.holdHours ?? null,
    guest:
      guest === null
        ? null
        : {
            firstName: guest.firstName,
            lastName: guest.lastName,
            email: guest.email ?? null,
            phone: guest.phone ?? null,
            nationality: guest.nationality ?? null,
          },
  }
}

function requestOf(unit: Unit, wanted: ReturnType<typeof wantedOf>): BookingRequest {
  return { ...wanted, unit, type: 'guest', source: 'partner', enforcement: 'partner' }
}
