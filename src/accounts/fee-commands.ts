/** Fee types, as the portal creates and changes them. They are never deleted, only switched off: earlier quotes name them. */

import { changeLine } from '../core/bookings/durable-writes.ts'
import { isNotWritten } from '../core/bookings/write-error.ts'
import type { Agency, Inventory } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { EVERY_STAY_FEE_TYPES_MAX, type FeeType } from '../core/domain/unit.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import type { Clock } from '../lib/clock.ts'
import type { IdSource } from '../lib/ids.ts'
import { KeyedTurns } from '../lib/queues.ts'
import type { AgencyStore } from './agency-store.ts'
import { MemoryRefresh } from './memory-refresh.ts'
import { type AgencyOutcome, done, NOT_FOUND, refused } from './store-retries.ts'

/** Of one agency, inactive ones included: they are never deleted. */
export const FEE_TYPES_PER_AGENCY_MAX = 500

type NewFeeType = Omit<FeeType, 'id'>

export class FeeCommands {
  readonly #catalogue: Catalogue
  readonly #store: AgencyStore
  readonly #dependencies: { readonly clock: Clock; readonly newId: IdSource }
  readonly #turns = new KeyedTurns()
  /** By agency. */
  readonly #refresh: MemoryRefresh

  constructor(options: { catalogue: Catalogue; store: AgencyStore; clock: Clock; newId: IdSource }) {
    this.#catalogue = options.catalogue
    this.#store = options.store
    this.#dependencies = options
    const read = (agencyId: string) => this.#read(agencyId)
    const isHere = (agencyId: string) => this.#catalogue.termOf(agencyId) !== null
    this.#refresh = new MemoryRefresh({ clock: options.clock, turns: this.#turns, read, isHere })
  }

  create(
    agency: Agency,
    draft: NewFeeType,
    caller: Caller,
    keep?: KeepChange<FeeType>,
  ): Promise<AgencyOutcome<FeeType>> {
    return this.#turns.run(agency.id, async () => {
      const inventory = await this.#catalogue.inventory(agency.id)
      const feeType: FeeType = { id: this.#dependencies.newId('fee'), ...draft }
      return this.#put(agency, inventory, feeType, () =>
        this.#store.insertFeeType(agency.id, feeType, changeLine(this.#dependencies, caller, keep?.(feeType))),
      )
    })
  }

  /** `change` receives the current fee type. */
  change(
    agency: Agency,
    feeTypeId: string,
    change: (feeType: FeeType) => FeeType,
    caller: Caller,
    keep?: KeepChange<FeeType>,
  ): Promise<AgencyOutcome<FeeType>> {
    return this.#turns.run(agency.id, async () => {
      const inventory = await this.#catalogue.inventory(agency.id)
      const current = inventory.feeTypes.find(({ id }) => id === feeTypeId)
      if (current === undefined) return NOT_FOUND
      const feeType = change(current)
      return this.#put(agency, inventory, feeType, () =>
        this.#store.updateFeeType(agency.id, feeType, changeLine(this.#dependencies, caller, keep?.(feeType))),
      )
    })
  }

  /** @param inventory as it is at this moment: `write` begins before anything else can happen */
  async #put(
    agency: Agency,
    inventory: Inventory,
    feeType: FeeType,
    write: () => Promise<void>,
  ): Promise<AgencyOutcome<FeeType>> {
    const term = this.#catalogue.termOf(agency.id)
    const others = inventory.feeTypes.filter(({ id }) => id !== feeType.id)
    const problem = feeTypeProblem(feeType, others)
    if (problem !== null) return refused({ code: 'VALIDATION', ...problem })
    try {
      await write()
    } catch (error) {
      // Quotes must not contradict what may be stored. If it cannot be read now, the next quote reads it.
      if (!isNotWritten(error) && !(await this.#refresh.now(agency.id))) this.#catalogue.dropInventory(agency.id)
      throw error
    }
    this.#catalogue.putFeeType(agency.id, feeType, term)
    return done(feeType)
  }

  async #read(agencyId: string): Promise<void> {
    const term = this.#catalogue.termOf(agencyId)
    await this.#store.settle(agencyId)
    const { feeTypes } = await this.#store.loadInventory(agencyId)
    for (const feeType of feeTypes) this.#catalogue.putFeeType(agencyId, feeType, term)
  }
}

/** A fault that no schema of a single member finds; null if the fee type can be stored and used in prices. */
function feeTypeProblem(feeType: FeeType, others: readonly FeeType[]): { field: string; message: string } | null {
  if (feeType.kind === 'fixed' && feeType.amount === null)
    return { field: 'amount', message: 'amount is required when kind is fixed, and must be an integer (minor units)' }
  if (feeType.kind === 'percent' && feeType.basisPoints === null)
    return { field: 'pct', message: 'pct is required when kind is percent, and must be a number' }
  if (others.length >= FEE_TYPES_PER_AGENCY_MAX)
    return {
      field: 'label',
      message: `label must be given to a fee type that exists: the agency has ${FEE_TYPES_PER_AGENCY_MAX}, inactive ones included, the maximum`,
    }
  const everyStay = others.filter(isOnEveryStay).length
  if (isOnEveryStay(feeType) && everyStay >= EVERY_STAY_FEE_TYPES_MAX)
    return {
      field: 'application',
      message: `application must be on_request: the agency already has ${everyStay} active every_stay fee types, the maximum`,
    }
  return null
}

function isOnEveryStay(feeType: FeeType): boolean {
  return feeType.active && feeType.application === 'every_stay'
}
