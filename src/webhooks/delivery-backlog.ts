import type { Instant } from '../core/domain/booking.ts'

/** Deliveries that are not settled, of all agencies. */
export interface DeliveryBacklog {
  /** Deliveries that wait, those held for a switched-off endpoint among them; counted up to `BACKLOG_COUNTED_MAX`. */
  readonly pending: number
  /** When the delivery that waits longest at an active endpoint fell due, or will; null when none waits. */
  readonly oldestDueAt: Instant | null
}

/** A count reads an index entry per delivery: more than so many need no number to be too many. */
export const BACKLOG_COUNTED_MAX = 10_000
