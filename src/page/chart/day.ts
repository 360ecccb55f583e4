/** What the chart needs of days beyond their format. The night of a day begins at its noon. */
import { type Day, dayOf, isoOf } from '../format/days.ts'

/**
 * @param text `YYYY-MM-DD`; null when it is no such date, or none that the service takes: while a year is typed, a field of the
 *   browser says 0002
 */
export function parseDay(text: string): Day | null {
  if (!/^20\d{2}-\d{2}-\d{2}$/.test(text)) return null
  try {
    const day = dayOf(text)
    // The browser takes 31 June for 1 July.
    return isoOf(day) === text ? day : null
  } catch {
    return null
  }
}

/** ISO 8601 weekday, Monday 1 to Sunday 7. */
export function weekdayOf(day: Day): number {
  // Day 0 was a Thursday. The second remainder keeps days before 1970 in range.
  return ((((day % 7) + 10) % 7) + 1) | 0
}

export function isWeekend(day: Day): boolean {
  return weekdayOf(day) >= 6
}

export function dayOfMonth(day: Day): number {
  return new Date(day * 86_400_000).getUTCDate()
}
