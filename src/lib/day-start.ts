/**
 * The first instant of a calendar day in a time zone, milliseconds since 1970 (docs/contract.md#conventions: day boundaries are meant in
 * the agency time zone). Where midnight is skipped by a clock change the day starts when the clocks resume; a whole day
 * that was skipped (Pacific/Apia, 2011-12-30) starts with the next one.
 * @param date `YYYY-MM-DD` that exists in the calendar
 * @param timeZone IANA name that passes `isTimeZone`
 */
export function dayStart(date: string, timeZone: string): number {
  return Temporal.PlainDate.from(date).toZonedDateTime(timeZone).startOfDay().epochMilliseconds
}

/** The calendar day of an instant in a time zone, `YYYY-MM-DD`. */
export function dayOf(instant: number, timeZone: string): string {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone).toPlainDate().toString()
}

const OFFSET = /^[+-]/

/** Whether the name is an IANA time zone that this runtime knows; offsets such as `+02:00` have no clock changes and are none. */
export function isTimeZone(name: string): boolean {
  if (OFFSET.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
