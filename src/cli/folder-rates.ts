/** Rates as rows of a file: one for each season, weekday and discount of each unit. */
import type { Row } from './folder.ts'
import type { Json } from './portal-client.ts'

const KINDS = ['season', 'weekday', 'length_of_stay'] as const

export function rateRows(unit: string, rates: Json): Json[] {
  const list = (name: string) => (rates[name] ?? []) as Json[]
  const blank = {
    name: null,
    from: null,
    to: null,
    nightlyPrice: null,
    minStay: null,
    weekday: null,
    minNights: null,
    pct: null,
  }
  return [
    ...list('seasons').map((season) => ({ unit, kind: 'season', ...blank, ...season })),
    ...list('weekdayAdjustments').map((adjustment) => ({ unit, kind: 'weekday', ...blank, ...adjustment })),
    ...list('lengthOfStayDiscounts').map((discount) => ({ unit, kind: 'length_of_stay', ...blank, ...discount })),
  ]
}

interface UnitRates {
  readonly unit: string
  readonly at: string
  readonly rates: { seasons: Json[]; weekdayAdjustments: Json[]; lengthOfStayDiscounts: Json[] }
}

/** The rows by unit. `wrong`: rows that belong to no kind. */
export function ratesByUnit(rows: readonly Row[]): { units: UnitRates[]; wrong: Row[] } {
  const units = new Map<string, UnitRates>()
  const wrong: Row[] = []
  for (const row of rows) {
    const { unit, kind, name, from, to, nightlyPrice, minStay, weekday, minNights, pct } = row.values
    if (typeof unit !== 'string' || !(KINDS as readonly unknown[]).includes(kind)) {
      wrong.push(row)
      continue
    }
    const rates = units.get(unit)?.rates ?? noRates()
    if (!units.has(unit)) units.set(unit, { unit, at: row.at, rates })
    if (kind === 'season') rates.seasons.push({ name, from, to, nightlyPrice, minStay: minStay ?? null })
    else if (kind === 'weekday') rates.weekdayAdjustments.push({ weekday, pct })
    else rates.lengthOfStayDiscounts.push({ minNights, pct })
  }
  return { units: [...units.values()], wrong }
}

function noRates(): UnitRates['rates'] {
  return { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
}
