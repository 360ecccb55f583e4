/** Restrictions while they are edited: the fields, the request body made from them, and the differences in words. Pure. */
import { type Day, dayOf, dayRange, dayText, isoOf, parseDay, weekdayText } from '../../../format/days.ts'
import { plural } from '../../../format/numbers.ts'
import { type DateRule, type Restriction, type Restrictions, RULES, ruleText } from '../../../stays/restrictions.ts'

export interface RowDraft {
  readonly key: number
  /** `YYYY-MM-DD`; empty: no first day. */
  readonly from: string
  /** `YYYY-MM-DD`, inclusive; empty: no last day. */
  readonly last: string
  /** 1 (Monday) to 7. */
  readonly weekdays: readonly number[]
  readonly rule: DateRule
  /** Null: not filled in. */
  readonly value: boolean | number | null
}

export interface RestrictionsDraft {
  readonly rows: readonly RowDraft[]
  readonly advanceNoticeHours: number | null
  readonly bookingWindowDays: number | null
}

export const EVERY_DAY = [1, 2, 3, 4, 5, 6, 7] as const

let lastKey = 0
export function newRow(row: Partial<RowDraft>): RowDraft {
  lastKey += 1
  return { from: '', last: '', weekdays: EVERY_DAY, rule: 'closedToArrival', value: true, ...row, key: lastKey }
}

/** The row with another rule; a value of the wrong kind is reset. */
export function withRule<R extends Pick<RowDraft, 'rule' | 'value'>>(row: R, rule: DateRule): R {
  const isSwitch = RULES[rule].off !== null
  if (isSwitch === (typeof row.value === 'boolean')) return { ...row, rule }
  return { ...row, rule, value: isSwitch ? true : null }
}

export function draftOf({ restrictions, ...rest }: Restrictions): RestrictionsDraft {
  const rows = restrictions.map(({ from, to, weekdays, ...row }) =>
    newRow({
      ...row,
      from: from ?? '',
      last: to === null ? '' : isoOf(dayOf(to) - 1),
      weekdays: weekdays ?? EVERY_DAY,
    }),
  )
  return { ...rest, rows }
}

/** The draft as a request body. It must have no errors (`errorsOf`). */
export function restrictionsOf({ rows, ...rest }: RestrictionsDraft): Restrictions {
  return { restrictions: rows.map(restrictionOf), ...rest }
}

function restrictionOf({ from, last, weekdays, rule, value }: RowDraft): Restriction {
  const lastDay = parseDay(last)
  return {
    from: from === '' ? null : from,
    to: lastDay === null ? null : isoOf(lastDay + 1),
    weekdays: weekdays.length === EVERY_DAY.length ? null : [...weekdays].sort(),
    rule,
    value: value ?? 0,
  }
}

/** A text that is equal for equal lists. The order of rows matters. */
export function canonical({ restrictions, advanceNoticeHours, bookingWindowDays }: Restrictions): string {
  return JSON.stringify([restrictions.map(canonicalRow), advanceNoticeHours, bookingWindowDays])
}

function canonicalRow({ from, to, weekdays, rule, value }: Restriction): string {
  const days = weekdays === null || weekdays.length === EVERY_DAY.length ? null : [...weekdays].sort()
  return JSON.stringify([from, to, days, rule, value])
}

export function isSavedRow(row: RowDraft, { restrictions }: Restrictions): boolean {
  const text = canonicalRow(restrictionOf(row))
  return restrictions.some((saved) => canonicalRow(saved) === text)
}

export const rowField = (key: number, field: keyof RowDraft) => `row ${key} ${field}`

/** The limits of the service. */
const NIGHTS_MAX = 366
export const ROWS_MAX = 500
const NOTICE_HOURS_MAX = 8_760
const WINDOW_DAYS_MAX = 1_096

