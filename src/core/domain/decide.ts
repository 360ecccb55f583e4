/**
 * Decides what a unit answers to a command. Pure (U3): the time, the ids and everything the prices depend on come with
 * the command, the answer is a value, and nothing is changed here. Commands on an existing booking carry its current
 * row, which the caller has read while it is the only writer of the unit.
 */

import { assert } from '../../lib/assert.ts'
import {
  type Booking,
  type BookingCancelled,
  type BookingCreated,
  HOLD_EXPIRED,
  type Instant,
  isHold,
  isLive,
} from './booking.ts'
import { nightsOf, type Stay } from './night.ts'
import {
  type BelowMinStay,
  type Enforcement,
  firstStayConflict,
  nightConflict,
  type Rejection,
  type Restrained,
  type RuleRefusal,
  restrainedBy,
  ruleRefusal,
  type StayConflict,
  stayConflictCodes,
  type VersionChanged,
} from './night-guard.ts'
import { minStayOf, priceStay, type Quote } from './pricing.ts'
import type { SaleMoment } from './restrictions.ts'
import type { FeeType, UnitRules } from './unit.ts'
import type { UnitState } from './unit-state.ts'

/** What pricing needs besides the unit's own rules. */
export interface Tariff {
  readonly currency: string
  readonly feeTypes: readonly FeeType[]
}

/** Without `totalAmount`, which the pricing engine calculates at the time of writing (docs/contract.md#post-bookings). */
export type NewBooking = Omit<Booking, 'totalAmount' | 'updatedAt' | 'version'>

export interface BookStay {
  readonly booking: NewBooking
  readonly tariff: Tariff
  readonly enforcement: Enforcement
  readonly moment: SaleMoment
  /** Whether the caller has agreed to this price; left out: to any. Pure. */
  readonly isAgreed?: ((quote: Quote) => boolean) | undefined
}

export type Decision<Event> =
  /** `warnings`: the restrictions that would refuse an agency's stay to partners; null: none. */
  | { readonly kind: 'accepted'; readonly event: Event; readonly warnings?: Restrained | null }
  | { readonly kind: 'unchanged'; readonly booking: Booking }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }

export function reject(rejection: Rejection): { readonly kind: 'rejected'; readonly rejection: Rejection } {
  return { kind: 'rejected', rejection }
}

/**
 * Order of checks: minimum stay, restrictions, cleaning block, expected extension, night guard (docs/contract.md#post-bookings, rule 3), and last the
 * price (docs/partner-additions.md#5-book-at-the-price-that-was-shown).
 */
export function decideBookStay(state: UnitState, command: BookStay): Decision<BookingCreated> {
  const { booking, enforcement, moment } = command
  const refusal = enforcement === 'partner' ? ruleRefusal(state, booking, moment) : null
  if (refusal !== null) return reject(refusal)
  if (isLive(booking)) {
    const conflict =
      enforcement === 'partner' ? firstStayConflict(state, booking, moment) : nightConflict(state, booking)
    if (conflict !== null) return reject(conflict)
  }
  const quote = quoteOf(state, booking, command.tariff)
  if (quote !== null && command.isAgreed?.(quote) === false) return reject({ code: 'QUOTE_CHANGED', quote })
  const totalAmount = quote?.total ?? 0
  return {
    kind: 'accepted',
    event: { kind: 'booking_created', after: { ...booking, totalAmount, updatedAt: booking.createdAt, version: 1 } },
    warnings: enforcement === 'agency' ? warningsOf(state, booking, moment) : null,
  }
}

/** The restrictions that would refuse an agency's own guest stay to partners. Null: none. */
export function warningsOf(state: UnitState, booking: NewBooking | Booking, moment: SaleMoment): Restrained | null {
  return booking.type === 'guest' && isLive(booking) ? restrainedBy(state, booking, moment) : null
}

interface CancelBooking {
  /** The current row. */
  readonly booking: Booking
  /** The version that the caller has seen. Left out: any. */
  readonly ifVersion?: number | undefined
  readonly reason: string | null
  readonly at: Instant
}

