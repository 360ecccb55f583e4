import { type Static, Type } from '@sinclair/typebox'
import type { BookingRequest, FoundOutcome, KeepAnswer } from '../../core/bookings/booking-turns.ts'
import { afterWrite } from '../../core/bookings/write-error.ts'
import type { Agency, Inventory } from '../../core/catalogue/agency.ts'
import { BOOKING_STATUSES, BOOKING_TYPES, type Booking, PRICINGS } from '../../core/domain/booking.ts'
import type { BookingChange } from '../../core/domain/decide-change.ts'
import type { Restrained } from '../../core/domain/night-guard.ts'
import type { Unit } from '../../core/domain/unit.ts'
import { type Outcome, recorded } from '../../http/answer.ts'
import { ifMatchOf } from '../../http/if-match.ts'
import {
  guestOf,
  NEW_BOOKING_FIELDS,
  nightOf,
  optionalText,
  PARTY_FIELDS,
  STAY_FIELDS,
  stayOf,
} from '../../http/json/request-fields.ts'
import { problemOfOutcome } from '../../http/problem-of.ts'
import { invalid, invalidField, notFound, type Problem } from '../../http/problems.ts'
import { isIdShaped } from '../../http/read-request.ts'
import { choice, dateText, nullable, text } from '../../http/text-schema.ts'
import { CHANGED_OR_TRIED, DRY_RUN, modeOf, TRIED, triedAnswer, WARNINGS, warningsMember } from './booking-dry-run.ts'
import { AgencyBookingJson, type BookingWithoutGuest, bookingWithoutGuest, withGuest } from './booking-json.ts'
import { BOOKING_PATH } from './bookings.ts'
import type { PortalOperation } from './portal-operation.ts'
import { AGENCY_PATH, type AgencyCall, agencyRoute } from './portal-route.ts'
import { agencyInstant, instantOrDate, label } from './portal-schema.ts'

const { arrival, departure } = STAY_FIELDS
const { children, extraBed } = PARTY_FIELDS
const { sourceRef, notes, holdHours, guest } = NEW_BOOKING_FIELDS

/** Limits as on the partner's side (docs/contract.md#limits), so that what a partner may send, an import may too. */
const NEW_BOOKING = Type.Object({
  unit: text({ minLength: 1, description: 'Slug of the unit.' }),
  arrival,
  departure,
  type: Type.Optional(choice(BOOKING_TYPES, { default: 'guest', description: 'Only guest stays are priced.' })),
  status: Type.Optional(choice(BOOKING_STATUSES, { default: 'confirmed' })),
  source: Type.Optional(label(60, 'Where the booking comes from; default `portal`.')),
  sourceRef,
  adults: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 20, description: 'Default 2 for guest stays, 0 for other types.' }),
  ),
  children,
  extraBed,
  notes,
  holdHours,
  expectedUntil: Type.Optional(
    nullable(dateText('Only with status `checked_in`: the day until which the guest is expected to stay.')),
  ),
  guest,
})

const bookingAnswer = {
  description: 'The booking.',
  schema: Type.Object({ booking: AgencyBookingJson, warnings: WARNINGS }),
}

const CREATE_BOOKING = {
  id: 'createBooking',
  role: 'desk',
  method: 'POST',
  path: `${AGENCY_PATH}/bookings`,
  tag: 'Bookings',
  summary: 'Create a booking of any type and status',
  description:
    'A night is never sold twice. Minimum stay, restrictions, cleaning nights and expected extensions do not apply to the agency: ' +
    '`warnings` lists the restrictions that would refuse the stay to partners. The total comes from the pricing engine.',
  takesDryRun: true,
  query: DRY_RUN,
  body: NEW_BOOKING,
  bodyExample: {
    unit: 'sea-view',
    arrival: '2027-05-01',
    departure: '2027-05-08',
    type: 'maintenance',
    notes: 'Painting',
  },
  answer: { status: 201, ...bookingAnswer, dryRun: TRIED },
  problems: ['BOOKING_CONFLICT'],
} as const satisfies PortalOperation

