import type { Instant } from '../core/domain/booking.ts'

/** Why an endpoint gets nothing, in words for the agency; the contract's reasons, or the receiver's own status. */
export type DisabledReason = string

/** A receiver of one agency's events, as the agency sees it. Never carries a secret. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string | null
  /** `disabled`: switched off after too many failures in a row; its pending deliveries are held. */
  readonly status: 'active' | 'disabled'
  readonly disabledReason: DisabledReason | null
  /** Finished attempts that failed since the last success. Pings do not count. */
  readonly consecutiveFailures: number
  /** Until when the secret before the last rotation signs too; null when it does not. */
  readonly previousSecretUntil: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** Finished attempts in a row that switch an endpoint off (contract, Delivery rule 3). */
export const FAILURES_IN_A_ROW_MAX = 20

/** Endpoints one agency may have; every event becomes one delivery for each. */
export const ENDPOINTS_PER_AGENCY_MAX = 20

/** How long a rotated secret may go on signing beside the new one. */
export const OVERLAP_HOURS_MAX = 24

export const DESCRIPTION_LENGTH_MAX = 255