/** Cancelling twice is not an error: the booking is unchanged (docs/contract.md#post-bookingsidcancel). */
export function decideCancel(state: UnitState, command: CancelBooking): Decision<BookingCancelled> {
  const { booking, reason, at } = command
  assert(booking.unitId === state.unitId, 'Cannot cancel a booking: it belongs to another unit')
  const changed = versionChanged(command)
  if (changed !== null) return reject(changed)
  if (!isLive(booking)) return { kind: 'unchanged', booking }
  return { kind: 'accepted', event: cancelled(booking, reason, at) }
}

/** A change that is based on an earlier version would overwrite one that its caller has not seen. */
export function versionChanged({
  booking,
  ifVersion,
}: Pick<CancelBooking, 'booking' | 'ifVersion'>): VersionChanged | null {
  const { version } = booking
  return ifVersion === undefined || ifVersion === version ? null : { code: 'VERSION_CHANGED', version }
}

/** Cancels a hold that has expired at `at`, never early. Any other booking is unchanged. */
export function decideExpiry(
  state: UnitState,
  command: Omit<CancelBooking, 'reason' | 'ifVersion'>,
): Decision<BookingCancelled> {
  const { booking, at } = command
  assert(booking.unitId === state.unitId, 'Cannot expire a hold: it belongs to another unit')
  const isExpired = isHold(booking.status) && booking.holdExpiresAt !== null && booking.holdExpiresAt <= at
  if (!isExpired) return { kind: 'unchanged', booking }
  return { kind: 'accepted', event: cancelled(booking, HOLD_EXPIRED, at) }
}

export function cancelled(booking: Booking, reason: string | null, at: Instant): BookingCancelled {
  const after: Booking = {
    ...booking,
    status: 'cancelled',
    holdExpiresAt: null,
    expectedUntil: null,
    cancelledAt: at,
    cancelReason: reason,
    updatedAt: at,
    version: booking.version + 1,
  }
  return { kind: 'booking_cancelled', before: booking, after }
}

/** Only guests pay: owner stays, maintenance and blocks have a total of 0. */
export function totalOf(state: UnitState, booking: NewBooking | Booking, tariff: Tariff): number {
  return quoteOf(state, booking, tariff)?.total ?? 0
}

/** What the stay costs at the present rates; null for a stay that nobody pays for. */
export function quoteOf(state: UnitState, booking: NewBooking | Booking, tariff: Tariff): Quote | null {
  if (booking.type !== 'guest') return null
  const { children, extraBed } = booking
  const { feeTypes, currency } = tariff
  return priceStay({ rules: state.rules, stay: booking, children, extraBed, feeTypes, currency })
}

interface QuoteRequest {
  readonly stay: Stay
  readonly children: number
  readonly extraBed: boolean
  readonly tariff: Tariff
}

export type PriceAnswer =
  | { readonly kind: 'priced'; readonly quote: Quote }
  | { readonly kind: 'rejected'; readonly rejection: BelowMinStay }

export type QuoteAnswer =
  | { readonly kind: 'quoted'; readonly quote: Quote; readonly reasons: readonly StayConflict['code'][] }
  | { readonly kind: 'rejected'; readonly rejection: RuleRefusal }

/**
 * Prices a stay and lists the 409 codes that a booking of it would get now; an empty list means available
 * (docs/design.md#quote).
 */
export function quoteStay(state: UnitState, request: QuoteRequest & { readonly moment: SaleMoment }): QuoteAnswer {
  const { stay, children, extraBed, tariff, moment } = request
  const rejection = ruleRefusal(state, stay, moment)
  if (rejection !== null) return { kind: 'rejected', rejection }
  const quote = priceStay({ rules: state.rules, stay, children, extraBed, ...tariff })
  return { kind: 'quoted', quote, reasons: stayConflictCodes(state, stay) }
}

/** The price of a stay by rules that need not be those of a unit, or that it is shorter than they allow. */
export function priceByRules(rules: UnitRules, { stay, children, extraBed, tariff }: QuoteRequest): PriceAnswer {
  const minStay = minStayOf(rules, stay)
  if (nightsOf(stay) < minStay) return { kind: 'rejected', rejection: { code: 'MIN_STAY', minStay } }
  return { kind: 'priced', quote: priceStay({ rules, stay, children, extraBed, ...tariff }) }
}
