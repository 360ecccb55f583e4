/**
 * A calendar month in UTC: what the quota is counted by (contract, Limits). Instants are milliseconds of the wall
 * clock.
 */
export interface CalendarMonth {
  /** `YYYY-MM`. */
  readonly name: string
  readonly begins: number
  /** The beginning of the next one: the first instant that is not in it. */
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
