import type { Booking, BookingStatus, BookingType } from '../domain/booking.ts'
import {
  bigint,
  boolean,
  decoderOf,
  type Encoded,
  encoderOf,
  type Field,
  instant,
  integer,
  night,
  nullable,
  text,
} from './fields.ts'

/** The fields of a booking as the journal and its row store them. A field that `Booking` has and this lacks does not compile. */
export const BOOKING_FIELDS = {
  id: text(),
  unitId: text(),
  type: text<BookingType>(),
  status: text<BookingStatus>(),
  source: text(),
  sourceRef: nullable(text()),
  arrival: night(),
  departure: night(),
  adults: integer(),
  children: integer(),
  extraBed: boolean(),
  totalAmount: bigint(),
  holdExpiresAt: nullable(instant()),
  expectedUntil: nullable(night()),
  cancelledAt: nullable(instant()),
  cancelReason: nullable(text()),
  createdAt: instant(),
  updatedAt: instant(),
  version: integer(),
} as const satisfies { readonly [N in keyof Booking]: Field<Booking[N]> }

export type EncodedBooking = Encoded<typeof BOOKING_FIELDS>

export const encodeBooking: (booking: Booking) => EncodedBooking = encoderOf(BOOKING_FIELDS)

/** Takes what `encodeBooking` returns. @throws CorruptLedgerError */
export const decodeBooking: (stored: EncodedBooking) => Booking = decoderOf(BOOKING_FIELDS)
