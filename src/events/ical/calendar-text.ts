import ICAL from 'ical.js'
import { addNights, formatNight, type Night, STAY_NIGHTS_MAX } from '../../core/domain/night.ts'

/** RFC 5545, 3.7.3. */
const PRODUCT = '-//nightledger//calendar//EN'
const SUMMARY = 'Not available'

/** A range of consecutive nights, half-open. */
interface NightRun {
  readonly from: Night
  readonly to: Night
}

/** Groups consecutive nights into runs, none of them longer than a stay may be, so that an importer can take it as one. `nights` must be ascending. */
function runsOf(nights: readonly Night[]): NightRun[] {
  const runs: { from: Night; to: Night }[] = []
  for (const night of nights) {
    const last = runs.at(-1)
    if (last !== undefined && last.to === night && night - last.from < STAY_NIGHTS_MAX) last.to = addNights(night, 1)
    else runs.push({ from: night, to: addNights(night, 1) })
  }
  return runs
}

/**
 * Renders blocked nights as iCalendar text: one all-day event per run, without saying who or why. The UID of a run is
 * derived from the unit and the first night, so that a channel sees a run that has grown as the same event.
 */
export function calendarText(input: {
  unitId: string
  name: string
  /** Ascending. */
  blocked: readonly Night[]
  /** Milliseconds; becomes the DTSTAMP. */
  now: number
}): string {
  const calendar = new ICAL.Component('vcalendar')
  calendar.addPropertyWithValue('version', '2.0')
  calendar.addPropertyWithValue('prodid', PRODUCT)
  calendar.addPropertyWithValue('calscale', 'GREGORIAN')
  calendar.addPropertyWithValue('method', 'PUBLISH')
  // Added as text, which is escaped. The library does not escape properties it does not know.
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
