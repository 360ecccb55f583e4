/**
 * The agency's restrictions on which stays of a unit are sold (docs/partner-additions.md#8-restrictions): the table of the
 * specification, as pure functions. Partners and their guests are refused, the agency is warned, and a booking that exists is never
 * touched. Minimum stays of restrictions join that of the season or unit and are refused with it (`minStayOf`).
 */
import { dayOf, HOUR_MS, localInstant, MINUTE_MS } from '../../lib/clock.ts'
import {
  addNights,
  formatNight,
  type IsoWeekday,
  isoWeekday,
  NIGHT_MAX,
  NIGHT_MIN,
  type Night,
  nightsOf,
  parseNight,
  STAY_NIGHTS_MAX,
  type Stay,
} from './night.ts'
import { NightBitmap } from './night-bitmap.ts'

/** In the order of the specification's table. */
export const DATE_RULES = [
  'closedToArrival',
  'closedToDeparture',
  'minStayArrival',
  'minStayThrough',
  'maxStay',
  'stopSell',
] as const
export type DateRule = (typeof DATE_RULES)[number]

/** The rules that are on or off; the values of the others are numbers of nights. */
export const SWITCH_RULES: readonly DateRule[] = ['closedToArrival', 'closedToDeparture', 'stopSell']

/** One rule for some dates. A later row wins over an earlier one for the same date and rule. */
export interface Restriction {
  /** Null: no beginning. */
  readonly from: Night | null
  /** Exclusive. Null: no end. */
  readonly to: Night | null
  /** Null: all. */
  readonly weekdays: readonly IsoWeekday[] | null
  readonly rule: DateRule
  /** Of `SWITCH_RULES` whether it is on; else nights, 1 to 366. */
  readonly value: boolean | number
}

export interface Restrictions {
  readonly rows: readonly Restriction[]
  /** So long before check-in a stay must be booked. Null: any time. */
  readonly advanceNoticeHours: number | null
  /** So many days ahead an arrival may be. Null: any. */
  readonly bookingWindowDays: number | null
}

export const NO_RESTRICTIONS: Restrictions = { rows: [], advanceNoticeHours: null, bookingWindowDays: null }

export const RESTRICTIONS_MAX = 500
export const ADVANCE_NOTICE_HOURS_MAX = 8_760
export const BOOKING_WINDOW_DAYS_MAX = 1_096

/** What notice and window are measured from and in. `now`: milliseconds since 1970. */
export interface SaleMoment {
  readonly now: number
  /** IANA name, of the agency. */
  readonly timeZone: string
  /** `HH:MM`, of the unit. */
  readonly checkinTime: string
}

/** The rules that refuse a stay on their own, in the order in which they are named: minimum stays join those of season and unit. */
export const REFUSING_RULES = [
  'closedToArrival',
  'closedToDeparture',
  'maxStay',
  'stopSell',
  'advanceNoticeHours',
  'bookingWindowDays',
] as const

/** A rule that refuses a stay, with the date that it looked at. */
export interface Refusal {
  readonly rule: (typeof REFUSING_RULES)[number]
  readonly date: Night
  readonly value: boolean | number
}

/** All problems in restrictions; empty when they can be stored. `field`: the path in the portal's request body. */
export function restrictionsProblems(restrictions: Restrictions): { field: string; message: string }[] {
  const { rows } = restrictions
  const problems: { field: string; message: string }[] = []
  const add = (field: string, rest: string) => problems.push({ field, message: `${field} ${rest}` })
  if (rows.length > RESTRICTIONS_MAX) add('restrictions', `must have at most ${RESTRICTIONS_MAX} elements`)
  rows.forEach(({ from, to, weekdays, rule, value }, i) => {
    const at = `restrictions[${i}]`
    if (from !== null && to !== null && from >= to)
      add(`${at}.to`, `must be after ${at}.from (${formatNight(from)}), or null; it is exclusive`)
    if (weekdays !== null && weekdays.length === 0)
      add(`${at}.weekdays`, 'must name at least one weekday, 1 (Monday) to 7 (Sunday), or be null for all')
    if (SWITCH_RULES.includes(rule)) {
      if (typeof value !== 'boolean') add(`${at}.value`, `must be true or false, since the rule is ${rule}`)
    } else if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > STAY_NIGHTS_MAX)
      add(`${at}.value`, `must be an integer from 1 to ${STAY_NIGHTS_MAX} (nights), since the rule is ${rule}`)
  })
  return problems
}