/** What is wrong with a draft, in words, by the rules of the service. Keyed by field: `row 3 from`, `bookingWindowDays`. */
export function errorsOf({ rows, advanceNoticeHours, bookingWindowDays }: RestrictionsDraft): Map<string, string> {
  const errors = new Map<string, string>()
  for (const row of rows) addRow(errors, row)
  if (rows.length > ROWS_MAX) errors.set('rows', `At most ${ROWS_MAX} rules. Remove some whose dates have passed.`)
  if (advanceNoticeHours !== null && !isWithin(advanceNoticeHours, 0, NOTICE_HOURS_MAX))
    errors.set('advanceNoticeHours', `From 0 to ${NOTICE_HOURS_MAX} hours.`)
  if (bookingWindowDays !== null && !isWithin(bookingWindowDays, 1, WINDOW_DAYS_MAX))
    errors.set('bookingWindowDays', `From 1 to ${WINDOW_DAYS_MAX} days.`)
  return errors
}

function addRow(errors: Map<string, string>, { key, from, last, weekdays, value }: RowDraft): void {
  const [first, end] = [parseDay(from), parseDay(last)]
  if (from !== '' && first === null) errors.set(rowField(key, 'from'), 'Choose a day of this century, or none.')
  if (last !== '' && end === null) errors.set(rowField(key, 'last'), 'Choose a day of this century, or none.')
  if (first !== null && end !== null && end < first)
    errors.set(rowField(key, 'last'), `Must not be before the first day, ${dayText(first)}.`)
  if (weekdays.length === 0) errors.set(rowField(key, 'weekdays'), 'Choose at least one day of the week.')
  if (typeof value !== 'boolean' && (value === null || !isWithin(value, 1, NIGHTS_MAX)))
    errors.set(rowField(key, 'value'), `From 1 to ${NIGHTS_MAX} nights.`)
}

function isWithin(value: number, min: number, max: number): boolean {
  return Number.isInteger(value) && value >= min && value <= max
}

export function rowTitle({ rule, value }: Pick<RowDraft, 'rule' | 'value'>): string {
  return value === null ? RULES[rule].label : ruleText(rule, value)
}

/** `1 – 31 Jul 2027 · Mon, Tue`. */
export function rowDates({ from, last, weekdays }: Pick<RowDraft, 'from' | 'last' | 'weekdays'>): string {
  const days = [...weekdays].sort().map((day) => weekdayText(day))
  return [
    datesText(parseDay(from), parseDay(last)),
    ...(days.length === EVERY_DAY.length ? [] : [days.join(', ')]),
  ].join(' · ')
}

function datesText(first: Day | null, last: Day | null): string {
  if (first === null) return last === null ? 'Always' : `Until ${dayText(last)}`
  if (last === null) return `From ${dayText(first)}`
  return first === last ? dayText(first) : dayRange(first, last)
}

/** What differs between two lists, in words. */
export function restrictionsChanges(before: Restrictions, after: Restrictions): string[] {
  const [was, is] = [rowTexts(before), rowTexts(after)]
  const added = without(is, was)
  const removed = without(was, is)
  const changes = [...added.map((text) => `New: ${text}`), ...removed.map((text) => `Removed: ${text}`)]
  const kept = without(is, added)
  if (kept.join('\n') !== without(was, removed).join('\n')) changes.push('The order of the rules')
  const member = (name: string, from: number | null, to: number | null, unit: string) => {
    const shown = (value: number | null) => (value === null ? 'none' : plural(value, unit))
    if (from !== to) changes.push(`${name}: ${shown(from)} → ${shown(to)}`)
  }
  member('Advance notice', before.advanceNoticeHours, after.advanceNoticeHours, 'hour')
  member('Booking window', before.bookingWindowDays, after.bookingWindowDays, 'day')
  return changes
}

function rowTexts(restrictions: Restrictions): string[] {
  return draftOf(restrictions).rows.map((row) => `${rowTitle(row)} · ${rowDates(row)}`)
}

/** The first list without the texts of the second, each removed once. */
function without(texts: readonly string[], taken: readonly string[]): string[] {
  const left = new Map<string, number>()
  for (const text of taken) left.set(text, (left.get(text) ?? 0) + 1)
  return texts.filter((text) => {
    const count = left.get(text) ?? 0
    if (count > 0) left.set(text, count - 1)
    return count === 0
  })
}
