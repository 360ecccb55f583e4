import ICAL from 'ical.js'
import { addNights, formatNight, type Night } from '../core/domain/night.ts'

/** RFC 5545, 3.7.3. */
const PRODUCT = '-//nightledger//calendar//EN'
const SUMMARY = 'Not available'

/** A run of nights, half-open. */
export interface NightRun {
  readonly from: Night
  readonly to: Night
}

/** Neighbouring nights as runs. `nights` ascend. */
export function runsOf(nights: readonly Night[]): NightRun[] {
  const runs: { from: Night; to: Night }[] = []
  for (const night of nights) {
    const last = runs.at(-1)
    if (last !== undefined && last.to === night) last.to = addNights(night, 1)
    else runs.push({ from: night, to: addNights(night, 1) })
  }
  return runs
}

/**
 * Blocked nights as an iCalendar text: an all-day event per run, which says nothing of who or why. The UID of a run follows from unit and
 * first night, so that a channel sees a run that grew as the same event.
 */
export function calendarText(input: {
  unitId: string
  name: string
  /** Ascending. */
  blocked: readonly Night[]
  /** Milliseconds; the DTSTAMP. */
  now: number
}): string {
  const calendar = new ICAL.Component('vcalendar')
  calendar.addPropertyWithValue('version', '2.0')
  calendar.addPropertyWithValue('prodid', PRODUCT)
  calendar.addPropertyWithValue('calscale', 'GREGORIAN')
  calendar.addPropertyWithValue('method', 'PUBLISH')
  // As text, which is escaped; the library leaves properties that it does not know as they are.
  calendar.addProperty(new ICAL.Property(['x-wr-calname', {}, 'text', input.name]))
  const stamp = ICAL.Time.fromJSDate(new Date(Math.floor(input.now / 1_000) * 1_000), true)
  for (const run of runsOf(input.blocked)) {
    const event = new ICAL.Component('vevent')
    event.addPropertyWithValue('uid', `${input.unitId}-${formatNight(run.from)}@nightledger`)
    event.addPropertyWithValue('dtstamp', stamp)
    event.addPropertyWithValue('dtstart', ICAL.Time.fromDateString(formatNight(run.from)))
    event.addPropertyWithValue('dtend', ICAL.Time.fromDateString(formatNight(run.to)))
    event.addPropertyWithValue('summary', SUMMARY)
    event.addPropertyWithValue('transp', 'OPAQUE')
    calendar.addSubcomponent(event)
  }
  return `${calendar.toString()}\r\n`
}
