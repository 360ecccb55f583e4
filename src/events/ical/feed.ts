/**
 * Reads a channel's iCalendar feed (RFC 5545) as nights of one unit. An event that cannot be taken literally is refused
 * with a reason rather than guessed at: a recurring event, an unknown time zone. The text of an event is not read:
 * channels put guests' names there.
 *
 * X2: the host of a feed is not trusted. Whatever would cost the parser unbounded time or memory is refused before the
 * parser gets to it.
 */
import ICAL from 'ical.js'
import {
  addNights,
  formatNight,
  NIGHT_MAX,
  type Night,
  nightsOf,
  parseNight,
  STAY_NIGHTS_MAX,
  type Stay,
} from '../../core/domain/night.ts'
import { dayOf, isTimeZone } from '../../lib/clock.ts'

/** Characters. The parser's time grows with the square of the parameters in a line. */
const LINE_LENGTH_MAX = 65_536
/** Clock changes that a feed describes, over all its time zones. A rule is one, and so is a date. */
const CLOCK_CHANGES_MAX = 1_000
/** Clock changes with a rule: the parser expands each over all years from its first. */
const CLOCK_RULES_MAX = 100
/** Outlook's rules begin in 1601. */
const CLOCK_RULE_YEAR_MIN = 1_600
const DAY_SECONDS = 86_400

export type FeedEvent =
  /** Nights taken by the channel. */
  | { readonly kind: 'taken'; readonly uid: string; readonly stay: Stay }
  | { readonly kind: 'cancelled'; readonly uid: string }
  /** Takes no night, and is not meant to. */
  | { readonly kind: 'skipped'; readonly uid: string; readonly reason: string }
  | { readonly kind: 'refused'; readonly uid: string; readonly reason: string }

/** The text is not an iCalendar feed, or is incomplete. */
export class FeedError extends Error {
  override readonly name = 'FeedError'
}

/**
 * @param timezone time zone of the agency; determines the days of timed events, and applies to times without a zone
 * @throws FeedError when the feed as a whole cannot be read
 */
export function readFeed(text: string, { timezone }: { timezone: string }): FeedEvent[] {
  try {
    return eventsIn(text, timezone)
  } catch (error) {
    if (error instanceof FeedError) throw error
    // The parser reads a value only on access, and throws plain errors on some.
    throw new FeedError(`Cannot read the feed: ${error instanceof Error ? error.message : error}`)
  }
}

function eventsIn(text: string, timezone: string): FeedEvent[] {
  const newest = new Map<string, ICAL.Component>()
  const refused: FeedEvent[] = []
  for (const calendar of calendarsIn(text)) {
    for (const event of calendar.getAllSubcomponents('vevent')) {
      const uid = uidOf(event)
      const repeats = ['rrule', 'rdate', 'recurrence-id'].find((name) => event.getFirstProperty(name) !== null)
      if (repeats !== undefined) {
        const reason = `repeats (${repeats.toUpperCase()}): only single events are imported`
        refused.push({ kind: 'refused', uid, reason })
        continue
      }
      const known = newest.get(uid)
      if (known === undefined || sequenceOf(event) >= sequenceOf(known)) newest.set(uid, event)
    }
  }
  return [...[...newest].map(([uid, event]) => readEvent(uid, event, timezone)), ...refused]
}

function calendarsIn(fetched: string): ICAL.Component[] {
  const text = fetched.replace(/^\uFEFF/, '').trim()
  checkComplete(text)
  const parsed: unknown = ICAL.parse(text)
  const roots = (Array.isArray(parsed) && Array.isArray(parsed[0]) ? parsed : [parsed]) as ConstructorParameters<
    typeof ICAL.Component
  >[0][]
  const calendars = roots.map((root) => new ICAL.Component(root))
  if (calendars.some(({ name }) => name !== 'vcalendar')) throw notACalendar()
  for (const calendar of calendars) checkMethod(calendar)
  checkZones(calendars.flatMap((calendar) => calendar.getAllSubcomponents('vtimezone')))
  return calendars
}

function notACalendar(): FeedError {
  return new FeedError('Cannot read the feed: it does not begin with BEGIN:VCALENDAR')
}

/** With any other METHOD the events are messages, such as cancellations, and not taken nights (RFC 5546, 1.4). */
function checkMethod(calendar: ICAL.Component): void {
  for (const property of calendar.getAllProperties('method')) {
    const method = String(property.getFirstValue()).trim()
    if (method.toUpperCase() !== 'PUBLISH')
      throw new FeedError(
        `Cannot read the feed: its METHOD is ${method.slice(0, 20)}; a feed has METHOD:PUBLISH, or no METHOD`,
      )
  }
}

