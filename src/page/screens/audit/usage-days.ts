import { type Day, dayOf, isoOf, monthStart } from '../../format/days.ts'

/** Days in the chart: what the service answers with (`GET {a}/usage`). */
export const DAYS_SHOWN = 35

interface DayRequests {
  readonly day: Day
  readonly used: number
}

/** The last `DAYS_SHOWN` days, oldest first; one without requests is not in the answer. @param days newest first, with today */
export function everyDay(days: readonly { day: string; used: number }[]): readonly DayRequests[] {
  const [newest] = days
  if (newest === undefined) return []
  const today = dayOf(newest.day)
  const used = new Map(days.map((each) => [each.day, each.used]))
  return Array.from({ length: DAYS_SHOWN }, (_, index) => {
    const day = today - DAYS_SHOWN + 1 + index
    return { day, used: used.get(isoOf(day)) ?? 0 }
  })
}

/** A day's part of the month's quota, rounded down. @param month `YYYY-MM` */
export function dailyShare(quota: number, month: string): number {
  const start = dayOf(`${month}-01`)
  return Math.floor(quota / (monthStart(start, 1) - start))
}

/** Requests of the month of which the day is not known: made before the service counted days. */
export function withoutDay(
  month: { month: string; used: number },
  days: readonly { day: string; used: number }[],
): number {
  const known = days.filter(({ day }) => day.startsWith(month.month)).reduce((sum, { used }) => sum + used, 0)
  return Math.max(0, month.used - known)
}
