import type { Instant } from '../core/domain/booking.ts'

/** Unfinished deliveries of all agencies. */
export interface DeliveryBacklog {
  /** Pending deliveries, including those of disabled endpoints; counted up to `BACKLOG_COUNTED_MAX`. */
  readonly pending: number
  /** When the oldest pending delivery of an active endpoint fell or falls due; null when there is none. */
  readonly oldestDueAt: Instant | null
}

/** Counting reads one index entry per delivery. A backlog above this size is too large whatever its exact number. */
export const BACKLOG_COUNTED_MAX = 10_000
