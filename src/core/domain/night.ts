import { assert } from '../../lib/assert.ts'

/**
 * A night, identified by the date on which the guest goes to sleep: whole days since 1970-01-01, without a time zone. A
 * departure is a `Night` too, the first night after the stay (docs/contract.md#conventions: a stay is half-open).
 */
export type Night = number & { readonly __night: never }

/** ISO 8601 weekday, Monday 1 to Sunday 7. */
export type IsoWeekday = 1 | 2 | 3 | 4 | 5 | 6 | 7

/** 2000-01-01, the earliest date accepted (docs/design.md#nights). */
export const NIGHT_MIN = 10_957 as Night

/** 2099-12-31, the latest date accepted (docs/design.md#nights). */
export const NIGHT_MAX = 47_481 as Night

const DAYS_BEFORE_MONTH = [0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334] as const
const DAYS_IN_MONTH = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** Converts a day number. Not limited to the accepted dates: a cleaning block can extend past NIGHT_MAX. */
export function asNight(n: number): Night {
  assert(Number.isSafeInteger(n), 'Cannot take a number as a night: it is not an integer')
  return n as Night
}

export function addNights(night: Night, n: number): Night {
  return asNight(night + n)
}

export function isoWeekday(night: Night): IsoWeekday {
  // Day 0 was a Thursday. The second remainder keeps days before 1970 in range.
  return ((((night % 7) + 10) % 7) + 1) as IsoWeekday
}

/**
 * Parses a date written exactly as `YYYY-MM-DD` in ASCII digits; null when it is written in any other way, does not
 * exist (2026-02-30) or lies outside 2000-01-01 … 2099-12-31.
 */
export function parseNight(text: string): Night | null {
  if (text.length !== 10 || text.charCodeAt(4) !== HYPHEN || text.charCodeAt(7) !== HYPHEN) return null
  if (text.charCodeAt(0) !== TWO || text.charCodeAt(1) !== ZERO) return null
  const yearOfCentury = twoDigits(text, 2)
  const month = twoDigits(text, 5)
  const day = twoDigits(text, 8)
  if (yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return null

  // From 2000 to 2099 the leap years are exactly those divisible by four.
  const isLeapYear = (yearOfCentury & 3) === 0
  const daysInMonth = month === 2 && isLeapYear ? 29 : (DAYS_IN_MONTH[month] ?? 0)
  if (day > daysInMonth) return null

  const leapDaysBefore = ((yearOfCentury + 3) >> 2) + (isLeapYear && month > 2 ? 1 : 0)
  return (NIGHT_MIN + yearOfCentury * 365 + leapDaysBefore + (DAYS_BEFORE_MONTH[month] ?? 0) + day - 1) as Night
}

const HYPHEN = 45
const ZERO = 48
const TWO = 50

/** The value of two ASCII digits, or -1 when one is not a digit. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - ZERO
  const ones = text.charCodeAt(at + 1) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1
}

/** Filled on demand: responses repeat the same few hundred dates. */
const formatted: (string | undefined)[] = new Array(NIGHT_MAX - NIGHT_MIN + 1)

/** `YYYY-MM-DD`. Nights outside the accepted dates (a cleaning block that ends in 2100) are formatted too, uncached. */
export function formatNight(night: Night): string {
  if (night < NIGHT_MIN || night > NIGHT_MAX) return writeDate(night)
  const index = night - NIGHT_MIN
  const known = formatted[index]
  if (known !== undefined) return known
  const text = writeDate(night)
  formatted[index] = text
  return text
}

/** The Gregorian date of a day number. Years are counted from March so that the leap day comes last. */
function writeDate(night: Night): string {
  const days = night + 719_468
  const era = Math.floor(days / 146_097)
  const dayOfEra = days - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

/**
 * The half-open range `[arrival, departure)`: the guest sleeps there on the arrival night, not on the departure night
 * (docs/contract.md#conventions).
 */
export interface Stay {
  readonly arrival: Night
  readonly departure: Night
}

/** Maximum number of nights of a stay (docs/design.md#nights). */
export const STAY_NIGHTS_MAX = 366

export function nightsOf(stay: Stay): number {
  return stay.departure - stay.arrival
}

/** Whether two stays share a night. A departure on the day of the other arrival is not an overlap. */
export function overlap(a: Stay, b: Stay): boolean {
  return a.arrival < b.departure && b.arrival < a.departure
}
