import { type Static, Type } from '@sinclair/typebox'
import type { BookingRequest, FoundOutcome } from '../../core/bookings/booking-request.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Agency } from '../../core/catalogue/agency.ts'
import { BOOKING_STATUSES, BOOKING_TYPES } from '../../core/domain/booking.ts'
import type { BookingChange } from '../../core/domain/decide-change.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { assert } from '../../lib/assert.ts'
import { nightOf, stayOf } from '../json/stay-fields.ts'
import { problemOfRejection } from '../problems/problem-of-rejection.ts'
import { invalidField, notFound, type Problem } from '../problems/problems.ts'
import { choice, dateText, EMAIL_LENGTH_MAX, text } from '../schema/text-schema.ts'
import { instantIn } from './agency-days.ts'
import { AgencyBookingJson, agencyBookingJson } from './booking-json.ts'
import { BOOKING_PATH } from './bookings.ts'
import { AGENCY_PATH, type PortalOperation } from './portal-operation.ts'
import {
  type AgencyCall,
  agencyRoute,
  answer,
  isIdShaped,
  type PortalOutcome,
  refuse,
  refuseAudited,
} from './portal-route.ts'
import { instantOrDate, label, nullable } from './portal-schema.ts'

const optionalText = (maxLength: number) => Type.Optional(nullable(text({ maxLength })))

/** Limits as on the partner's side (contract, Limits), so that what a partner may send, an import may too. */
const NEW_BOOKING = Type.Object({
  unit: text({ minLength: 1, description: 'Slug of the unit.' }),
  arrival: dateText('The first night.'),
  departure: dateText('The departure day.'),
  type: Type.Optional(choice(BOOKING_TYPES, { default: 'guest', description: 'Only guest stays are priced.' })),
  status: Type.Optional(choice(BOOKING_STATUSES, { default: 'confirmed' })),
  source: Type.Optional(label(60, 'Where the booking comes from; default `portal`.')),
  sourceRef: Type.Optional(nullable(text({ maxLength: 120, description: "Reference in the source's system." }))),
  adults: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 20, description: 'Default 2 for guest stays, 0 for other types.' }),
  ),
  children: Type.Optional(Type.Integer({ minimum: 0, maximum: 10, default: 0 })),
  extraBed: Type.Optional(Type.Boolean({ default: false, description: 'Ignored without children.' })),
  notes: optionalText(2_000),
  holdHours: Type.Optional(
    nullable(
      Type.Integer({ minimum: 1, maximum: 2_160, description: 'Lifetime of a draft or option hold, in hours.' }),
    ),
  ),
  expectedUntil: Type.Optional(
    nullable(dateText('Only with status `checked_in`: the day until which the guest is expected to stay.')),
  ),
  guest: Type.Optional(
    nullable(
      Type.Object({
        firstName: text({ maxLength: 80 }),
        lastName: text({ maxLength: 80 }),
        email: Type.Optional(nullable(text({ format: 'email', maxLength: EMAIL_LENGTH_MAX }))),
        phone: optionalText(60),
        nationality: optionalText(60),
      }),
    ),
  ),
})

const bookingAnswer = { description: 'The booking.', schema: Type.Object({ booking: AgencyBookingJson }) }

const CREATE_BOOKING = {
  id: 'createBooking',
  method: 'POST',
  path: `${AGENCY_PATH}/bookings`,
  tag: 'Bookings',
  summary: 'Create a booking of any type and status',
  description:
    'A night is never sold twice. Minimum stay, cleaning nights and expected extensions do not apply to the agency. The total comes ' +
    'from the pricing engine.',
  body: NEW_BOOKING,
  bodyExample: {
    unit: 'sea-view',
    arrival: '2027-05-01',
    departure: '2027-05-08',
    type: 'maintenance',
    notes: 'Painting',
  },
  answer: { status: 201, ...bookingAnswer },
  problems: ['BOOKING_CONFLICT'],
} as const satisfies PortalOperation

const CHANGE_BOOKING = {
  id: 'changeBooking',
  method: 'PATCH',
  path: BOOKING_PATH,
  tag: 'Bookings',
  summary: 'Change a booking: status, dates, unit, hold, expected extension',
  description: 'All changes are applied together or not at all. New dates or another unit are priced again.',
  body: Type.Object({
    status: Type.Optional(choice(BOOKING_STATUSES)),
    arrival: Type.Optional(dateText('The first night.')),
    departure: Type.Optional(dateText('The departure day.')),
    unit: Type.Optional(text({ minLength: 1, description: 'Slug of the unit to move the booking to.' })),
    holdExpiresAt: Type.Optional(
      instantOrDate(
        'New expiry of the hold. A date means the start of that day. A time in the past ends the hold now.',
      ),
    ),
    expectedUntil: Type.Optional(
      nullable(dateText('The day until which the current guest is expected to stay. Null clears it.')),
    ),
  }),
  bodyExample: { status: 'confirmed' },
  answer: { status: 200, ...bookingAnswer },
  problems: ['BOOKING_CONFLICT', 'INVALID_TRANSITION'],
} as const satisfies PortalOperation

