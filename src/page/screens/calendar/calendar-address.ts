/** The position and the filters of the calendar in the address: `#/calendar?from=2027-03-01&zoom=month&area=Alfama`. Pure. */
import { isFree } from '../../chart/chart-rows.ts'
import type { Zoom } from '../../chart/scale.ts'
import type { ChartUnit, Stay } from '../../chart/stay.ts'
import { type Day, isoOf, parseDay } from '../../format/days.ts'
import type { QueryChange } from '../../route/route.ts'

export interface CalendarAddress {
  /** The day at the left edge; null: about today. */
  readonly from: Day | null
  /** Slug of the unit at the top; null: the first. */
  readonly unit: string | null
  /** Null: what suits the screen. */
  readonly zoom: Zoom | null
  /** Id of the booking whose details are open. */
  readonly booking: string | null
  readonly search: string
  readonly filter: UnitFilter
}

type Query = Readonly<Record<string, string>>

export function addressOf(query: Query): CalendarAddress {
  const { zoom, bedrooms } = query
  return {
    from: dayIn(query['from']),
    unit: query['unit'] ?? null,
    zoom: zoom === 'week' || zoom === 'month' || zoom === 'quarter' ? zoom : null,
    booking: query['booking'] ?? null,
    search: query['q'] ?? '',
    filter: {
      text: query['name'] ?? '',
      area: query['area'] ?? null,
      bedrooms: bedrooms !== undefined && /^[1-9]\d?$/.test(bedrooms) ? Number(bedrooms) : null,
      freeFrom: dayIn(query['freeFrom']),
      freeTo: dayIn(query['freeTo']),
    },
  }
}

export function filterQuery({ text, area, bedrooms, freeFrom, freeTo }: UnitFilter): QueryChange {
  return { name: text, area, bedrooms, freeFrom: isoOrNull(freeFrom), freeTo: isoOrNull(freeTo) }
}

export function isoOrNull(day: Day | null): string | null {
  return day === null ? null : isoOf(day)
}

function dayIn(text: string | undefined): Day | null {
  return text === undefined ? null : parseDay(text)
}

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