/** Whether they restrict nothing. */
export function isEmpty({ rows, advanceNoticeHours, bookingWindowDays }: Restrictions): boolean {
  return rows.length === 0 && advanceNoticeHours === null && bookingWindowDays === null
}

const NIGHTS_MASK = 511
/** The three rules that are on or off. */
const CLOSED_MASK = 7
/** Where the value of each rule is in the word of a date. 9 bits hold up to 511 nights; 0: no such rule. */
const PLACE: Readonly<Record<DateRule, { readonly shift: number; readonly mask: number }>> = {
  closedToArrival: { shift: 0, mask: 1 },
  closedToDeparture: { shift: 1, mask: 1 },
  stopSell: { shift: 2, mask: 1 },
  minStayArrival: { shift: 3, mask: NIGHTS_MASK },
  minStayThrough: { shift: 12, mask: NIGHTS_MASK },
  maxStay: { shift: 21, mask: NIGHTS_MASK },
}

/** The value of a rule in the word of a date: nights, or 1 for a rule that is on; 0 when there is none, or it is off. */
function valueIn(word: number, rule: DateRule): number {
  const { shift, mask } = PLACE[rule]
  return (word >>> shift) & mask
}

const BLOCK_NIGHTS = 512
/** Dates of one unit that are kept compiled: 8 KB each two years and a half. */
const BLOCKS_MAX = 8

/** The rows of a unit compiled: what they say about a date is one look-up, however many there are. */
export class RestrictedDates {
  readonly #rows: readonly Restriction[]
  readonly #blocks = new Map<number, Int32Array>()
  readonly #used: ReadonlySet<DateRule>

  constructor(rows: readonly Restriction[]) {
    this.#rows = rows
    this.#used = new Set(rows.map(({ rule }) => rule))
  }

  uses(rule: DateRule): boolean {
    return this.#used.has(rule)
  }

  /** As `valueIn` its word. */
  valueOn(rule: DateRule, night: number): number {
    return valueIn(this.wordOn(night), rule)
  }

  /** Of all rules at once, each at its `PLACE`. */
  wordOn(night: number): number {
    return this.#block(Math.floor(night / BLOCK_NIGHTS))[night % BLOCK_NIGHTS] ?? 0
  }

