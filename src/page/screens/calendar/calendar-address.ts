/** The position and the filters of the calendar in the address: `#/calendar?from=2027-03-01&zoom=month&area=Alfama`. Pure. */

import type { Zoom } from '../../chart/scale.ts'
import type { UnitFilter } from '../../chart/unit-filter.ts'
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
