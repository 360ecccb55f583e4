import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Currency } from '../format/numbers.ts'
import { type Actor, type Agency, type Role, suffices } from '../api/session.ts'

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
