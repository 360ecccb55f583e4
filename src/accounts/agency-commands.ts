/**
 * Agencies, as the portal creates and changes them. A change is committed first, then applied to the catalogue in the same tick
 * as its answer: a new plan applies from the next request on (docs/design.md#data-outside-units). A suspension takes effect in
 * memory before it is committed, and stays in effect if it cannot be.
 */

import { changeLine, successLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten, WriteError } from '../core/bookings/write-error.ts'
import type { Agency, Plan } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import type { Caller, ChangeLine, KeepChange } from '../core/journal/record.ts'
import { AssertionError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import {
  type AgencyOutcome,
  done,
  NOT_FOUND,
  RevocationNotStoredError,
  refused,
  StoreRetries,
} from './store-retries.ts'

export type NewAgency = Omit<Agency, 'id' | 'status' | 'createdAt'>

/** Members left out stay as they are. Slug, currency and time zone never change: stored amounts and days depend on them. */
export interface AgencyChange {
  readonly name?: string
  readonly status?: Agency['status']
  readonly plan?: Partial<Plan>
  readonly defaultHoldHours?: number
}

export class AgencyCommands {
  readonly #catalogue: Catalogue
  readonly #store: AgencyStore
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()
  readonly #refresh: MemoryRefresh
  /** Suspensions that must still be stored, by agency. */
  readonly #storeRetries: StoreRetries
  /**
   * Agencies suspended in this process, perhaps not in the database: reading the database does not reactivate them. The symbol
   * identifies the suspension.
   */
  readonly #suspendedHere = new Map<string, symbol>()

  readonly #onSuspended: (agencyId: string) => void

  constructor(options: {
    catalogue: Catalogue
    store: AgencyStore
    clock: Clock
    newId: IdSource
    /** Called when a suspension has taken effect in memory. */
    onSuspended?: (agencyId: string) => void
  }) {
    this.#catalogue = options.catalogue
    this.#onSuspended = options.onSuspended ?? (() => {})
    this.#store = options.store
    this.#dependencies = options
    const read = (agencyId: string) => this.#read(agencyId)
    const isHere = (agencyId: string) => this.#catalogue.termOf(agencyId) !== null
    this.#refresh = new MemoryRefresh({ clock: options.clock, turns: this.#turns, read, isHere })
    this.#storeRetries = new StoreRetries(options.clock)
  }

  /**
   * @param id of the new agency; left out: any
   * @throws what the store throws; the error says what is known about the outcome
   */
  create(
    draft: NewAgency,
    caller: Caller,
    keep?: KeepChange<Agency>,
    id = this.#dependencies.newId('agc'),
  ): Promise<AgencyOutcome<Agency>> {
    return this.#turns.run(draft.slug, async () => {
      if (this.#catalogue.agencyBySlug(draft.slug) !== null) return refused({ code: 'SLUG_TAKEN', slug: draft.slug })
      const agency: Agency = { ...draft, id, status: 'active', createdAt: this.#dependencies.clock.now() }
      const term = this.#catalogue.termOf(id)
      let isMade: boolean
      try {
        isMade = await this.#store.insertAgency(agency, changeLine(this.#dependencies, caller, keep?.(agency)))
      } catch (error) {
        if (!isNotWritten(error)) await this.#turns.run(agency.id, () => this.#refresh.now(agency.id))
        throw error
      }
      if (isMade) {
        this.#catalogue.putAgency(agency, term)
        return done(agency)
      }
      // Made by another process.
      for (const known of await this.#store.loadAgencies())
        if (this.#catalogue.agencyById(known.id) === null) this.#catalogue.putAgency(known)
      return refused({ code: 'SLUG_TAKEN', slug: draft.slug })
    })
  }

  /**
   * @throws what the store throws; the error says what is known about the outcome. RevocationNotStoredError when a suspension may not be
   *   stored yet: it applies in this process anyway, which retries storing it, without the other members of the change
   */
  async change(
    agencyId: string,
    change: AgencyChange,
    caller: Caller,
    keep?: KeepChange<Agency>,
  ): Promise<AgencyOutcome<Agency>> {
    const isSuspension = change.status === 'suspended'
    if (isSuspension) {
      this.#suspendHere(agencyId)
      this.#onSuspended(agencyId)
    }
    const suspension = this.#suspendedHere.get(agencyId)
    // The same line every time, so that it is in the audit trail once.
    const line = successLine(this.#dependencies, caller)
    try {
      return await this.#turns.run(agencyId, () => this.#changeInTurn({ agencyId, change, suspension, keep }, line))
    } catch (error) {
      if (!isSuspension || suspension === undefined || error instanceof AssertionError) throw error
      this.#storeRetries.later(agencyId, () => this.#storeSuspension(agencyId, suspension, line))
      throw new RevocationNotStoredError('agency', { cause: error })
    }
  }

  async #storeSuspension(agencyId: string, suspension: symbol, line: ChangeLine): Promise<void> {
    await this.#turns.run(agencyId, async () => {
      // Stored by a later change, lifted, or asked for again.
      if (this.#suspendedHere.get(agencyId) !== suspension) return
      await this.#changeInTurn({ agencyId, change: { status: 'suspended' }, suspension }, line)
    })
  }

  async #changeInTurn(
    {
      agencyId,
      change,
      suspension,
      keep,
    }: {
      agencyId: string
      change: AgencyChange
      suspension: symbol | undefined
      keep?: KeepChange<Agency> | undefined
    },
    line: ChangeLine,
  ): Promise<AgencyOutcome<Agency>> {
    // The change must be based on the stored state.
    if (this.#refresh.isDoubtful(agencyId) && !(await this.#refresh.now(agencyId)))
      throw new WriteError('not_written', 'Cannot change an agency: what is stored of it cannot be read')
    const current = this.#catalogue.agencyById(agencyId)
    if (current === null) {
      // Another process of the cluster has it, and decides whether it is suspended.
      this.#suspendedHere.delete(agencyId)
      return NOT_FOUND
    }
    const term = this.#catalogue.termOf(agencyId)
    const agency: Agency = { ...current, ...change, plan: { ...current.plan, ...change.plan } }
    try {
      await this.#store.updateAgency(agency, { ...line, answer: keep?.(agency) })
    } catch (error) {
      if (!isNotWritten(error)) await this.#refresh.now(agencyId)
      throw error
    }
    // The suspension is now stored or lifted, unless the agency was suspended again after this change was requested.
    const isOver = agency.status === 'suspended' || change.status === 'active'
    if (isOver && this.#suspendedHere.get(agencyId) === suspension) this.#suspendedHere.delete(agencyId)
    this.#put(agency, term)
    return done(agency)
  }

  #suspendHere(agencyId: string): void {
    const agency = this.#catalogue.agencyById(agencyId)
    if (agency === null) return
    this.#suspendedHere.set(agencyId, Symbol('suspension'))
    this.#put(agency)
  }

  #put(agency: Agency, term = this.#catalogue.termOf(agency.id)): void {
    this.#catalogue.putAgency(this.#suspendedHere.has(agency.id) ? { ...agency, status: 'suspended' } : agency, term)
  }

  async #read(agencyId: string): Promise<void> {
    const term = this.#catalogue.termOf(agencyId)
    await this.#store.settle(agencyId)
    for (const agency of await this.#store.loadAgencies()) if (agency.id === agencyId) this.#put(agency, term)
  }
}
