/** What the audit trail is filtered by, as it is in the address. */
import { dayOf, isoOf } from '../../format/days.ts'
import type { QueryChange, Route } from '../../route/route.ts'

export interface AuditFilter {
  /** `key:ID`, `token:ID`, `portal`, `system`, or empty. */
  readonly who: string
  readonly outcome: string
  /** `YYYY-MM-DD`, both inclusive. */
  readonly from: string
  readonly to: string
  /** An id. */
  readonly booking: string
}

const MEMBERS = ['who', 'outcome', 'from', 'to', 'booking'] as const

export const NO_FILTER: QueryChange = Object.fromEntries([...MEMBERS, 'page'].map((member) => [member, null]))

export function filterOf({ query }: Pick<Route, 'query'>): AuditFilter {
  const of = (member: (typeof MEMBERS)[number]) => query[member] ?? ''
  return {
    who: of('who'),
    outcome: of('outcome'),
    from: dateOrNone(of('from')),
    to: dateOrNone(of('to')),
    booking: of('booking'),
  }
}

export function isFiltered(filter: AuditFilter): boolean {
  return MEMBERS.some((member) => filter[member] !== '')
}

/** The same as the service's query, without what is not set. */
export function auditQuery({ who, outcome, from, to, booking }: AuditFilter) {
  return {
    ...whoQuery(who),
    ...(outcome === '' ? {} : { outcome }),
    ...(from === '' ? {} : { from }),
    // The service's end is exclusive.
    ...(to === '' ? {} : { to: isoOf(dayOf(to) + 1) }),
    ...(booking === '' ? {} : { booking }),
  }
}

function whoQuery(who: string): { key?: string; token?: string; actor?: 'portal' | 'system' } {
  if (who === 'portal' || who === 'system') return { actor: who }
  const [kind, id] = who.split(':')
  if (id === undefined) return {}
  return kind === 'key' ? { key: id } : kind === 'token' ? { token: id } : {}
}

function dateOrNone(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}
