import { DAY_MS } from '../lib/duration.ts'

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
