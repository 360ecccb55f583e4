import type { Instant } from '../domain/booking.ts'
import type { Role } from './agency.ts'

/** A person of an agency (docs/design.md#people). */
export interface Person {
  readonly id: string
  readonly agencyId: string
  readonly name: string
  /** As it was typed; unique within the agency without regard to case. */
  readonly email: string | null
  readonly role: Role
  readonly createdAt: Instant
  /** One who was removed stays, because the audit trail names them. */
  readonly removedAt: Instant | null
  /** Counts the changes: of two states, the one with the higher number is the later one. */
  readonly revision: number
}

/** Of an agency: those removed last stay in memory. Earlier ones are only in the database. */
export const REMOVED_PEOPLE_KEPT_MAX = 1_000

/** The people of all agencies in memory. */
export class People {
  /** By agency, then by id. */
  readonly #byAgency = new Map<string, Map<string, Person>>()

  /** In any state; null when there is none. */
  byId(agencyId: string, id: string): Person | null {
    return this.#byAgency.get(agencyId)?.get(id) ?? null
  }

  /** Without those who were removed, oldest first. */
  of(agencyId: string): Person[] {
    const all = [...(this.#byAgency.get(agencyId)?.values() ?? [])]
    return all.filter(({ removedAt }) => removedAt === null).sort((a, b) => a.createdAt - b.createdAt)
  }

  /** Never replaces a later state. */
  put(person: Person): void {
    const own = this.#byAgency.get(person.agencyId) ?? new Map<string, Person>()
    this.#byAgency.set(person.agencyId, own)
    const known = own.get(person.id)
    if (known !== undefined && known.revision > person.revision) return
    own.set(person.id, person)
    if (person.removedAt !== null) this.#forgetRemoved(own)
  }

  /** Forgets all people of an agency. */
  forget(agencyId: string): void {
    this.#byAgency.delete(agencyId)
  }

  #forgetRemoved(own: Map<string, Person>): void {
    if (own.size <= REMOVED_PEOPLE_KEPT_MAX) return
    const removed = [...own.values()].filter(({ removedAt }) => removedAt !== null)
    removed.sort((a, b) => (b.removedAt ?? 0) - (a.removedAt ?? 0))
    for (const { id } of removed.slice(REMOVED_PEOPLE_KEPT_MAX)) own.delete(id)
  }
}
