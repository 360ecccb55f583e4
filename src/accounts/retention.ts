/** How long an agency keeps what is not kept forever, and what is due to be removed at a moment. */
import type { Instant } from '../core/domain/booking.ts'
import type { Night } from '../core/domain/night.ts'
import type { Month } from '../core/journal/shard.ts'
import { monthOf } from '../core/journal/shard.ts'
import { DAY_MS } from '../lib/clock.ts'

/**
 * What can be set, with its bounds. The answers kept for an `Idempotency-Key` have no choice: partners rely on 24 hours
 * (docs/design.md#additive-headers).
 */
export const RETENTION = {
  /** After departure. */
  bookingYears: { minimum: 1, maximum: 100, default: 10 },
  /** After the last departure; of a guest without stays, after their creation. */
  guestMonths: { minimum: 1, maximum: 1_200, default: 36 },
  /** The journal and the audit trail. */
  logYears: { minimum: 1, maximum: 100, default: 10 },
  /** Retries and "resend since" need a week. */
  deliveryDays: { minimum: 7, maximum: 3_650, default: 90 },
} as const

export type Retention = { readonly [N in keyof typeof RETENTION]: number }

/** What is removed at a moment. */
export interface Due {
  /** Bookings that departed before this day. */
  readonly bookingsBefore: Night
  /** Guests whose last departure was before this day, or who were created before it and have no stays. */
  readonly guestsBefore: Night
  /** Months before this one are archived. */
  readonly logBefore: Month
  /** Deliveries of months before this one. */
  readonly deliveriesBefore: Month
}

export function dueAt(now: Instant, { bookingYears, guestMonths, logYears, deliveryDays }: Retention): Due {
  return {
    bookingsBefore: nightOf(monthsBefore(now, 12 * bookingYears)),
    guestsBefore: nightOf(monthsBefore(now, guestMonths)),
    logBefore: monthOf(monthsBefore(now, 12 * logYears)),
    deliveriesBefore: monthOf(now - deliveryDays * DAY_MS),
  }
}

/** The same day of an earlier month, UTC; the last one if that month is shorter. */
function monthsBefore(now: Instant, months: number): Instant {
  const at = new Date(now)
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth() - months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(at.getUTCDate(), lastDay))
}

function nightOf(at: Instant): Night {
  return Math.floor(at / DAY_MS) as Night
}

/** What is kept the longest by any of them: months are shared by all agencies, so the last one decides. */
export function longest(all: readonly Retention[], defaults: Retention): Retention {
  const most = (name: keyof Retention) => Math.max(...(all.length === 0 ? [defaults] : all).map((one) => one[name]))
  return {
    bookingYears: most('bookingYears'),
    guestMonths: most('guestMonths'),
    logYears: most('logYears'),
    deliveryDays: most('deliveryDays'),
  }
}