  #block(number: number): Int32Array {
    const known = this.#blocks.get(number)
    if (known !== undefined) return known
    if (this.#blocks.size >= BLOCKS_MAX) this.#blocks.clear()
    const block = compiled(this.#rows, number * BLOCK_NIGHTS)
    this.#blocks.set(number, block)
    return block
  }
}

function compiled(rows: readonly Restriction[], first: number): Int32Array {
  const words = new Int32Array(BLOCK_NIGHTS)
  for (const { from, to, weekdays, rule, value } of rows) {
    const begin = Math.max(from ?? first, first)
    const end = Math.min(to ?? Number.POSITIVE_INFINITY, first + BLOCK_NIGHTS)
    const { shift, mask } = PLACE[rule]
    const bits = Number(value) << shift
    const others = ~(mask << shift)
    const days = weekdayBits(weekdays)
    let weekday: number = isoWeekday(begin as Night)
    for (let i = begin - first; i < end - first; i++) {
      if ((days >> weekday) & 1) words[i] = ((words[i] ?? 0) & others) | bits
      weekday = weekday === 7 ? 1 : weekday + 1
    }
  }
  return words
}

function weekdayBits(weekdays: readonly IsoWeekday[] | null): number {
  return weekdays === null ? -1 : weekdays.reduce((bits, weekday) => bits | (1 << weekday), 0)
}

/** Restrictions are never changed, only replaced: what is compiled from them stays valid for as long as they are there. */
const compiledDates = new WeakMap<Restrictions, RestrictedDates>()

function datesOf(restrictions: Restrictions): RestrictedDates {
  const known = compiledDates.get(restrictions)
  if (known !== undefined) return known
  const dates = new RestrictedDates(restrictions.rows)
  compiledDates.set(restrictions, dates)
  return dates
}

/** The largest minimum stay that restrictions set for the stay: that of its arrival, and those of its nights. 0: none. */
export function restrictedMinStay(restrictions: Restrictions, { arrival, departure }: Stay): number {
  const dates = datesOf(restrictions)
  let min = dates.valueOn('minStayArrival', arrival)
  if (dates.uses('minStayThrough'))
    for (let night = arrival; night < departure; night++) min = Math.max(min, dates.valueOn('minStayThrough', night))
  return min
}

/**
 * The shortest stay from this arrival on that is as long as every minimum it touches.
 * @param min what else it has to be, in nights
 */
export function restrictedMinStayFrom(restrictions: Restrictions, arrival: Night, min: number): number {
  const dates = datesOf(restrictions)
  let nights = Math.max(min, dates.valueOn('minStayArrival', arrival))
  if (dates.uses('minStayThrough'))
    for (let i = 0; i < nights; i++) nights = Math.max(nights, dates.valueOn('minStayThrough', arrival + i))
  return nights
}

/** The rules that refuse the stay, minimum stays apart: in the order of the specification's table. Empty: none. */
export function refusalsOf(restrictions: Restrictions, stay: Stay, moment: SaleMoment): Refusal[] {
  const { arrival, departure } = stay
  const { rows, advanceNoticeHours, bookingWindowDays } = restrictions
  const refusals: Refusal[] = []
  if (rows.length > 0) {
    const dates = datesOf(restrictions)
    if (dates.valueOn('closedToArrival', arrival) === 1)
      refusals.push({ rule: 'closedToArrival', date: arrival, value: true })
    if (dates.valueOn('closedToDeparture', departure) === 1)
      refusals.push({ rule: 'closedToDeparture', date: departure, value: true })
    const maxStay = dates.valueOn('maxStay', arrival)
    if (maxStay !== 0 && nightsOf(stay) > maxStay) refusals.push({ rule: 'maxStay', date: arrival, value: maxStay })
    const stopped = firstStopSold(dates, stay)
    if (stopped !== null) refusals.push({ rule: 'stopSell', date: stopped, value: true })
  }
  const { earliest, latest } = arrivalRange(restrictions, moment)
  if (advanceNoticeHours !== null && arrival < earliest)
    refusals.push({ rule: 'advanceNoticeHours', date: arrival, value: advanceNoticeHours })
  if (bookingWindowDays !== null && arrival > latest)
    refusals.push({ rule: 'bookingWindowDays', date: arrival, value: bookingWindowDays })
  return refusals
}

function firstStopSold(dates: RestrictedDates, { arrival, departure }: Stay): Night | null {
  if (!dates.uses('stopSell')) return null
  for (let night = arrival; night < departure; night++)
    if (dates.valueOn('stopSell', night) === 1) return night as Night
  return null
}

/** What restrictions say about a range of arrivals, for calendars. */
export interface RestrictedRange {
  /** A character per date of the range: `1` a stay can arrive, `0` it cannot, whatever its length. */
  readonly arrival: string
  /** The same of departures, and one more for the end of the range. */
  readonly departure: string
  /** By arrival, nights; 0: none. */
  readonly maxStay: readonly number[]
}

/** @param restrictions left out: none */
export function restrictedRange(
  restrictions: Restrictions = NO_RESTRICTIONS,
  { from, to }: { readonly from: Night; readonly to: Night },
  { earliest, latest }: ArrivalRange,
): RestrictedRange {
  const dates = datesOf(restrictions)
  let [arrival, departure] = ['', '']
  const maxStay: number[] = []
  for (let night = from; night <= to; night++) {
    departure += dates.valueOn('closedToDeparture', night) === 1 ? '0' : '1'
    if (night === to) break
    const isClosed = dates.valueOn('closedToArrival', night) === 1 || night < earliest || night > latest
    arrival += isClosed ? '0' : '1'
    maxStay.push(dates.valueOn('maxStay', night))
  }
  return { arrival, departure, maxStay }
}

/**
 * For charts: a digit per date of `[from, to)`, the sum of 1 (closed to arrival), 2 (closed to departure) and 4 (the night is not sold).
 * Zeros at the end are left out.
 */
export function closedDates(restrictions: Restrictions, from: Night, to: Night): string {
  const dates = datesOf(restrictions)
  let digits = ''
  let length = 0
  for (let night = from; night < to; night++) {
    const closed = dates.wordOn(night) & CLOSED_MASK
    digits += closed
    if (closed !== 0) length = digits.length
  }
  return digits.slice(0, length)
}

/** The nights that are not sold at all; null when there are none. Written word by word, however many rows there are. */
export function stopSoldNights({ rows }: Restrictions): NightBitmap | null {
  const stops = rows.filter(({ rule }) => rule === 'stopSell')
  if (stops.length === 0) return null
  const nights = new NightBitmap()
  for (const { from, to, weekdays, value } of stops)
    nights.setWeekdays(from ?? NIGHT_MIN, to ?? addNights(NIGHT_MAX, 1), weekdayBits(weekdays), value === true)
  return nights.isEmpty() ? null : nights
}

/** On which dates a stay can arrive at this moment, by notice and window alone. Both inclusive; infinite where there is no limit. */
export interface ArrivalRange {
  readonly earliest: number
  readonly latest: number
}

export const ANY_ARRIVAL: ArrivalRange = { earliest: Number.NEGATIVE_INFINITY, latest: Number.POSITIVE_INFINITY }

export function arrivalRange(restrictions: Restrictions, { now, timeZone, checkinTime }: SaleMoment): ArrivalRange {
  const { advanceNoticeHours, bookingWindowDays } = restrictions
  if (advanceNoticeHours === null && bookingWindowDays === null) return ANY_ARRIVAL
  return {
    earliest:
      advanceNoticeHours === null
        ? ANY_ARRIVAL.earliest
        : earliestCheckin(now + advanceNoticeHours * HOUR_MS, checkinTime, timeZone),
    latest: bookingWindowDays === null ? ANY_ARRIVAL.latest : dayNumber(now, timeZone) + bookingWindowDays,
  }
}

/**
 * Dates that were asked about lately, by what they were computed from: a search asks about a thousand units in one moment, and
 * a time zone costs more than all else. Times of check-in are whole minutes, and clocks change at whole minutes.
 */
const knownDates = new Map<string, number>()
const KNOWN_MAX = 10_000

function inMinute(key: string, compute: () => number): number {
  const known = knownDates.get(key)
  if (known !== undefined) return known
  if (knownDates.size >= KNOWN_MAX) knownDates.clear()
  const date = compute()
  knownDates.set(key, date)
  return date
}

/** The first date whose check-in is not earlier than the instant. */
function earliestCheckin(instant: number, checkinTime: string, timeZone: string): number {
  // Of two instants of one minute, a check-in at its beginning is early enough only for the beginning: the minute is rounded up.
  const minute = Math.ceil(instant / MINUTE_MS)
  return inMinute(`${minute} ${timeZone} ${checkinTime}`, () => {
    const limit = minute * MINUTE_MS
    // A clock change may put an instant on the day before.
    let date = dayNumber(limit, timeZone) - 1
    while (localInstant(formatNight(date as Night), checkinTime, timeZone) < limit) date += 1
    return date
  })
}

function dayNumber(instant: number, timeZone: string): number {
  const minute = Math.floor(instant / MINUTE_MS)
  return inMinute(`${minute} ${timeZone}`, () => parseNight(dayOf(instant, timeZone)) ?? NIGHT_MIN)
}

/** What restrictions refuse to stays of one length, as bits from a night on: arrivals, and nights that no stay may have. */
export interface RestrictedStays {
  readonly arrivals: Uint32Array
  readonly nights: Uint32Array
}

/** @returns of the nights `[from, to)`, bit `i & 31` of word `i >> 5` for the night `from + i` */
export function restrictedStays(restrictions: Restrictions, nights: number, from: Night, to: Night): RestrictedStays {
  const dates = datesOf(restrictions)
  const words = (to - from + 31) >> 5
  const refused = { arrivals: new Uint32Array(words), nights: new Uint32Array(words) }
  for (let i = 0; i < to - from; i++) {
    const word = dates.wordOn(from + i)
    const maxStay = valueIn(word, 'maxStay')
    const isArrival =
      valueIn(word, 'closedToArrival') === 1 ||
      valueIn(dates.wordOn(from + i + nights), 'closedToDeparture') === 1 ||
      valueIn(word, 'minStayArrival') > nights ||
      (maxStay !== 0 && maxStay < nights)
    const isNight = valueIn(word, 'stopSell') === 1 || valueIn(word, 'minStayThrough') > nights
    if (isArrival) refused.arrivals[i >> 5] = (refused.arrivals[i >> 5] ?? 0) | (1 << (i & 31))
    if (isNight) refused.nights[i >> 5] = (refused.nights[i >> 5] ?? 0) | (1 << (i & 31))
  }
  return refused
}