function checkZones(zones: readonly ICAL.Component[]): void {
  let [changes, rules] = [0, 0]
  for (const zone of zones) {
    const tzid = String(zone.getFirstPropertyValue('tzid') ?? '')
    for (const part of zone.getAllSubcomponents()) {
      changes += 1 + part.getAllProperties('rdate').length
      const rule = part.getFirstPropertyValue('rrule')
      if (rule !== null) rules += 1
      // A zone that is known by its name is not read from the feed.
      if (rule !== null && !isTimeZone(tzid)) checkClockRule(tzid, rule, part.getFirstPropertyValue('dtstart'))
    }
  }
  if (zones.length + changes > CLOCK_CHANGES_MAX || rules > CLOCK_RULES_MAX)
    throw new FeedError(
      `Cannot read the feed: its time zones (VTIMEZONE) have more than ${CLOCK_CHANGES_MAX} clock changes or ${CLOCK_RULES_MAX} rules`,
    )
}

/** Clocks change on one day of a year, such as the last Sunday in March. Other rules have too many days, or are searched for ever. */
function checkClockRule(tzid: string, rule: unknown, start: unknown): void {
  const isClear =
    rule instanceof ICAL.Recur &&
    rule.freq === 'YEARLY' &&
    start instanceof ICAL.Time &&
    start.year >= CLOCK_RULE_YEAR_MIN &&
    isOneDay(rule)
  if (!isClear)
    throw new FeedError(
      `Cannot read the feed: its time zone ${tzid.slice(0, 60)} has a rule (RRULE) that is not one day of a year from ${CLOCK_RULE_YEAR_MIN} on, ` +
        'such as FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU',
    )
}

/** A rule for a day that every year has, or nearly: by weekday, by date, or by weekday within some dates. */
function isOneDay({ interval, parts }: ICAL.Recur): boolean {
  const { BYMONTH: months = [], BYDAY: weekdays = [], BYMONTHDAY: dates = [], ...others } = parts
  if (interval !== 1 || Object.keys(others).length > 0) return false
  if (months.length === 0) return weekdays.length + dates.length === 0
  if (months.length > 1 || weekdays.length > 1 || dates.length > 7) return false
  if (dates.length === 0) return weekdays.every((weekday) => /^[+-]?[1-5]/.test(weekday) && !/\d\d/.test(weekday))
  const isFound = dates.some((date) => date !== 0 && Math.abs(date) <= 28)
  return isFound && (weekdays.length === 0 ? dates.length === 1 : /^[A-Z]/.test(weekdays[0] ?? ''))
}

/**
 * Checks that every BEGIN has its END, in order (RFC 5545, 3.6). The parser only counts them, and accepts `END:VCAL` as
 * the end of the calendar. A truncated feed must not be read as one whose last events were cancelled.
 */
function checkComplete(text: string): void {
  const lines = text.replaceAll(/\r?\n[ \t]/g, '').split(/[\r\n]+/)
  if (lines.some(({ length }) => length > LINE_LENGTH_MAX))
    throw new FeedError(`Cannot read the feed: it has a line of more than ${LINE_LENGTH_MAX} characters`)
  if (!/^BEGIN:VCALENDAR\b/i.test(text)) throw notACalendar()
  const open: string[] = []
  for (const line of lines) {
    const [, keyword = '', name = ''] = /^(BEGIN|END):(.*)$/i.exec(line.trimEnd()) ?? []
    if (keyword.toUpperCase() === 'BEGIN') open.push(name.toUpperCase())
    else if (keyword !== '' && open.pop() !== name.toUpperCase())
      throw new FeedError(`Cannot read the feed: it is truncated or damaged at the line ${line.trimEnd().slice(0, 60)}`)
  }
  const missing = open.pop()
  if (missing !== undefined) throw new FeedError(`Cannot read the feed: it is truncated: END:${missing} is missing`)
}

/** RFC 5545 requires a UID. An event without one is identified by its dates. */
function uidOf(event: ICAL.Component): string {
  const uid = event.getFirstPropertyValue('uid')
  if (uid !== null && String(uid).trim() !== '') return String(uid).trim()
  return `no-uid ${event.getFirstPropertyValue('dtstart')} ${event.getFirstPropertyValue('dtend')}`
}

function sequenceOf(event: ICAL.Component): number {
  return Number(event.getFirstPropertyValue('sequence') ?? 0) || 0
}

