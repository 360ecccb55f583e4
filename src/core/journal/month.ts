import { instantText } from '../../lib/instant-text.ts'
import type { Instant } from '../domain/booking.ts'

/** The first day of a month, UTC, `YYYY-MM-01`: what rows are partitioned by. Sorts as text. */
export type Month = string

/** The month of an instant, by its UTC date. */
export function monthOf(at: Instant): Month {
  return `${instantText(at).slice(0, 7)}-01`
}

/**
 * The month under which the entry after one of month `last` is stored: never lower than that of the entry before it, however the
 * clock jumps, and never beyond the newest month that has a partition.
 */
export function storageMonth(at: Instant, { last, newest }: { last: Month; newest: Month }): Month {
  const month = monthOf(at)
  if (month < last) return last
  return month > newest ? newest : month
}
