/** Moments: when something happened or will happen, and how they are read on a clock of the agency. */
import { realTime } from '../lib/present.ts'

const UNITS = [
  ['year', 31_536_000_000],
  ['month', 2_592_000_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** `3 hours ago`, `in 2 days`, `now`. @param now milliseconds */
export function relativeTime(instant: string | number, now: number = realTime(), locale?: string): string {
  const distance = (typeof instant === 'number' ? instant : Date.parse(instant)) - now
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  for (const [unit, length] of UNITS) {
    if (Math.abs(distance) >= length) return format.format(Math.round(distance / length), unit)
  }
  return format.format(0, 'second')
}

/** From here on hours say nothing more. */
const WHOLE_DAYS_FROM = 7

/** Time left, rounded up to the minute: `1 h 20 min`, `3 d 4 h`, `12 d`; `0 min` when it is over. */
export function timeLeft(instant: string | number, now: number = realTime()): string {
  const until = typeof instant === 'number' ? instant : Date.parse(instant)
  const minutes = Math.max(0, Math.ceil((until - now) / 60_000))
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60), minutes % 60]
  if (days >= WHOLE_DAYS_FROM) return `${days} d`
  if (days > 0) return hours === 0 ? `${days} d` : `${days} d ${hours} h`
  if (hours > 0) return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`
  return `${rest} min`
}

/** `1 Mar 2027, 14:05` in the agency's time zone. @param locale left out: the browser's language */
export function instantText(instant: string | number, timezone: string, locale?: string): string {
  const at = typeof instant === 'number' ? instant : Date.parse(instant)
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: timezone }).format(at)
}

/** `1 Mar 2027`: the day it was in the agency's time zone. */
export function dateText(instant: string | number, timezone: string, locale?: string): string {
  const at = typeof instant === 'number' ? instant : Date.parse(instant)
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: timezone }).format(at)
}

const MINUTE_MS = 60_000
/** By time zone: making one takes a hundred times as long as using it. */
const clocks = new Map<string, Intl.DateTimeFormat>()

function clockOf(timezone: string): Intl.DateTimeFormat {
  const known = clocks.get(timezone)
  if (known !== undefined) return known
  // This locale writes YYYY-MM-DD, HH:MM.
  const format = { timeZone: timezone, hourCycle: 'h23', dateStyle: 'short', timeStyle: 'short' } as const
  const clock = new Intl.DateTimeFormat('en-CA', format)
  clocks.set(timezone, clock)
  return clock
}

/** `YYYY-MM-DD` and `HH:MM` of a moment in a time zone. */
export function localTime(
  instant: string | number,
  timezone: string,
): { readonly date: string; readonly time: string } {
  const at = typeof instant === 'number' ? instant : Date.parse(instant)
  const [date = '', time = ''] = clockOf(timezone).format(at).split(', ')
  return { date, time }
}

/**
 * The moment at which clocks in a time zone show a day and a time. Of a time that they skip in spring, the one as long after the
 * change; of one that they show twice in autumn, one of the two.
 * @returns milliseconds; null when it is no such day or time
 */
export function instantOf({ date, time }: { date: string; time: string }, timezone: string): number | null {
  const wall = Date.parse(`${date}T${time}:00Z`)
  if (Number.isNaN(wall)) return null
  const shown = (at: number) => {
    const local = localTime(at, timezone)
    return Date.parse(`${local.date}T${local.time}:00Z`)
  }
  // The offset at a guess is that of the moment itself, or its neighbour's across a change: then the second guess is right.
  const first = wall - (shown(wall) - wall)
  return Math.round((first - (shown(first) - wall)) / MINUTE_MS) * MINUTE_MS
}
