/** What the list of bookings is filtered by, as it is in the address. */
import type { QueryChange, Route } from '../../route/route.ts'

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
}

const MEMBERS = ['search', 'status', 'type', 'unit', 'source', 'from', 'to'] as const

export const NO_FILTER: QueryChange = Object.fromEntries([...MEMBERS, 'page'].map((member) => [member, null]))

export function filterOf({ query }: Pick<Route, 'query'>): BookingFilter {
  const of = (member: (typeof MEMBERS)[number]) => query[member] ?? ''
  return {
    search: of('search').trim(),
    status: of('status'),
    type: of('type'),
    unit: of('unit'),
    source: of('source'),
    from: dateOrNone(of('from')),
    to: dateOrNone(of('to')),
  }
}

/** How many filters are set besides the search. */
export function filterCount(filter: BookingFilter): number {
  return MEMBERS.filter((member) => member !== 'search' && filter[member] !== '').length
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

/** An address may have been typed. */
function dateOrNone(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}
