/** What the booking commands are asked, and what they answer. */
import { HOUR_MS } from '../../lib/clock.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import { type Booking, type BookingStatus, type BookingType, type Instant, isHold } from '../domain/booking.ts'
import type { BookStay, NewBooking } from '../domain/decide.ts'
import type { Night, Stay } from '../domain/night.ts'
import type { Rejection } from '../domain/night-guard.ts'
import type { Quote } from '../domain/pricing.ts'
import type { Unit } from '../domain/unit.ts'
import type { GuestDraft, IdempotencyDraft } from '../journal/record.ts'

/** A booking to be made. Validated: dates exist, 1 to 366 nights, numbers within the contract's limits. */
export interface BookingRequest {
  readonly unit: Unit
  readonly stay: Stay
  readonly type: BookingType
  readonly status: BookingStatus
  readonly source: string
  readonly sourceRef: string | null
  readonly adults: number
  readonly children: number
  readonly extraBed: boolean
  readonly notes: string | null
  /** Lifetime of a hold; the agency's default when null. */
  readonly holdHours: number | null
  readonly expectedUntil?: Night | null
  readonly guest: Omit<GuestDraft, 'guestId'> | null
  readonly enforcement: BookStay['enforcement']
  readonly isAgreed?: BookStay['isAgreed']
}

export interface QuoteAsked {
  readonly unit: Unit
  readonly stay: Stay
  readonly children: number
  readonly extraBed: boolean
}

/** Makes what is kept for an `Idempotency-Key` from the booking that is about to become durable, with the units as they are in its turn. */
export type KeepAnswer = (booking: Booking, inventory: Inventory) => IdempotencyDraft

/** A dry run decides as the write would, in the same turn, and leaves nothing behind. */
export type WriteMode = 'write' | 'dry_run'

export type Outcome =
  | {
      readonly kind: 'done'
      readonly booking: Booking
      /** The units as they were in its turn. */
      readonly inventory: Inventory
      /** Null when nothing changed. */
      readonly seq: number | null
      /** Of a dry run: what the stay costs by the rates of now; null if nobody pays for it, or it is cancelled. */
      readonly quote?: Quote | null
    }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }

/** The unit was archived before the command got its turn. */
export interface UnitArchived {
  readonly kind: 'unit_archived'
}

/** There is no such booking. */
export interface NotFound {
  readonly kind: 'not_found'
}

/** The outcome of a command on a booking that may not exist. */
export type FoundOutcome = Outcome | NotFound | UnitArchived

/** The booking that a request asks for, made at `at`. */
export function newBookingOf(
  request: BookingRequest,
  { defaultHoldHours }: Agency,
  { id, at }: { readonly id: string; readonly at: Instant },
): NewBooking {
  const { unit, stay, type, status, source, sourceRef, adults, children, extraBed } = request
  const { holdHours, expectedUntil = null } = request
  return {
    id,
    unitId: unit.id,
    type,
    status,
    source,
    sourceRef,
    arrival: stay.arrival,
    departure: stay.departure,
    adults,
    children,
    extraBed,
    holdExpiresAt: isHold(status) ? at + (holdHours ?? defaultHoldHours) * HOUR_MS : null,
    expectedUntil: status === 'checked_in' ? expectedUntil : null,
    cancelledAt: status === 'cancelled' ? at : null,
    cancelReason: null,
    createdAt: at,
  }
}
