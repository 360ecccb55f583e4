import type { DayUsed, MonthUsed } from '../../access/usage-meter.ts'

/** A month, and some days of the one before, so that there is something to compare with on the 1st. */
export const DAYS_SHOWN = 35

/**
 * The stored days, and today up to now: what is not yet written is of today. At most once a day, for half a second after midnight, that
 * counts the last requests of yesterday as today's.
 * @param days newest first
 * @param months stored, read with `days`
 * @param used of the current month, up to now
 */
export function daysToNow(
  days: readonly DayUsed[],
  { today, months, used }: { today: string; months: readonly MonthUsed[]; used: number },
): readonly { day: string; used: number }[] {
  const month = today.slice(0, 7)
  const totals = days.filter(({ day }) => day.startsWith(month)).map(({ total }) => total)
  // The days' own totals, because a flush may lie between the two reads. Without any, the month is older than its days.
  const stored = totals.length > 0 ? Math.max(...totals) : (months.find((other) => other.month === month)?.used ?? 0)
  const ofToday = days.find(({ day }) => day === today)?.used ?? 0
  return [
    { day: today, used: ofToday + Math.max(0, used - stored) },
    ...days.filter(({ day }) => day < today).map((past) => ({ day: past.day, used: past.used })),
  ]
}
