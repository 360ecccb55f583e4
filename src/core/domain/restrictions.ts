/**
 * The agency's restrictions on which stays in a unit can be booked (docs/partner-additions.md#8-restrictions): the table of the
 * specification, as pure functions. Partners and their guests are refused, the agency is warned, and an existing booking is never
 * affected. Minimum stays of restrictions join that of the season or unit, and refuse with the same code (`minStayOf`).
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
  /** For `SWITCH_RULES`, whether it is on; otherwise nights, 1 to 366. */
  readonly value: boolean | number
}

export interface Restrictions {
  readonly rows: readonly Restriction[]
  /** How long before check-in a stay must be booked at least. Null: any time. */
  readonly advanceNoticeHours: number | null
  /** How many days ahead an arrival can be at most. Null: any. */
  readonly bookingWindowDays: number | null
}

export const NO_RESTRICTIONS: Restrictions = { rows: [], advanceNoticeHours: null, bookingWindowDays: null }

export const RESTRICTIONS_MAX = 500
export const ADVANCE_NOTICE_HOURS_MAX = 8_760
export const BOOKING_WINDOW_DAYS_MAX = 1_096

/** What advance notice and booking window are measured from. `now`: milliseconds since 1970. */
export interface SaleMoment {
  readonly now: number
  /** IANA name, of the agency. */
  readonly timeZone: string
  /** `HH:MM`, of the unit. */
  readonly checkinTime: string
}

/** The rules that refuse with `RESTRICTED`, in the order in which they are listed. Minimum stays join those of season and unit instead. */
export const REFUSING_RULES = [
  'closedToArrival',
  'closedToDeparture',
  'maxStay',
  'stopSell',
  'advanceNoticeHours',
  'bookingWindowDays',
] as const

/** A rule that refuses a stay, with the date that it was checked for. */
export interface Refusal {
  readonly rule: (typeof REFUSING_RULES)[number]
  readonly date: Night
  readonly value: boolean | number
}

/** All problems in restrictions; empty if they can be stored. `field`: the path in the portal's request body. */
export function restrictionsProblems(restrictions: Restrictions): { field: string; message: string }[] {
  const { rows } = restrictions
  const problems: { field: string; message: string }[] = []
  const add = (field: string, rest: string) => problems.push({ field, message: `${field} ${rest}` })
  if (rows.length > RESTRICTIONS_MAX) add('restrictions', `must have at most ${RESTRICTIONS_MAX} items`)
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
/** Blocks of one unit that are kept compiled: 2 KB each, about a year and five months. */
const BLOCKS_MAX = 8

/** The compiled rows of a unit: what they say about a date is one look-up, however many rows there are. */
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

  /** `valueIn` of the date's word. */
  valueOn(rule: DateRule, night: number): number {
    return valueIn(this.wordOn(night), rule)
  }

  /** The values of all rules, each at its `PLACE`. */
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

/** Restrictions are never changed, only replaced, so what is compiled from them stays valid as long as they exist. */
const compiledDates = new WeakMap<Restrictions, RestrictedDates>()

function datesOf(restrictions: Restrictions): RestrictedDates {
  const known = compiledDates.get(restrictions)
  if (known !== undefined) return known
  const dates = new RestrictedDates(restrictions.rows)
  compiledDates.set(restrictions, dates)
  return dates
}

/** The largest minimum that restrictions set for the stay, by its arrival and its nights. 0: none. */
export function restrictedMinStay(restrictions: Restrictions, { arrival, departure }: Stay): number {
  const dates = datesOf(restrictions)
  let min = dates.valueOn('minStayArrival', arrival)
  if (dates.uses('minStayThrough'))
    for (let night = arrival; night < departure; night++) min = Math.max(min, dates.valueOn('minStayThrough', night))
  return min
}

/**
 * The shortest stay from this arrival on that meets the minimum of every night it includes.
 * @param min the minimum of season or unit, in nights
 */
export function restrictedMinStayFrom(restrictions: Restrictions, arrival: Night, min: number): number {
  const dates = datesOf(restrictions)
  let nights = Math.max(min, dates.valueOn('minStayArrival', arrival))
  if (dates.uses('minStayThrough'))
    for (let i = 0; i < nights; i++) nights = Math.max(nights, dates.valueOn('minStayThrough', arrival + i))
  return nights
}

/** The rules that refuse the stay, other than minimum stays, in the order of the specification's table. Empty: none. */
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
 * For charts: a digit per date of `[from, to)`, the sum of 1 (closed to arrival), 2 (closed to departure) and 4 (the night is not for sale).
 * Trailing zeros are left out.
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

/** The nights that are not for sale (`stopSell`); null if there are none. Set a word at a time, however many rows there are. */
export function stopSoldNights({ rows }: Restrictions): NightBitmap | null {
  const stops = rows.filter(({ rule }) => rule === 'stopSell')
  if (stops.length === 0) return null
  const nights = new NightBitmap()
  for (const { from, to, weekdays, value } of stops)
    nights.setWeekdays(from ?? NIGHT_MIN, to ?? addNights(NIGHT_MAX, 1), weekdayBits(weekdays), value === true)
  return nights.isEmpty() ? null : nights
}

/** The dates on which a stay can arrive at this moment, by advance notice and booking window alone. Both inclusive; infinite: no limit. */
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
 * Dates that were computed recently, by what they were computed from: a search needs them for a thousand units at one moment, and time zones
 * cost more than everything else. Check-in times are whole minutes, and clocks change at whole minutes.
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
  // A check-in at the beginning of a minute is too early for every later instant of that minute, so the instant is rounded up.
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

/** What restrictions refuse to stays of one length, as bits from a night on: arrivals, and nights that no such stay may include. */
export interface RestrictedStays {
  readonly arrivals: Uint32Array
  readonly nights: Uint32Array
}

/** @returns for the nights `[from, to)`: bit `i & 31` of word `i >> 5` belongs to the night `from + i` */
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
