/** What the list of bookings is filtered by, as it is in the address. */
import type { QueryChange, Route } from '../../route/route.ts'

/** Which part of time is listed. `upcoming`: whatever departs today or later. */
export const WHENS = ['upcoming', 'past', 'all'] as const
export type When = (typeof WHENS)[number]

export interface BookingFilter {
  /** A guest, a reference or an id. */
  readonly search: string
  readonly status: string
  readonly type: string
  readonly unit: string
  readonly source: string
  /** `YYYY-MM-DD`; of the days that a stay touches. */
  readonly from: string
  readonly to: string
  readonly when: When
}

const MEMBERS = ['search', 'status', 'type', 'unit', 'source', 'from', 'to'] as const

export const NO_FILTER: QueryChange = Object.fromEntries([...MEMBERS, 'page'].map((member) => [member, null]))

export function filterOf({ query }: Pick<Route, 'query'>): BookingFilter {
  const of = (member: (typeof MEMBERS)[number]) => query[member] ?? ''
  const [from, to, status] = [dateOrNone(of('from')), dateOrNone(of('to')), of('status')]
  return {
    search: of('search').trim(),
    status,
    from,
    to,
    type: of('type'),
    unit: of('unit'),
    source: of('source'),
    when: WHENS.find((when) => when === query['when']) ?? usualWhen({ from, to, status }),
  }
}

/** People look ahead, unless they ask for certain days, or for those who have left. */
export function usualWhen({ from, to, status }: Pick<BookingFilter, 'from' | 'to' | 'status'>): When {
  return from !== '' || to !== '' || status === 'checked_out' ? 'all' : 'upcoming'
}

/** How many filters are set besides the search. */
export function filterCount(filter: BookingFilter): number {
  return MEMBERS.filter((member) => member !== 'search' && filter[member] !== '').length
}

/** The query of a part of time, and its order. @param today `YYYY-MM-DD` */
export function whenQuery({ when, from, to }: Pick<BookingFilter, 'when' | 'from' | 'to'>, today: string) {
  if (when === 'past') return { departedBefore: today, order: 'latest_first' } as const
  if (when === 'upcoming') return { from: from > today ? from : today, order: 'earliest_first' } as const
  return { order: from === '' && to === '' ? 'latest_first' : 'earliest_first' } as const
}

/** Orders what a search has found: those to come, soonest first, then those that are over, latest first. @param today `YYYY-MM-DD` */
export function soonestFirst(today: string) {
  return (a: Dates, b: Dates): number => {
    const isOver = Number(a.departure < today) - Number(b.departure < today)
    if (isOver !== 0 || a.arrival === b.arrival) return isOver
    return a.arrival < b.arrival === a.departure >= today ? -1 : 1
  }
}

interface Dates {
  readonly arrival: string
  readonly departure: string
}

/** The same as the service's query, without what is not set. */
export function listQuery({ status, type, unit, source, from, to }: BookingFilter) {
  return {
    ...(status === '' ? {} : { status }),
    ...(type === '' ? {} : { type }),
    ...(unit === '' ? {} : { unit }),
    ...(source === '' ? {} : { source }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { to }),
  }
}

/** An address may have been typed. Only years that the service takes: half a year in a field of the browser is 0002. */
export function dateOrNone(text: string): string {
  return /^20\d{2}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}
