/** The restrictions of a unit on the command line: as flags, as a table, and as rows of a file. */
import { UsageError } from './exit-codes.ts'
import type { Row } from './folder.ts'
import type { Json } from './portal-client.ts'
import { type Columns, table } from './table.ts'
import type { Terminal } from './terminal.ts'
import type { OwnFlags } from './verbs.ts'

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
const COLUMNS: Columns = {
  RULE: 'rule',
  VALUE: 'value',
  FROM: 'from',
  TO: 'to',
  WEEKDAYS: ({ weekdays }) => (weekdays as number[] | null)?.map((day) => DAYS[day - 1]).join(' ') ?? null,
}

/** The rules for dates. The flags for the two rules of the whole unit come from the operation. */
export const RESTRICTION_FLAGS: OwnFlags = {
  isBeside: true,
  add: (command) =>
    command.option(
      '--rule <rule:value[:from:to[:weekdays]]>',
      'a rule and its dates; to is exclusive; weekdays are digits, 1 is Monday; a later rule wins over an earlier one',
      (value: string, before: string[] = []) => [...before, value],
    ),
  body: ({ rule }) => (rule === undefined ? {} : { restrictions: (rule as string[]).map(typedRule) }),
}

function typedRule(text: string): Json {
  const [rule, value = '', from = '', to = '', weekdays = '', ...more] = text.split(':')
  if (value === '' || more.length > 0)
    throw new UsageError(`--rule: ${JSON.stringify(text)} is not rule:value[:from:to[:weekdays]].`)
  const days = weekdays === '' ? null : [...weekdays].map(Number)
  return { rule, value: asValue(value), from: from || null, to: to || null, weekdays: days }
}

/** true, false or a number. Any other text is kept, for the service to refuse. */
function asValue(text: unknown): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  return typeof text !== 'string' || text === '' || Number.isNaN(Number(text)) ? text : Number(text)
}

export function showRestrictions(answer: Json, terminal: Terminal): void {
  const { restrictions, advanceNoticeHours, bookingWindowDays } = answer
  terminal.out(table(restrictions as Json[], COLUMNS, 'No rules for dates.'))
  if (advanceNoticeHours != null) terminal.out(`\nAdvance notice: ${advanceNoticeHours} hours before check-in\n`)
  if (bookingWindowDays != null) terminal.out(`\nBooking window: ${bookingWindowDays} days ahead\n`)
}

/** The rules of the whole unit are rows without dates. */
const OF_UNIT = ['advanceNoticeHours', 'bookingWindowDays'] as const

export function restrictionRows(unit: string, answer: Json): Json[] {
  const blank = { from: null, to: null, weekdays: null }
  const ofUnit = OF_UNIT.filter((rule) => answer[rule] != null)
  return [
    ...(answer['restrictions'] as Json[]).map(({ rule, value, from, to, weekdays }) => {
      const days = (weekdays as number[] | null)?.join(' ') ?? null
      return { unit, rule, value, from, to, weekdays: days }
    }),
    ...ofUnit.map((rule) => ({ unit, rule, value: answer[rule], ...blank })),
  ]
}

interface UnitRestrictions {
  readonly unit: string
  readonly at: string
  readonly body: { restrictions: Json[]; advanceNoticeHours: unknown; bookingWindowDays: unknown }
}

/** The rows by unit, in the order of the file, which matters. `wrong`: rows without a unit or a rule. */
export function restrictionsByUnit(rows: readonly Row[]): { units: UnitRestrictions[]; wrong: Row[] } {
  const units = new Map<string, UnitRestrictions>()
  const wrong: Row[] = []
  for (const row of rows) {
    const { unit, rule, value, from = null, to = null, weekdays = null } = row.values
    if (typeof unit !== 'string' || typeof rule !== 'string') {
      wrong.push(row)
      continue
    }
    const body = units.get(unit)?.body ?? { restrictions: [], advanceNoticeHours: null, bookingWindowDays: null }
    if (!units.has(unit)) units.set(unit, { unit, at: row.at, body })
    if (rule === 'advanceNoticeHours' || rule === 'bookingWindowDays') body[rule] = asValue(value)
    else {
      const days = typeof weekdays === 'string' ? weekdays.split(/[ ,]+/).map(Number) : weekdays
      body.restrictions.push({ from, to, weekdays: days, rule, value: asValue(value) })
    }
  }
  return { units: [...units.values()], wrong }
}
