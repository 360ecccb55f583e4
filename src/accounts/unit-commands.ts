/**
 * Units, as the portal creates and changes them: through the unit's own turn and the journal, so that prices and rules change
 * atomically with respect to bookings (docs/decisions.md#the-ledger).
 *
 * A slug is reserved until the unit is journaled and in the catalogue: two units created at the same time would otherwise violate
 * a unique constraint in Postgres, which poisons the batch (J4) and gives the caller no refusal. Another write that needs the slug waits
 * meanwhile: only then is it known whether the slug is taken.
 */

import type { BookingCommands } from '../core/bookings/booking-commands.ts'
import type { Agency } from '../core/catalogue/agency.ts'
import type { Catalogue } from '../core/catalogue/catalogue.ts'
import { isEmpty, type Restrictions } from '../core/domain/restrictions.ts'
import type { Unit } from '../core/domain/unit.ts'
import { type Rates, sortedRates } from '../core/domain/unit.ts'
import { heldTooLong } from '../core/journal/journal-error.ts'
import type { Caller, KeepChange } from '../core/journal/record.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { IdSource } from '../lib/ids.ts'
import { type AgencyOutcome, done, NOT_FOUND, type RulesChanged, refused } from './store-retries.ts'

/** Of any status: an archived unit keeps its bookings, so there is no way to be rid of one. The largest agencies have some 20,000. */
export const UNITS_PER_AGENCY_MAX = 50_000

/** How long a caller waits for the outcome of another one that wants the same slug. */
const SLUG_WAIT_MS_MAX = 5_000

export class UnitCommands {
  readonly #catalogue: Catalogue
  readonly #commands: Pick<BookingCommands, 'setUnit'>
  readonly #newId: IdSource
  readonly #clock: Clock
  /** By agency and slug of units on their way into the journal: settled once it is known whether they have it. */
  readonly #heldSlugs = new Map<string, Promise<void>>()

  constructor(options: {
    catalogue: Catalogue
    commands: Pick<BookingCommands, 'setUnit'>
    clock: Clock
    newId: IdSource
  }) {
    this.#catalogue = options.catalogue
    this.#commands = options.commands
    this.#clock = options.clock
    this.#newId = options.newId
  }

  /** @throws JournalError, MailboxFullError when it was not written */
  async create(
    agency: Agency,
    draft: Omit<Unit, 'id'>,
    caller: Caller,
    keep?: KeepChange<Unit>,
  ): Promise<AgencyOutcome<Unit>> {
    const inventory = await this.#catalogue.inventory(agency.id)
    if (inventory.size >= UNITS_PER_AGENCY_MAX)
      return refused({
        code: 'VALIDATION',
        field: 'slug',
        message: `slug must be that of a unit that exists: the agency has ${UNITS_PER_AGENCY_MAX} units, archived ones included, the maximum`,
      })
    const isTaken = () => (this.#catalogue.peekInventory(agency.id) ?? inventory).unitBySlug(draft.slug) !== null
    return this.#holding(agency, draft.slug, isTaken, (release) => {
      const unit: Unit = { ...draft, id: this.#newId('unt') }
      return this.#set(agency, unit.id, () => unit, caller, { release, keep })
    })
  }

