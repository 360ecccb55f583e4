/** Who is signed in, and what roles let people do. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Schema } from '../api/schema.ts'
import { type Actor, type Agency, type Role, suffices } from '../api/session.ts'
import type { Currency } from '../format/numbers.ts'

export interface CurrentSession {
  readonly actor: Actor
  readonly agency: Agency
  /** `{ agencySlug }`, for the path of every request. */
  readonly path: { readonly agencySlug: string }
  /** For `money(…)` and `<MoneyInput>`. */
  readonly currency: Currency
  /** Whether the person's role includes this one: what it does not, is not offered. */
  may(role: Role): boolean
}

export const SessionContext = createContext<CurrentSession | null>(null)

export function currentSession(actor: Actor, agency: Agency): CurrentSession {
  return {
    actor,
    agency,
    path: { agencySlug: agency.slug },
    currency: { currency: agency.currency, digits: agency.currencyDigits },
    may: (role) => suffices(actor.role, role),
  }
}

/** Who is signed in, to which agency. Only within screens. */
export function useSession(): CurrentSession {
  const current = useContext(SessionContext)
  if (current === null) throw new Error('Cannot use a session outside of a screen')
  return current
}

/** The role of a person at an agency. */
export type PersonRole = Schema<'AccessToken'>['role']

/** What each role lets a person do, the least first. Each includes those before it. */
export const ROLES: readonly { readonly role: PersonRole; readonly label: string; readonly hint: string }[] = [
  { role: 'viewer', label: 'Viewer', hint: 'Can see everything except secrets, but cannot change anything.' },
  { role: 'desk', label: 'Desk', hint: 'Can also make, change and cancel bookings, and edit guests.' },
  { role: 'manager', label: 'Manager', hint: 'Can also change units, rates and fees, and resend webhooks.' },
  {
    role: 'owner',
    label: 'Owner',
    hint: 'Can do everything, including API keys, webhook endpoints and who has access.',
  },
]

export function roleLabel(role: Role): string {
  return ROLES.find((known) => known.role === role)?.label ?? role
}