function readEvent(uid: string, event: ICAL.Component, timezone: string): FeedEvent {
  const word = (name: string) => String(event.getFirstPropertyValue(name) ?? '').toUpperCase()
  if (word('status') === 'CANCELLED') return { kind: 'cancelled', uid }
  if (word('transp') === 'TRANSPARENT') return { kind: 'skipped', uid, reason: 'is marked as free time' }
  const stay = stayOf(event, timezone)
  if (typeof stay === 'string') return { kind: 'refused', uid, reason: stay }
  const nights = nightsOf(stay)
  if (nights < 0) return { kind: 'refused', uid, reason: 'ends before it starts' }
  if (nights === 0) return { kind: 'skipped', uid, reason: 'begins and ends on the same day, so it takes no night' }
  if (nights > STAY_NIGHTS_MAX)
    return { kind: 'refused', uid, reason: `takes ${nights} nights, and the maximum is ${STAY_NIGHTS_MAX}` }
  return { kind: 'taken', uid, stay }
}

/** The nights from the start date to the end date, or the reason why they cannot be determined. */
function stayOf(event: ICAL.Component, timezone: string): Stay | string {
  const begin = event.getFirstProperty('dtstart')
  if (begin === null) return 'has no DTSTART'
  const start = timeOf(begin)
  if (start === null) return 'has a DTSTART that is not a date'
  const end = event.getFirstProperty('dtend')
  const arrival = nightOf(start, tzidOf(begin), timezone)
  if (typeof arrival === 'string') return arrival
  if (end === null) {
    const duration = event.getFirstPropertyValue('duration')
    // Without an end, a date lasts one day and a time has no duration (RFC 5545, 3.6.1).
    if (!(duration instanceof ICAL.Duration))
      return { arrival, departure: start.isDate ? addNights(arrival, 1) : arrival }
    // The parser would walk through its months one by one.
    if (!(Math.abs(duration.toSeconds()) <= (STAY_NIGHTS_MAX + 1) * DAY_SECONDS))
      return `has a DURATION of more than ${STAY_NIGHTS_MAX} nights, which is the maximum`
    const over = start.clone()
    over.addDuration(duration)
    const departure = nightOf(over, tzidOf(begin), timezone)
    return typeof departure === 'string' ? departure : { arrival, departure }
  }
  const finish = timeOf(end)
  if (finish === null) return 'has a DTEND that is not a date'
  const departure = nightOf(finish, tzidOf(end), timezone)
  if (typeof departure === 'string') return departure
  // Some calendars give a single-day event the same start and end date.
  return { arrival, departure: start.isDate && departure === arrival ? addNights(arrival, 1) : departure }
}

/**
 * Null when the value is not a date. The parser throws on some values on access. It normalizes others, such as 30 February to a day in March, so the result no longer matches the text.
 */
function timeOf(property: ICAL.Property): ICAL.Time | null {
  try {
    const value = property.getFirstValue()
    const [, , , written] = property.toJSON() as unknown[]
    return value instanceof ICAL.Time && value.toString() === written ? value : null
  } catch {
    return null
  }
}

function tzidOf(property: ICAL.Property): string | null {
  const tzid = property.getFirstParameter('tzid')
  return tzid ? String(tzid) : null
}

/** The day in the agency's time zone, or the reason why it cannot be determined. */
function nightOf(time: ICAL.Time, tzid: string | null, timezone: string): Night | string {
  const date = time.isDate ? dateOf(time) : dayOfInstant(time, tzid, timezone)
  if (date === null) return `is in the time zone ${tzid}, which is neither known nor described in the feed`
  return parseNight(date) ?? `has the date ${date}, which is not between 2000-01-01 and ${formatNight(NIGHT_MAX)}`
}

function dateOf({ year, month, day }: ICAL.Time): string {
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
}

function dayOfInstant(time: ICAL.Time, tzid: string | null, timezone: string): string | null {
  if (time.zone === ICAL.Timezone.utcTimezone) return dayOf(time.toUnixTime() * 1_000, timezone)
  // A time without a zone is in the time zone of its reader.
  if (tzid === null) return dateOf(time)
  if (isTimeZone(tzid)) {
    const local = Temporal.PlainDateTime.from(
      `${dateOf(time)}T${two(time.hour)}:${two(time.minute)}:${two(Math.min(time.second, 59))}`,
    )
    return dayOf(local.toZonedDateTime(tzid).epochMilliseconds, timezone)
  }
  // Not an IANA zone, such as a zone of Outlook: use the VTIMEZONE in the feed.
  const isDescribed = time.zone !== null && time.zone !== ICAL.Timezone.localTimezone
  return isDescribed ? dayOf(time.toUnixTime() * 1_000, timezone) : null
}

function two(n: number): string {
  return String(n).padStart(2, '0')
}