  /**
   * @param change receives the unit as it is in its turn, so that concurrent changes do not overwrite each other; it may refuse
   * @throws JournalError, MailboxFullError when it was not written
   */
  async change(
    agency: Agency,
    slug: string,
    { change, newSlug }: { change: (unit: Unit) => Unit | RulesChanged; newSlug?: string | undefined },
    caller: Caller,
    keep?: KeepChange<Unit>,
  ): Promise<AgencyOutcome<Unit>> {
    const inventory = await this.#catalogue.inventory(agency.id)
    const unit = inventory.unitBySlug(slug)
    if (unit === null) return NOT_FOUND
    const set = (release?: () => void) =>
      this.#set(agency, unit.id, (current) => change(current ?? unit), caller, { release, keep })
    if (newSlug === undefined) return set()
    const isTaken = () => {
      const holder = (this.#catalogue.peekInventory(agency.id) ?? inventory).unitBySlug(newSlug)
      return holder !== null && holder.id !== unit.id
    }
    return this.#holding(agency, newSlug, isTaken, set)
  }

  /**
   * Takes effect with the next quote; existing bookings keep their totals.
   * @param change.rates have no `ratesProblems`
   * @param change.isBasedOn whether these, which the unit has in its turn, are the rates that the change is based on: else it is
   *   refused. Left out: whatever the unit has.
   */
  setRates(
    agency: Agency,
    slug: string,
    { rates, isBasedOn }: { rates: Rates; isBasedOn?: (current: Rates) => boolean },
    caller: Caller,
    keep?: KeepChange<Unit>,
  ): Promise<AgencyOutcome<Unit>> {
    const sorted = sortedRates(rates)
    const change = (unit: Unit): Unit | RulesChanged => {
      if (isBasedOn?.(unit.rules.rates) === false) return { code: 'RATES_CHANGED' }
      return { ...unit, rules: { ...unit.rules, rates: sorted } }
    }
    return this.change(agency, slug, { change }, caller, keep)
  }

  /**
   * Takes effect with the next quote or booking; existing bookings are not affected.
   * @param change.restrictions without `restrictionsProblems`
   * @param change.isBasedOn whether the unit, in its turn, still has the restrictions that the change is based on; if not, it is refused
   */
  setRestrictions(
    agency: Agency,
    slug: string,
    { restrictions, isBasedOn }: { restrictions: Restrictions; isBasedOn: (current: Unit) => boolean },
    caller: Caller,
    keep?: KeepChange<Unit>,
  ): Promise<AgencyOutcome<Unit>> {
    const change = (unit: Unit): Unit | RulesChanged => {
      if (!isBasedOn(unit)) return { code: 'RESTRICTIONS_CHANGED' }
      const { restrictions: _, ...others } = unit.rules
      return { ...unit, rules: isEmpty(restrictions) ? others : { ...others, restrictions } }
    }
    return this.change(agency, slug, { change }, caller, keep)
  }

  async #set(
    agency: Agency,
    unitId: string,
    decide: (current: Unit | null) => Unit | RulesChanged,
    caller: Caller,
    { release, keep }: { release?: (() => void) | undefined; keep: KeepChange<Unit> | undefined },
  ): Promise<AgencyOutcome<Unit>> {
    let refusal: RulesChanged | null = null
    const decided = (current: Unit | null): Unit | null => {
      const outcome = decide(current)
      if (!('code' in outcome)) return outcome
      refusal = outcome
      return null
    }
    const unit = await this.#commands.setUnit(agency, unitId, decided, caller, { whenKnown: release, keep })
    if (refusal !== null) return refused(refusal)
    assert(unit !== null, 'Cannot answer for a unit: it was not set')
    return done(unit)
  }

  /**
   * @param run calls its argument once it is known whether the slug is taken; its caller may get an answer before that
   * @throws JournalError `held_too_long` while that is not known of another one
   */
  async #holding(
    agency: Agency,
    slug: string,
    isTaken: () => boolean,
    run: (release: () => void) => Promise<AgencyOutcome<Unit>>,
  ): Promise<AgencyOutcome<Unit>> {
    const held = `${agency.id} ${slug}`
    const giveUpAt = this.#clock.monotonicMs() + SLUG_WAIT_MS_MAX
    for (;;) {
      if (isTaken()) return refused({ code: 'SLUG_TAKEN', slug })
      const other = this.#heldSlugs.get(held)
      if (other === undefined) break
      await withDeadline(other, giveUpAt - this.#clock.monotonicMs(), this.#clock).catch(() => {
        throw heldTooLong(SLUG_WAIT_MS_MAX)
      })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#heldSlugs.set(held, promise)
    return run(() => {
      this.#heldSlugs.delete(held)
      resolve()
    })
  }
}
