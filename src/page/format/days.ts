/**
 * Days as numbers, counted from 1970-01-01, and as texts. Formatted in UTC: a day is the same day wherever the browser is.
 */
import { present } from '../lib/present.ts'

export type Day = number

const DAY_MS = 86_400_000

/** @param iso `YYYY-MM-DD`. @throws RangeError for anything else */
export function dayOf(iso: string): Day {
  const day = Date.parse(`${iso}T00:00:00Z`) / DAY_MS
  if (!Number.isInteger(day)) throw new RangeError(`Cannot read ${iso} as a day`)
  return day
}

/** `YYYY-MM-DD`. */
export function isoOf(day: Day): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** The day it is now in a time zone. @param now milliseconds */
export function todayIn(timezone: string, now: number = present()): Day {
  // This locale writes YYYY-MM-DD.
  return dayOf(new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' }).format(now))
}

const STYLES = {
  /** `Mon 1 Mar` */
  short: { weekday: 'short', day: 'numeric', month: 'short' },
  /** `1 Mar 2027` */
  medium: { day: 'numeric', month: 'short', year: 'numeric' },
  /** `Monday, 1 March 2027` */
  long: { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' },
  /** `March 2027` */
  month: { month: 'long', year: 'numeric' },
  /** `Mar 2027` */
  shortMonthYear: { month: 'short', year: 'numeric' },
  /** `2027` */
  year: { year: 'numeric' },
  /** `1 Mar` */
  dayMonth: { day: 'numeric', month: 'short' },
  /** `Mar` */
  shortMonth: { month: 'short' },
  /** `M` */
  narrowWeekday: { weekday: 'narrow' },
  /** `Mon` */
  weekday: { weekday: 'short' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

type DayStyle = keyof typeof STYLES

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(style: DayStyle, locale: string | undefined): Intl.DateTimeFormat {
  const key = `${style} ${locale}`
  const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, { ...STYLES[style], timeZone: 'UTC' })
  formats.set(key, format)
  return format
}

/** @param locale left out: the browser's language */
export function dayText(day: Day, style: DayStyle = 'medium', locale?: string): string {
  return formatOf(style, locale).format(day * DAY_MS)
}

/** Arrival to departure, as short as can be: `1 – 5 Mar 2027`. */
export function dayRange(from: Day, to: Day, locale?: string): string {
  return formatOf('medium', locale).formatRange(from * DAY_MS, to * DAY_MS)
}

/** The first day of the month that is `months` after that of `day`. */
export function monthStart(day: Day, months = 0): Day {
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / DAY_MS
}

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

/** @param weekday ISO 8601 */
export function weekdayText(weekday: number, style: 'weekday' | 'narrowWeekday' = 'weekday'): string {
  // Day 4 was a Monday.
  return dayText(weekday + 3, style)
}

export function isWeekend(day: Day): boolean {
  return weekdayOf(day) >= 6
}

export function dayOfMonth(day: Day): number {
  return new Date(day * 86_400_000).getUTCDate()
}
