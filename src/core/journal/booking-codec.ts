/** Bookings as their rows and the entries of the journal keep them. */

import type { Booking, BookingFacts, BookingStatus, BookingType } from '../domain/booking.ts'
import {
  bigint,
  boolean,
  decoderOf,
  type Encoded,
  encoderOf,
  type Field,
  id,
  instant,
  integer,
  night,
  nullable,
  text,
} from './fields.ts'

type FieldsOf<T> = { readonly [N in keyof T]: Field<T[N]> }

/** What an entry's payload says of a booking; which booking and unit it is, the entry says itself. */
const LOGGED_FIELDS = {
  type: text<BookingType>(),
  status: text<BookingStatus>(),
  source: text(),
  arrival: night(),
  departure: night(),
  adults: integer(),
  children: integer(),
  extraBed: boolean(),
  totalAmount: bigint(),
  holdExpiresAt: nullable(instant()),
  expectedUntil: nullable(night()),
  cancelledAt: nullable(instant()),
  createdAt: instant(),
  updatedAt: instant(),
  version: integer(),
  groupId: nullable(text()),
} as const satisfies FieldsOf<Omit<BookingFacts, 'id' | 'unitId'>>

/** The fields of a booking as its row stores them. A field that `Booking` has and this lacks does not compile. */
export const BOOKING_FIELDS = {
  id: id('bkg'),
  unitId: id('unt'),
  ...LOGGED_FIELDS,
  groupId: nullable(id('grp')),
  sourceRef: nullable(text()),
  cancelReason: nullable(text()),
} as const satisfies FieldsOf<Booking>

/** A booking as its row stores it. Its ids are text; only the row has them as UUIDs. */
export type EncodedBooking = Encoded<typeof BOOKING_FIELDS>

export const encodeBooking: (booking: Booking) => EncodedBooking = encoderOf(BOOKING_FIELDS)

export type LoggedBooking = Encoded<typeof LOGGED_FIELDS>
const LOGGED_NAMES = Object.keys(LOGGED_FIELDS) as (keyof LoggedBooking)[]
const decodeLogged = decoderOf(LOGGED_FIELDS)

/** What is logged of a booking, for JSON: members without a value are undefined, and so left out. In the order of the declaration. */
export function loggedBooking(booking: EncodedBooking): {
  readonly [N in keyof LoggedBooking]: LoggedBooking[N] | undefined
} {
  return {
    type: booking.type,
    status: booking.status,
    source: booking.source,
    arrival: booking.arrival,
    departure: booking.departure,
    adults: booking.adults,
    children: booking.children,
    extraBed: booking.extraBed,
    totalAmount: booking.totalAmount,
    holdExpiresAt: booking.holdExpiresAt ?? undefined,
    expectedUntil: booking.expectedUntil ?? undefined,
    cancelledAt: booking.cancelledAt ?? undefined,
    createdAt: booking.createdAt,
    updatedAt: booking.updatedAt,
    version: booking.version,
    groupId: booking.groupId ?? undefined,
  }
}

/** The members of `before` that `after` has with another value, or lacks. */
export function loggedDifference(before: EncodedBooking, after: EncodedBooking): Partial<LoggedBooking> {
  const logged: Record<string, unknown> = {}
  for (const name of LOGGED_NAMES) if (before[name] !== after[name]) logged[name] = before[name]
  return logged
}

/** @throws CorruptLedgerError when a value is missing or has another form */
export function decodeLoggedBooking(
  logged: Partial<LoggedBooking>,
  ids: { readonly id: string; readonly unitId: string },
): BookingFacts {
  const stored: Record<string, unknown> = {}
  for (const name of LOGGED_NAMES) stored[name] = logged[name] ?? (LOGGED_FIELDS[name].isNullable ? null : undefined)
  return { ...ids, ...decodeLogged(stored as LoggedBooking) }
}

/** A new booking was made when it was last changed, unless its entry says otherwise: the same time is not written twice. */
export function withCreatedAt(after: Partial<LoggedBooking>): Partial<LoggedBooking> {
  const { createdAt = after.updatedAt } = after
  return createdAt === undefined ? after : { ...after, createdAt }
}
