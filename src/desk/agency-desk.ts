/**
 * Agencies, as the portal makes and changes them. A change is committed first, then swapped into the catalogue in the same tick
 * as its answer: suspending an agency or changing its plan holds from the next request on (design, 3).
 */
import type { Agency, Plan } from '../catalogue/agency.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/keyed-turns.ts'
import { done, NOT_FOUND, refused, type Settled } from './agency-refusal.ts'
import type { AgencyStore } from './agency-store.ts'
import { auditLine } from './audit-line.ts'
import type { Caller } from './caller.ts'

export type NewAgency = Omit<Agency, 'id' | 'status' | 'createdAt'>

/** Members left out stay as they are. Slug, currency and time zone never change: stored amounts and days depend on them. */
export interface AgencyChange {
  readonly name?: string
  readonly status?: Agency['status']
  readonly plan?: Partial<Plan>
  readonly defaultHoldHours?: number
}

export class AgencyDesk {
  readonly #catalogue: Catalogue
  readonly #store: AgencyStore
  readonly #surroundings: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()

  constructor(options: { catalogue: Catalogue; store: AgencyStore; clock: Clock; newId: IdSource }) {
    this.#catalogue = options.catalogue
    this.#store = options.store
    this.#surroundings = options
  }

  /** @throws what the store throws: then the outcome is unknown */
  create(draft: NewAgency, caller: Caller): Promise<Settled<Agency>> {
    return this.#turns.run(draft.slug, async () => {
      if (this.#catalogue.agencyBySlug(draft.slug) !== null) return refused({ code: 'SLUG_TAKEN', slug: draft.slug })
      const { clock, newId } = this.#surroundings
      const agency: Agency = { ...draft, id: newId('agc'), status: 'active', createdAt: clock.now() }
      if (await this.#store.insertAgency(agency, auditLine(this.#surroundings, caller))) {
        this.#catalogue.putAgency(agency)
        return done(agency)
      }
      // Made by an attempt whose outcome was unknown, or by another process.
      await this.#readAgain()
      return refused({ code: 'SLUG_TAKEN', slug: draft.slug })
    })
  }

  /** @throws what the store throws: then the outcome is unknown */
  change(agencyId: string, change: AgencyChange, caller: Caller): Promise<Settled<Agency>> {
    return this.#turns.run(agencyId, async () => {
      const current = this.#catalogue.agencyById(agencyId)
      if (current === null) return NOT_FOUND
      const agency: Agency = { ...current, ...change, plan: { ...current.plan, ...change.plan } }
      try {
        await this.#store.updateAgency(agency, auditLine(this.#surroundings, caller))
      } catch (error) {
        await this.#readAgain()
        throw error
      }
      this.#catalogue.putAgency(agency)
      return done(agency)
    })
  }

  /** After an outcome that is unknown memory follows the database. One that does not answer is asked by the next change. */
  async #readAgain(): Promise<void> {
    const known = await this.#store.loadAgencies().catch(() => [])
    for (const agency of known) this.#catalogue.putAgency(agency)
  }
}
