/**
 * The event of a change of a unit (docs/partner-additions.md#9-changes-of-rates-and-units), and the dates for which its prices, minimum
 * stays or restrictions may have changed.
 */
import type { DateSpan, UnitSet } from './booking.ts'
import { addNights, NIGHT_MIN, type Night } from './night.ts'
import type { Restriction } from './restrictions.ts'
import type { Unit, UnitRules } from './unit.ts'

const EVERYWHERE: DateSpan = { from: null, to: null }

/**
 * The event of a unit that is created or changed: `rates_set` if only rates or restrictions differ.
 * @param before null for a new unit
 */
export function unitSet(before: Unit | null, unit: Unit): UnitSet {
  const isOfRates = before !== null && isSame(withoutRates(before), withoutRates(unit))
  const changed = isOfRates ? changedDates(before.rules, unit.rules) : EVERYWHERE
  const kind = isOfRates && changed !== null ? 'rates_set' : 'unit_set'
  return changed === null || !(isListed(before) || isListed(unit)) ? { kind, unit } : { kind, unit, changed }
}

function withoutRates({ rules: { rates: _, restrictions: __, ...rules }, ...unit }: Unit) {
  return { ...unit, rules }
}

/** Partners see no archived units. */
function isListed(unit: Unit | null): boolean {
  return unit !== null && unit.status !== 'archived'
}

/**
 * The dates for which the price, the season's name, the minimum stay or a restriction may differ between two sets of rules that are otherwise
 * equal; null if nothing differs. Every date that differs is included.
 */
export function changedDates(before: UnitRules, after: UnitRules): DateSpan | null {
  if (!isSame(everywhere(before), everywhere(after))) return EVERYWHERE
  const rows = differing(before.restrictions?.rows ?? [], after.restrictions?.rows ?? [])
  // A stay must meet the minimum of every night it includes, so earlier arrivals are affected too.
  const reach = rows.some(({ rule }) => rule === 'minStayThrough') ? longestMinimum(before, after) - 1 : 0
  const spans = [
    ...differing(before.rates.seasons, after.rates.seasons),
    ...rows.map(({ rule, from, to }) => ({ to, from: rule === 'minStayThrough' ? daysBefore(from, reach) : from })),
  ]
  return spans.length === 0 ? null : hullOf(spans)
}

/** What applies to every date. */
function everywhere({ rates, restrictions }: UnitRules) {
  const { weekdayAdjustments, lengthOfStayDiscounts } = rates
  const { advanceNoticeHours = null, bookingWindowDays = null } = restrictions ?? {}
  return { weekdayAdjustments, lengthOfStayDiscounts, advanceNoticeHours, bookingWindowDays }
}

/**
 * The elements of both lists that are left when their common beginning and common end are removed. A date that none of these cover has not
 * changed: it depends on the common elements alone, and they are in the same order.
 */
function differing<T>(before: readonly T[], after: readonly T[]): T[] {
  const shorter = Math.min(before.length, after.length)
  let first = 0
  while (first < shorter && isSame(before[first], after[first])) first += 1
  let last = 0
  while (last < shorter - first && isSame(before.at(-1 - last), after.at(-1 - last))) last += 1
  return [...before.slice(first, before.length - last), ...after.slice(first, after.length - last)]
}

function longestMinimum(...both: readonly UnitRules[]): number {
  const isMinimum = ({ rule }: Restriction) => rule === 'minStayThrough' || rule === 'minStayArrival'
  return Math.max(
    ...both.flatMap(({ minStay, rates, restrictions }) => [
      minStay,
      ...rates.seasons.map((season) => season.minStay ?? 0),
      ...(restrictions?.rows ?? []).filter(isMinimum).map(({ value }) => Number(value)),
    ]),
  )
}

function daysBefore(from: Night | null, days: number): Night | null {
  return from === null || from - days < NIGHT_MIN ? null : addNights(from, -days)
}

function hullOf(spans: readonly DateSpan[]): DateSpan {
  let [from, to]: [Night | null, Night | null] = [spans[0]?.from ?? null, spans[0]?.to ?? null]
  for (const span of spans) {
    from = from === null || span.from === null ? null : span.from < from ? span.from : from
    to = to === null || span.to === null ? null : span.to > to ? span.to : to
  }
  return { from, to }
}

/** Deep equality. A member that is undefined equals one that is missing. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  const [one, other] = [a, b] as Record<string, unknown>[]
  return [...Object.keys(a), ...Object.keys(b)].every((name) => isSame(one?.[name], other?.[name]))
}