const CHANGE_BOOKING = {
  id: 'changeBooking',
  role: 'desk',
  method: 'PATCH',
  path: BOOKING_PATH,
  tag: 'Bookings',
  summary: 'Change a booking: status, dates, unit, hold, expected extension',
  description:
    'All changes are applied together or not at all. New dates or another unit are priced again, unless `pricing` is `keep`: the total ' +
    'then stays as it is, however many nights the stay has.',
  takesDryRun: true,
  query: DRY_RUN,
  body: Type.Object({
    status: Type.Optional(choice(BOOKING_STATUSES)),
    arrival: Type.Optional(arrival),
    departure: Type.Optional(departure),
    unit: Type.Optional(text({ minLength: 1, description: 'Slug of the unit to move the booking to.' })),
    pricing: Type.Optional(
      choice(PRICINGS, {
        default: 'reprice',
        description:
          'For new dates or another unit: price the stay again, or keep its total. The audit trail shows which.',
      }),
    ),
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
  answer: CHANGED_OR_TRIED,
  problems: ['BOOKING_CONFLICT', 'INVALID_TRANSITION', 'VERSION_CHANGED'],
} as const satisfies PortalOperation

const CANCEL_BOOKING = {
  id: 'cancelBooking',
  role: 'desk',
  method: 'POST',
  path: `${BOOKING_PATH}/cancel`,
  tag: 'Bookings',
  summary: 'Cancel a booking',
  description: 'Releases the nights. Cancelling a cancelled booking is not an error.',
  takesDryRun: true,
  query: DRY_RUN,
  body: Type.Object({ reason: optionalText(255, 'Stored with the booking.') }),
  isBodyOptional: true,
  bodyExample: { reason: 'Guest fell ill' },
  answer: CHANGED_OR_TRIED,
  problems: ['VERSION_CHANGED'],
} as const satisfies PortalOperation

export const BOOKING_WRITES = [
  agencyRoute(
    CREATE_BOOKING,
    async (call) => {
      const { ledger, agency, caller, body } = call
      const wanted = wantedOf(body)
      if ('code' in wanted) return wanted
      const inventory = await ledger.catalogue.inventory(agency.id)
      const unit = inventory.sellableUnit(body.unit)
      if (unit === null) return notFound('unit')
      const mode = modeOf(call.query)
      const outcome = await ledger.commands.book(agency, { ...wanted, unit }, caller, keptBooking(call), mode)
      return mode === 'dry_run'
        ? triedAnswer(call, outcome, { guest: null, notes: wanted.notes })
        : outcomeAsAnswer(call, outcome)
    },
    { shown: replayedBooking },
  ),
  agencyRoute(
    CHANGE_BOOKING,
    async (call) => {
      const { ledger, agency, caller, path, body } = call
      const bookingId = path.bookingId
      if (!isIdShaped(bookingId)) return notFound('booking')
      const seen = versionSeen(call.request)
      if ('code' in seen) return seen
      const { unit: slug } = body
      const inventory = await ledger.catalogue.inventory(agency.id)
      const target = slug === undefined ? null : inventory.sellableUnit(slug)
      if (slug !== undefined && target === null) {
        // The booking is looked up first: without it, its unit is unknown.
        const found = await ledger.bookings.find(agency.id, bookingId)
        return notFound(found === null ? 'booking' : 'unit')
      }
      const params = { bookingId, change: changeOf(agency, body, target), pricing: body.pricing, ...seen }
      const mode = modeOf(call.query)
      const outcome = await ledger.commands.change(agency, params, caller, keptBooking(call), mode)
      return mode === 'dry_run' ? triedAnswer(call, outcome) : outcomeAsAnswer(call, outcome)
    },
    { shown: replayedBooking },
  ),
  agencyRoute(
    CANCEL_BOOKING,
    async (call) => {
      const { ledger, agency, caller, path, body } = call
      const bookingId = path.bookingId
      if (!isIdShaped(bookingId)) return notFound('booking')
      const seen = versionSeen(call.request)
      if ('code' in seen) return seen
      const params = { bookingId, reason: body.reason ?? null, ...seen }
      const mode = modeOf(call.query)
      const outcome = await ledger.commands.cancel(agency, params, caller, keptBooking(call), mode)
      return mode === 'dry_run' ? triedAnswer(call, outcome) : outcomeAsAnswer(call, outcome)
    },
    { shown: replayedBooking },
  ),
]

type Write = Pick<AgencyCall<unknown>, 'ledger' | 'agency' | 'keep'>

/** Guest and notes are not kept a second time: the guest is the database's to find, and both are personal data. */
function keptBooking({ keep }: Write): KeepAnswer | undefined {
  return keep.of((booking: Booking, inventory: Inventory, warnings: Restrained | null) => ({
    booking: bookingWithoutGuest(booking, inventory),
    ...warningsMember(warnings),
  }))
}

/** The booking as the first request left it, with the guest as they are now. */
async function replayedBooking({ ledger, agency }: Write, kept: string): Promise<string> {
  const { booking, ...beside } = JSON.parse(kept) as { booking: BookingWithoutGuest }
  const found = await ledger.bookings.find(agency.id, booking.id)
  return JSON.stringify({ booking: withGuest(booking, found), ...beside })
}

/** The version that the change is based on, if the request says it. */
function versionSeen(request: Request): { readonly ifVersion?: number } | Problem {
  const sent = ifMatchOf(request.headers.get('if-match'))
  switch (sent.kind) {
    case 'none':
      return {}
    case 'version':
      return { ifVersion: sent.version }
    case 'malformed':
      return invalid([{ field: 'If-Match', message: sent.message }])
  }
}

/**
 * The request without its unit, defaults filled in, or a refusal that the schema cannot express.
 * @param within path of the object that has the dates, with a trailing dot; empty: the body itself
 */
export function wantedOf(body: Static<typeof NEW_BOOKING>, within = ''): Omit<BookingRequest, 'unit'> | Problem {
  const stay = stayOf(body, within)
  if ('code' in stay) return stay
  const expectedUntil = body.expectedUntil == null ? null : nightOf(body.expectedUntil)
  if (expectedUntil !== null && body.status !== 'checked_in')
    return invalidField('expectedUntil', 'can be set only while the status is checked_in')
  if (expectedUntil !== null && expectedUntil <= stay.departure)
    return invalidField('expectedUntil', `must be after departure (${body.departure})`)
  const { type = 'guest' } = body
  const stays = type === 'guest' || type === 'owner_stay'
  return {
    stay,
    type,
    status: body.status ?? 'confirmed',
    source: body.source ?? 'portal',
    sourceRef: body.sourceRef ?? null,
    adults: body.adults ?? (stays ? 2 : 0),
    children: body.children ?? 0,
    extraBed: body.extraBed ?? false,
    notes: body.notes ?? null,
    holdHours: body.holdHours ?? null,
    expectedUntil,
    guest: guestOf(body.guest),
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
    ...(holdExpiresAt === undefined ? {} : { holdExpiresAt: agencyInstant(agency, holdExpiresAt) }),
    ...(expectedUntil === undefined ? {} : { expectedUntil: expectedUntil === null ? null : nightOf(expectedUntil) }),
  }
}

/** The booking commands have recorded every refusal of theirs. The booking is read back with guest and notes (J2). */
async function outcomeAsAnswer(
  { ledger, agency }: Pick<AgencyCall<unknown>, 'ledger' | 'agency'>,
  outcome: FoundOutcome,
): Promise<Outcome> {
  if (outcome.kind !== 'done') return recorded(problemOfOutcome(outcome))
  const { booking, inventory, warnings } = outcome
  const found = await afterWrite(ledger.bookings.find(agency.id, booking.id))
  // As this write left it, even if another one has changed it since.
  return JSON.stringify({
    booking: withGuest(bookingWithoutGuest(booking, inventory), found),
    ...warningsMember(warnings),
  })
}
