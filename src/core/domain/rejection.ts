import type { BookingStatus } from './booking.ts'
import type { Night } from './night.ts'
import type { Quote } from './pricing.ts'

/** The stay is shorter than the effective minimum of `minStay` nights. */
export interface BelowMinStay {
  readonly code: 'MIN_STAY'
  readonly minStay: number
}

/**
 * The arrival falls within the cleaning block after `departure`. `bookableFrom`: the first later arrival on which a
 * stay of the same length would be accepted now; null when there is none within `OFFER_HORIZON_NIGHTS`.
 */
export interface TurnoverBlockConflict {
  readonly code: 'TURNOVER_BLOCK_CONFLICT'
  readonly conflict: { readonly bookableFrom: Night | null; readonly departure: Night }
}

/** A guest in house is expected to extend into the wanted nights. Ranges are half-open. */
export interface ExpectedExtensionConflict {
  readonly code: 'EXPECTED_EXTENSION_CONFLICT'
  readonly conflicts: readonly { readonly from: Night; readonly to: Night }[]
}

/**
 * Nights of the wanted stay are taken: `nights` lists them, `[from, to)` spans them. Reveals neither the booking nor
 * the guest (docs/design.md#night-guard).
 */
export interface BookingConflict {
  readonly code: 'BOOKING_CONFLICT'
  readonly conflict: {
    readonly from: Night
    readonly to: Night
    readonly nights: readonly Night[]
    readonly bookableFrom: Night | null
  }
}

/** The caller has agreed to another price. `quote`: the present one. */
export interface QuoteChanged {
  readonly code: 'QUOTE_CHANGED'
  readonly quote: Quote
}

/** The state machine has no such transition. `possible`: the transitions from `from`. */
export interface InvalidTransition {
  readonly code: 'INVALID_TRANSITION'
  readonly from: BookingStatus
  readonly to: BookingStatus
  readonly possible: readonly BookingStatus[]
}

/** A change that matches the schema but not the booking; `field` is the one to correct. */
export interface InvalidChange {
  readonly code: 'VALIDATION'
  readonly field: string
  readonly message: string
}

/** The booking is no longer at the version that the change is based on, but at `version`. */
export interface VersionChanged {
  readonly code: 'VERSION_CHANGED'
  readonly version: number
}

/** The rules that refuse a stay with a 409, in the order they are checked (docs/contract.md#post-bookings, rule 3). */
export type StayConflict = TurnoverBlockConflict | ExpectedExtensionConflict | BookingConflict

/** Why a unit refused a command. A value, never thrown. */
export type Rejection = BelowMinStay | StayConflict | QuoteChanged | InvalidTransition | InvalidChange | VersionChanged
