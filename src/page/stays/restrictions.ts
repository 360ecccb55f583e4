/** Restrictions of a unit in words, and which rules apply to a day. Pure. */
import type { Schema } from '../api/schema.ts'
import { type Day, dayOf, dayText, weekdayOf } from '../format/days.ts'
import { plural } from '../format/numbers.ts'

export type Restrictions = Schema<'Restrictions'>
export type Restriction = Restrictions['restrictions'][number]
export type DateRule = Restriction['rule']

interface RuleWords {
  readonly label: string
  /** The label of a row that lifts the rule; null: its value is a number of nights. */
  readonly off: string | null
}

/** In the order in which they are offered and shown. */
export const RULES: Readonly<Record<DateRule, RuleWords>> = {
  closedToArrival: { label: 'Closed to arrival', off: 'Open to arrival' },
  closedToDeparture: { label: 'Closed to departure', off: 'Open to departure' },
  stopSell: { label: 'Not for sale', off: 'For sale' },
  minStayArrival: { label: 'Minimum stay on arrival', off: null },
  minStayThrough: { label: 'Minimum stay through', off: null },
  maxStay: { label: 'Maximum stay on arrival', off: null },
}
export const DATE_RULES = Object.keys(RULES) as DateRule[]

/** `Closed to arrival`, `Open to arrival`, `Minimum stay on arrival: 3 nights`. @param value false: the rule is lifted */
export function ruleText(rule: DateRule, value: boolean | number): string {
  const { label, off } = RULES[rule]
  if (off === null) return `${label}: ${plural(Number(value), 'night')}`
  return value === false ? off : label
}

/** The rows of a list, with their dates parsed. */
export class RestrictedDays {
  readonly #rows: readonly (Pick<Restriction, 'rule' | 'value' | 'weekdays'> & { from: Day; to: Day })[]

  constructor(rows: readonly Restriction[]) {
    this.#rows = rows.map(({ from, to, ...row }) => ({
      ...row,
      from: from === null ? Number.NEGATIVE_INFINITY : dayOf(from),
      to: to === null ? Number.POSITIVE_INFINITY : dayOf(to),
    }))
  }

  /** The rules of a day, as the service reads the list: for each rule, the last row that covers the day. Rules that are off are left out. */
  on(day: Day): ReadonlyMap<DateRule, number | true> {
    const held = new Map<DateRule, number | true>()
    for (const { rule, value, from, to, weekdays } of this.#rows) {
      if (day < from || day >= to || weekdays?.includes(weekdayOf(day)) === false) continue
      if (value === false) held.delete(rule)
      else held.set(rule, value)
    }
    return held
  }

  /** As on the tape: a digit per day from `from` on, the sum of 1 (closed to arrival), 2 (closed to departure) and 4 (not for sale). */
  digits(from: Day, to: Day): string {
    let digits = ''
    let length = 0
    for (let day = from; day < to; day++) {
      const held = this.on(day)
      const closed = CLOSED.reduce<number>((sum, rule, bit) => sum + (held.has(rule) ? 1 << bit : 0), 0)
      digits += closed
      if (closed !== 0) length = digits.length
    }
    return digits.slice(0, length)
  }
}

const CLOSED = ['closedToArrival', 'closedToDeparture', 'stopSell'] as const

/** A rule that refuses a stay, as previews and warnings name it. */
export interface RuleRefusal {
  readonly rule:
    | 'minStay'
    | 'closedToArrival'
    | 'closedToDeparture'
    | 'maxStay'
    | 'stopSell'
    | 'advanceNoticeHours'
    | 'bookingWindowDays'
  /** `YYYY-MM-DD`: the date that it was checked for. */
  readonly date: string
  readonly value: boolean | number
}

/** Without its date: `closed to arrival`. */
export function refusalText({ rule, value }: Pick<RuleRefusal, 'rule' | 'value'>): string {
  switch (rule) {
    case 'closedToArrival':
      return 'closed to arrival'
    case 'closedToDeparture':
      return 'departs on a day closed to departure'
    case 'stopSell':
      return 'a night is not for sale'
    case 'minStay':
      return `minimum stay of ${plural(Number(value), 'night')}`
    case 'maxStay':
      return `maximum stay of ${plural(Number(value), 'night')}`
    case 'advanceNoticeHours':
      return `check-in is less than ${plural(Number(value), 'hour')} away`
    case 'bookingWindowDays':
      return `more than ${plural(Number(value), 'day')} ahead`
  }
}

/** With its date: `Mon 5 Jul is closed to arrival`. */
export function refusalSentence({ rule, date, value }: RuleRefusal): string {
  const day = dayText(dayOf(date), 'short')
  switch (rule) {
    case 'closedToArrival':
    case 'closedToDeparture':
      return `${day} is ${RULES[rule].label.toLowerCase()}`
    case 'stopSell':
      return `The night of ${day} is not for sale`
    case 'minStay':
    case 'maxStay':
      return `An arrival on ${day} has a ${refusalText({ rule, value })}`
    case 'advanceNoticeHours':
      return `On ${day}, ${refusalText({ rule, value })}`
    case 'bookingWindowDays':
      return `${day} is ${refusalText({ rule, value })}`
  }
}
