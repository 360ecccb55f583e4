/** Fields that several requests have in common (docs/contract.md#post-quote, docs/contract.md#post-bookings, docs/contract.md#limits). */

import { type Static, Type } from '@sinclair/typebox'
import type { BookingRequest } from '../../core/bookings/booking-turns.ts'
import { HOLD_HOURS_MAX } from '../../core/domain/booking.ts'
import { formatNight, type Night, nightsOf, parseNight, STAY_NIGHTS_MAX, type Stay } from '../../core/domain/night.ts'
import { assert } from '../../lib/assert.ts'
import { invalidField, type Problem } from '../problems.ts'
import { dateText, EMAIL_LENGTH_MAX, nullable, text } from '../text-schema.ts'

/** Both dates have passed the schema, so they exist. */
export function nightOf(date: string): Night {
  const night = parseNight(date)
  assert(night !== null, 'Cannot take a date: it has not passed the schema')
  return night
}

/**
 * The stay, or why the two dates make none (docs/contract.md#post-bookings; docs/design.md#nights).
 * @param within what the dates are members of, with a dot after it; empty: of the body itself
 */
export function stayOf(body: { arrival: string; departure: string }, within = ''): Stay | Problem {
  const stay = { arrival: nightOf(body.arrival), departure: nightOf(body.departure) }
  const nights = nightsOf(stay)
  if (nights < 1) return invalidField(`${within}departure`, `must be after arrival (${body.arrival})`)
  if (nights <= STAY_NIGHTS_MAX) return stay
  const last = formatNight((stay.arrival + STAY_NIGHTS_MAX) as Night)
  return invalidField(`${within}departure`, `must be at most ${STAY_NIGHTS_MAX} nights after arrival (${last})`)
}

/** See docs/contract.md#limits. */
export const RANGE_DAYS_MAX = 366

/** `[from, to)`; empty when both are the same day. */
export interface NightRange {
  readonly from: Night
  readonly to: Night
}

/** The range, or why the two dates make none (docs/contract.md#get-availability). Both have passed the schema. */
export function rangeOf(params: { from: string; to: string }): NightRange | Problem {
  const range = { from: nightOf(params.from), to: nightOf(params.to) }
  const days = range.to - range.from
  if (days < 0) return invalidField('to', `must not be before from (${params.from})`)
  if (days <= RANGE_DAYS_MAX) return range
  const last = formatNight((range.from + RANGE_DAYS_MAX) as Night)
  return invalidField('to', `must be at most ${RANGE_DAYS_MAX} days after from (${last})`)
}

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

export const optionalText = (maxLength: number, description?: string) =>
  Type.Optional(nullable(text({ maxLength, ...(description === undefined ? {} : { description }) })))

export const GUEST_FIELDS = {
  firstName: text({ maxLength: 80 }),
  lastName: text({ maxLength: 80 }),
  email: Type.Optional(
    nullable(
      text({
        format: 'email',
        maxLength: EMAIL_LENGTH_MAX,
        description: 'An existing guest with the same e-mail address (case-insensitive) is reused.',
      }),
    ),
  ),
  phone: optionalText(60),
  nationality: optionalText(60),
}

const GUEST = Type.Object(GUEST_FIELDS, {
  description: 'The guest. Never returned when a partner reads the booking.',
})

/** What partners and the agency send alike for a new booking, so that the agency can import what a partner may send. */
export const NEW_BOOKING_FIELDS = {
  sourceRef: optionalText(120, 'Your own reference; returned on reads.'),
  notes: optionalText(2_000, 'Internal notes.'),
  holdHours: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: HOLD_HOURS_MAX,
        description: "Lifetime of a draft or option hold in hours; defaults to the agency's setting.",
      }),
    ),
  ),
  guest: Type.Optional(nullable(GUEST)),
}

/** How many stays a group can have (docs/partner-additions.md#11-several-stays-at-once). */
const GROUP_STAYS = { minItems: 2, maxItems: 20 } as const

/** The stays of a group. Everything else in a new booking is the same for all of them. */
export const GROUP_STAYS_FIELD = Type.Array(
  Type.Object({
    ...STAY_FIELDS,
    ...PARTY_FIELDS,
    sourceRef: NEW_BOOKING_FIELDS.sourceRef,
    notes: NEW_BOOKING_FIELDS.notes,
  }),
  {
    ...GROUP_STAYS,
    description: 'Each is checked as if those before it were booked. All of them are booked, or none.',
  },
)

/** The guest of a body, with null for what it leaves out. */
export function guestOf(guest: Static<typeof GUEST> | null | undefined): BookingRequest['guest'] {
  if (guest == null) return null
  const { firstName, lastName, email = null, phone = null, nationality = null } = guest
  return { firstName, lastName, email, phone, nationality }
}
