import type { Instant } from '../core/domain/booking.ts'

/**
 * Unfinished deliveries of all agencies. Events for which the sender has made no delivery yet count as well: a sender that is down
 * makes none.
 */
export interface DeliveryBacklog {
  /**
   * Pending deliveries, including those of disabled endpoints, and events that wait for active ones; counted up to
   * `BACKLOG_COUNTED_MAX`.
   */
  readonly pending: number
  /** When the oldest of them for an active endpoint fell or falls due; null when there is none. */
  readonly oldestDueAt: Instant | null
}

/** Counting reads one index entry per delivery. A backlog above this size is too large whatever its exact number. */
export const BACKLOG_COUNTED_MAX = 10_000
