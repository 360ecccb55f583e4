import type { Instant } from '../core/domain/booking.ts'
import type { CoarseReason, UNREADABLE_REASON } from './attempt-outcome.ts'

/**
 * `held`: pending, and its endpoint is disabled. `dead`: every attempt failed, or it was a ping that failed. `dropped`:
 * the agency chose to drop it, or deleted the endpoint.
 */
export type DeliveryStatus = 'pending' | 'held' | 'delivered' | 'dead' | 'dropped'

/** `attempt` counts from 1. Exactly one of `httpStatus` and `reason` is not null. */
export interface Attempt {
  readonly attempt: number
  readonly at: Instant
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly reason: CoarseReason | typeof UNREADABLE_REASON | null
}

/** One event to be delivered to one endpoint, with all attempts so far. */
export interface WebhookDelivery {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly event: 'booking.created' | 'booking.updated' | 'booking.cancelled' | 'ping'
  /** Of the event; null for a ping, and for one whose month is archived. */
  readonly bookingId: string | null
  readonly status: DeliveryStatus
  readonly attempts: readonly Attempt[]
  /** Null unless pending. */
  readonly nextAttemptAt: Instant | null
  readonly createdAt: Instant
  readonly finishedAt: Instant | null
}
