import type { Day } from '../format/days.ts'
import { isFree } from './chart-rows.ts'
import type { ChartUnit, Stay } from './stay.ts'

/** Which units are shown. Members that are null let every unit pass. */
export interface UnitFilter {
  /** Part of the name, the city or the area. */
  readonly text: string
  readonly area: string | null
  /** At least so many. */
  readonly bedrooms: number | null
  readonly freeFrom: Day | null
  readonly freeTo: Day | null
}

export const NO_FILTER: UnitFilter = { text: '', area: null, bedrooms: null, freeFrom: null, freeTo: null }

export function isFiltering({ text, area, bedrooms, freeFrom, freeTo }: UnitFilter): boolean {
  return text.trim() !== '' || area !== null || bedrooms !== null || (freeFrom !== null && freeTo !== null)
}

export function unitsShown(
  units: readonly ChartUnit[],
  filter: UnitFilter,
  staysOf: (unit: string) => readonly Stay[],
): readonly ChartUnit[] {
  if (!isFiltering(filter)) return units
  const { area, bedrooms, freeFrom, freeTo } = filter
  const words = folded(filter.text).split(/\s+/).filter(Boolean)
  return units.filter((unit) => {
    if (area !== null && unit.area !== area) return false
    if (bedrooms !== null && unit.bedrooms < bedrooms) return false
    if (freeFrom !== null && freeTo !== null) {
      if (unit.isArchived || !isFree(staysOf(unit.slug), { arrival: freeFrom, departure: freeTo })) return false
    }
    const text = folded(`${unit.name} ${unit.city ?? ''} ${unit.area ?? ''}`)
    return words.every((word) => text.includes(word))
  })
}

/** Areas to choose from, in alphabetical order. */
export function areasOf(units: readonly ChartUnit[]): string[] {
  const areas = new Set(units.flatMap(({ area }) => (area === null ? [] : [area])))
  return [...areas].sort((a, b) => a.localeCompare(b))
}

/**
 * The stays whose guest, reference or id has the text, by arrival from `today` on, then those before.
 * @param max how many to return
 */
export function staysFound(stays: Iterable<Stay>, text: string, today: Day, max: number): Stay[] {
  const words = folded(text).split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found: Stay[] = []
  for (const stay of stays) {
    const where = folded(`${stay.guest ?? ''} ${stay.sourceRef ?? ''} ${stay.id}`)
    if (words.every((word) => where.includes(word))) found.push(stay)
  }
  const rank = (stay: Stay) => (stay.departure > today ? stay.arrival : 1e6 - stay.arrival)
  return found.sort((a, b) => rank(a) - rank(b)).slice(0, max)
}

/** Without case and accents: people search for Zoe and mean Zoë. */
function folded(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{Diacritic}/gu, '')
    .toLowerCase()
}