const CANCEL_BOOKING = {
  id: 'cancelBooking',
  method: 'POST',
  path: `${BOOKING_PATH}/cancel`,
  tag: 'Bookings',
  summary: 'Cancel a booking',
  description: 'Releases the nights. Cancelling a cancelled booking is not an error.',
  body: Type.Object({ reason: optionalText(255) }),
  isBodyOptional: true,
  bodyExample: { reason: 'Guest fell ill' },
  answer: { status: 200, ...bookingAnswer },
} as const satisfies PortalOperation

export const BOOKING_WRITES = [
  agencyRoute(CREATE_BOOKING, async (call) => {
    const { ledger, agency, caller, body } = call
    const refusal = invalidStay(body)
    if (refusal !== null) return refuse(refusal)
    const unit = (await ledger.catalogue.inventory(agency.id)).sellableUnit(body.unit)
    if (unit === null) return refuse(notFound('unit'))
    return outcomeAsAnswer(call, await ledger.commands.book(agency, requestOf(body, unit), caller))
  }),
  agencyRoute(CHANGE_BOOKING, async (call) => {
    const { ledger, agency, caller, path, body } = call
    const bookingId = path['bookingId']
    if (!isIdShaped(bookingId)) return refuse(notFound('booking'))
    const { unit: slug } = body
    const target = slug === undefined ? null : (await ledger.catalogue.inventory(agency.id)).sellableUnit(slug)
    if (slug !== undefined && target === null) {
      // The booking is looked for first: without it, nothing can be said of its unit.
      const found = await ledger.bookings.find(agency.id, bookingId)
      return refuse(notFound(found === null ? 'booking' : 'unit'))
    }
    const change = changeOf(agency, body, target)
    return outcomeAsAnswer(call, await ledger.commands.change(agency, { bookingId, change }, caller))
  }),
  agencyRoute(CANCEL_BOOKING, async (call) => {
    const { ledger, agency, caller, path, body } = call
    const bookingId = path['bookingId']
    if (!isIdShaped(bookingId)) return refuse(notFound('booking'))
    const asked = { bookingId, reason: body.reason ?? null }
    return outcomeAsAnswer(call, await ledger.commands.cancel(agency, asked, caller))
  }),
]

/** What no schema says of one member alone; null when nothing is wrong. */
function invalidStay(body: Static<typeof NEW_BOOKING>): Problem | null {
  const stay = stayOf(body)
  if ('code' in stay) return stay
  const { expectedUntil } = body
  if (expectedUntil == null) return null
  if (body.status !== 'checked_in')
    return invalidField('expectedUntil', 'can be set only while the status is checked_in')
  if (expectedUntil <= body.departure)
    return invalidField('expectedUntil', `must be after departure (${body.departure})`)
  return null
}

function requestOf(body: Static<typeof NEW_BOOKING>, unit: Unit): BookingRequest {
  const { type = 'guest', children = 0, guest = null } = body
  const stays = type === 'guest' || type === 'owner_stay'
  return {
    unit,
    stay: { arrival: nightOf(body.arrival), departure: nightOf(body.departure) },
    type,
    status: body.status ?? 'confirmed',
    source: body.source ?? 'portal',
    sourceRef: body.sourceRef ?? null,
    adults: body.adults ?? (stays ? 2 : 0),
    children,
    extraBed: children > 0 && body.extraBed === true,
    notes: body.notes ?? null,
    holdHours: body.holdHours ?? null,
    expectedUntil: body.expectedUntil == null ? null : nightOf(body.expectedUntil),
    guest:
      guest === null
        ? null
        : {
            ...{ firstName: guest.firstName, lastName: guest.lastName, email: guest.email ?? null },
            ...{ phone: guest.phone ?? null, nationality: guest.nationality ?? null },
          },
    enforcement: 'agency',
  }
}

function changeOf(
  agency: Agency,
  { status, arrival, departure, holdExpiresAt, expectedUntil }: Static<(typeof CHANGE_BOOKING)['body']>,
  target: Unit | null,
): BookingChange {
  return {
    ...(status === undefined ? {} : { status }),
    ...(arrival === undefined ? {} : { arrival: nightOf(arrival) }),
    ...(departure === undefined ? {} : { departure: nightOf(departure) }),
    ...(target === null ? {} : { unitId: target.id }),
    ...(holdExpiresAt === undefined ? {} : { holdExpiresAt: instantIn(agency, holdExpiresAt) }),
    ...(expectedUntil === undefined ? {} : { expectedUntil: expectedUntil === null ? null : nightOf(expectedUntil) }),
  }
}

/** The booking commands have put every refusal of its own into the audit trail. The booking is read back with guest and notes (J2). */
async function outcomeAsAnswer(
  { ledger, agency }: AgencyCall<unknown, unknown>,
  outcome: FoundOutcome,
): Promise<PortalOutcome> {
  if (outcome.kind === 'not_found') return refuseAudited(notFound('booking'))
  if (outcome.kind === 'unit_archived') return refuseAudited(notFound('unit'))
  if (outcome.kind === 'rejected') return refuseAudited(problemOfRejection(outcome.rejection))
  const { booking } = outcome
  const [found, inventory] = await afterWrite(
    Promise.all([ledger.bookings.find(agency.id, booking.id), ledger.catalogue.inventory(agency.id)]),
  )
  assert(found !== null, 'Cannot show a booking: its row has vanished')
  // As this write left it, even if another one has changed it since.
  return answer({ booking: agencyBookingJson({ ...found, booking }, inventory) })
}
