import type { Instant } from '../core/domain/booking.ts'
import { type Month, monthOf } from '../core/journal/shard.ts'
import { type Clock, DAY_MS } from '../lib/clock.ts'
import { Rounds } from '../lib/rounds.ts'

/** How many months after that of `now` have partitions, up to `newest`; null when that is not known. */
export function monthsAhead(newest: Month, now: Instant): number | null {
  if (newest === '') return null
  const months = (month: Month) => Number(month.slice(0, 4)) * 12 + Number(month.slice(5, 7))
  return months(newest) - months(monthOf(now))
}

/**
 * Creates the partitions of the next months, once a day, for the first time a day from now. If that fails, writes still succeed: rows of
 * a month without a partition go into the newest one (storageMonth).
 */
export function monthRounds(options: {
  readonly clock: Clock
  /** Returns the newest month that has partitions. */
  ensure(): Promise<Month>
  onNewest(month: Month): void
  onFailure(error: unknown): void
}): Rounds {
  const { clock, ensure, onNewest, onFailure } = options
  return new Rounds({ clock, firstMs: DAY_MS, everyMs: DAY_MS, run: async () => onNewest(await ensure()), onFailure })
}
