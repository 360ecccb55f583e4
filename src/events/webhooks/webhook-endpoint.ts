import type { Instant, WebhookEventKind } from '../../core/domain/booking.ts'

/** Why an endpoint is disabled, in words for the agency: the contract's reasons, or the receiver's own status. */
type DisabledReason = string

/** A receiver of one agency's events, as the agency sees it. Never contains a secret. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string | null
  /** The events that the endpoint gets, in the order of `WEBHOOK_EVENTS`; at least one. */
  readonly events: readonly WebhookEventKind[]
  /** `disabled`: after too many consecutive failures; its pending deliveries are held, and later events wait. */
  readonly status: 'active' | 'disabled'
  readonly disabledReason: DisabledReason | null
  /** Failed attempts since the last success. Pings do not count. */
  readonly consecutiveFailures: number
  /** Until when the previous secret signs as well; null when it does not. */
  readonly previousSecretUntil: Instant | null
  /**
   * Events for which no delivery has been made yet, counted up to `WAITING_COUNTED_MAX`. Those of a disabled endpoint wait until
   * the agency enables it.
   */
  readonly waitingEvents: number
  /**
   * Deliveries that have been made and are neither delivered nor given up, counted up to `WAITING_COUNTED_MAX`: those of a disabled
   * endpoint are held until the agency enables it.
   */
  readonly waitingDeliveries: number
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** Counting reads an entry of the journal for each event, and of an index for each delivery. */
export const WAITING_COUNTED_MAX = 10_000

/** Deliveries that one request sends again, at most. */
export const RESEND_PART_MAX = 100
/** Deliveries that one request looks at to find them. */
export const RESEND_LOOKED_AT_MAX = 2_000
/** Deliveries of an agency that are due: beyond it, none is sent again by their date, so that new events wait for few others. */
export const RESENT_DUE_MAX = 300

/** Consecutive failed attempts after which an endpoint is disabled (docs/contract.md#delivery, rule 3). */
export const FAILURES_IN_A_ROW_MAX = 20

/** Endpoints per agency. Every event creates one delivery for each. */
export const ENDPOINTS_PER_AGENCY_MAX = 20

/** How long the previous secret may keep signing along with the new one after a rotation. */
export const OVERLAP_HOURS_MAX = 24

export const DESCRIPTION_LENGTH_MAX = 255
