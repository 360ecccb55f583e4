import { DAY_MS } from '../lib/clock.ts'

/** A day in UTC, by which the requests of a month are told apart. Instants are wall-clock milliseconds. */
export interface CalendarDay {
  /** `YYYY-MM-DD`. */
  readonly name: string
  readonly begins: number
  /** The start of the next day: the first instant after this one. */
  readonly ends: number
}

/** @param instant from 1970 on */
export function calendarDayAt(instant: number): CalendarDay {
  const begins = instant - (instant % DAY_MS)
  return { name: new Date(begins).toISOString().slice(0, 10), begins, ends: begins + DAY_MS }
}

/** A calendar month in UTC, the period of the quota (docs/contract.md#limits). Instants are wall-clock milliseconds. */
export interface CalendarMonth {
  /** `YYYY-MM`. */
  readonly name: string
  readonly begins: number
  /** The start of the next month: the first instant after this one. */
  readonly ends: number
  /** `ends` as ISO 8601. */
  readonly endsIso: string
}

export function calendarMonthAt(instant: number): CalendarMonth {
  const date = new Date(instant)
  const begins = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  const ends = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  return { name: date.toISOString().slice(0, 7), begins, ends, endsIso: new Date(ends).toISOString() }
}
