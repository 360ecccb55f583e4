/** A calendar day: whole days since 1970-01-01, without a time zone. The night of a day begins at its noon. */
export type Day = number

const DAY_MS = 86_400_000

/** @param text `YYYY-MM-DD`; null when it is no such date */
export function parseDay(text: string): Day | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const at = Date.parse(`${text}T00:00:00Z`)
  // Date.parse takes 31 June for 1 July.
  return Number.isNaN(at) || dayText(at / DAY_MS) !== text ? null : at / DAY_MS
}

/** A date that the server has sent. */
export function dayOf(text: string): Day {
  return Date.parse(`${text}T00:00:00Z`) / DAY_MS
}

/** `YYYY-MM-DD` */
export function dayText(day: Day): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
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
  return new Date(day * DAY_MS).getUTCDate()
}

/** The first day of the month `months` after the month of `day`. */
export function monthStart(day: Day, months = 0): Day {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY_MS
}

/** A date of this day that is to be formatted in UTC. */
export function dateOfDay(day: Day): Date {
  return new Date(day * DAY_MS)
}
