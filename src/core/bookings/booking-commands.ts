/**
 * Where bookings are made and changed: REST, MCP, the portal and the hold timer all come here, so that one rule book
 * holds for all. A command finds its unit's actor, is decided there, becomes durable through the journal, is applied,
 * and only then answered (U1). Refusals become durable in the audit trail before they are answered too.
 */
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import { timeOf } from '../catalogue/agency-time.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Instant, Pricing } from '../domain/booking.ts'
import { decideBookStay, decideCancel, decideExpiry, type QuoteAnswer, quoteStay } from '../domain/decide.ts'
import { type BookingChange, decideChange } from '../domain/decide-change.ts'
import type { Unit } from '../domain/unit.ts'
import { UnitState } from '../domain/unit-state.ts'
import { JournalError } from '../journal/journal-error.ts'
import type { AuditDraft, Caller, IdempotencyDraft, KeepChange } from '../journal/record.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type { BookingRows, Write } from './booking-turns.ts'
import {
  type BookingRequest,
  BookingTurns,
  type FoundOutcome,
  type KeepAnswer,
  type NotFound,
  newBookingOf,
  type Outcome,
  type QuoteRequest,
  saleMoment,
  tariffOf,
  type UnitArchived,
  type WriteMode,
} from './booking-turns.ts'
import {
  type AuditSource,
  DurableWrites,
  type DurableWritesOptions,
  refusalLine,
  replayLine,
  sourceOf,
  successLine,
} from './durable-writes.ts'
import { GroupCommands } from './group-commands.ts'
import { OfferSearch, type OfferSearchParams, type OffersFound } from './offer-search.ts'
import type { SandboxWrites } from './sandbox-writes.ts'
import { RefusalNotRecordedError } from './write-error.ts'

const UNIT_ARCHIVED: UnitArchived = { kind: 'unit_archived' }

export class BookingCommands {
  /** Several bookings at once. */
  readonly groups: GroupCommands
  readonly #catalogue: Catalogue
  readonly #directory: UnitDirectory
  readonly #turns: BookingTurns
  readonly #writes: DurableWrites
  readonly #clock: Clock
  readonly #audit: AuditSource
  readonly #offers: OfferSearch

  constructor(options: DurableWritesOptions & { readonly rows: BookingRows }) {
    this.#catalogue = options.catalogue
    this.#directory = options.directory
    this.#turns = new BookingTurns(options)
    this.#writes = new DurableWrites(options)
    this.#clock = options.clock
    this.#audit = options
    this.groups = new GroupCommands({ turns: this.#turns, writes: this.#writes, audit: options })
    this.#offers = new OfferSearch(options.directory, options.clock)
  }

  /** The writes to sandboxes: those of commands, and others that count themselves. */
  get sandboxWrites(): SandboxWrites {
    return this.#writes.sandboxWrites
  }

  /** The unit's nights, to be read at once. Synchronous when the unit is resident. */
  calendar(agency: Agency, unit: Unit): UnitState | Promise<UnitState> {
    return this.#directory.peek(unit.id) ?? this.#directory.read({ agencyId: agency.id, unitId: unit.id })
  }

  /** The same for one of several units that are shown together: of a damaged one every night is taken, for it can not be booked (D1). */
  listedCalendar(agency: Agency, unit: Unit): UnitState | Promise<UnitState> {
    const address = { agencyId: agency.id, unitId: unit.id }
    return (
      this.#directory.peek(unit.id) ??
      this.#directory.readUnlessDamaged(address).then((state) => state ?? UnitState.closed(unit.id, unit.rules))
    )
  }

  /** Loads those of the units that are not in memory, many with one statement. Settles when all could be loaded. */
  async activate(agency: Agency, units: readonly Unit[]): Promise<void> {
    await this.#directory.activate(units.map(({ id }) => ({ agencyId: agency.id, unitId: id })))
  }

  /** Rises with every change of the agency's nights and prices, in the same tick (UnitDirectory.appliedTo). */
  changesOf(agency: Agency): number {
    return this.#directory.appliedTo(agency.id)
  }

  /** A page of the stays that `book` would accept, with the totals that it would write (OfferSearch). */
  search(agency: Agency, inventory: Inventory, params: OfferSearchParams): Promise<OffersFound> {
    return this.#offers.page(agency, inventory, params)
  }

  /** Prices a stay with the engine that also prices its booking. Synchronous when unit and fees are in memory. */
  quote(agency: Agency, params: QuoteRequest): QuoteAnswer | Promise<QuoteAnswer> {
    const state = this.#directory.peek(params.unit.id)
    const inventory = this.#catalogue.peekInventory(agency.id)
    if (state === null || inventory === null) return this.#quoteLater(agency, params)
    const moment = saleMoment(params.unit, agency, timeOf(agency, this.#clock))
    return quoteStay(state, { ...params, moment, tariff: tariffOf(agency, inventory) })
  }

  async #quoteLater(agency: Agency, params: QuoteRequest): Promise<QuoteAnswer> {
    const tariff = tariffOf(agency, await this.#catalogue.inventory(agency.id))
    const state = await this.#directory.read({ agencyId: agency.id, unitId: params.unit.id })
    return quoteStay(state, { ...params, tariff, moment: saleMoment(params.unit, agency, timeOf(agency, this.#clock)) })
  }

  /**
   * Makes a booking, with unit and fees as they are in its turn.
   * @throws JournalError, MailboxFullError when it was not written, or the outcome is unknown
   */
  book(
    agency: Agency,
    request: BookingRequest,
    caller: Caller,
    keep?: KeepAnswer,
    mode?: WriteMode,
  ): Promise<Outcome | UnitArchived> {
    const { unit, enforcement, isAgreed } = request
    return this.#writes.run({ agency, caller, mode }, async (write) => {
      const outcome = await this.#turns.of(write, unit.id, async (turn) => {
        const { state, inventory } = turn
        const current = inventory.unitById(unit.id) ?? unit
        if (current.status === 'archived') return UNIT_ARCHIVED
        const at = timeOf(agency, this.#clock)
        const booking = newBookingOf(request, agency, { id: this.#audit.newId('bkg'), at })
        const tariff = tariffOf(agency, inventory)
        const moment = saleMoment(current, agency, at)
        const decision = decideBookStay(state, { booking, tariff, enforcement, isAgreed, moment })
        return this.#writes.settle(write, turn, decision, { keep, request })
      })
      return this.#recorded(write, outcome, null)
    })
  }

  /**
   * Cancels a booking; one that is cancelled already stays as it is (docs/contract.md#post-bookingsidcancel). `ifVersion`: refused when
   * the booking is at another version.
   */
  cancel(
    agency: Agency,
    { bookingId, reason, ifVersion }: { bookingId: string; reason: string | null; ifVersion?: number | undefined },
    caller: Caller,
    keep?: KeepAnswer,
    mode?: WriteMode,
  ): Promise<Outcome | NotFound> {
    return this.#writes.run({ agency, caller, mode }, async (write) => {
      const outcome = await this.#turns.ofBooking(write, { bookingId }, async (turn, { booking }) => {
        const decision = decideCancel(turn.state, { booking, reason, ifVersion, at: timeOf(agency, this.#clock) })
        return this.#writes.settle(write, turn, decision, { keep })
      })
      return this.#recorded(write, outcome, bookingId)
    })
  }

  /**
   * Changes a booking as the agency asks, with units and fees as they are in its turn. With `change.unitId` it moves: one entry
   * for both units (U4). `ifVersion`: refused when the booking is at another version. `pricing`: of new dates or another unit.
   */
  change(
    agency: Agency,
    request: {
      bookingId: string
      change: BookingChange
      ifVersion?: number | undefined
      pricing?: Pricing | undefined
    },
    caller: Caller,
    keep?: KeepAnswer,
    mode?: WriteMode,
  ): Promise<FoundOutcome> {
    const { bookingId, change, ifVersion, pricing } = request
    return this.#writes.run({ agency, caller, mode }, async (write) => {
      const where = { bookingId, targetId: change.unitId }
      const outcome = await this.#turns.ofBooking(write, where, async (turn, { booking }) => {
        const { state, target, inventory } = turn
        const unit = inventory.unitById(target.unitId)
        assert(unit !== null, 'Cannot change a booking: its unit is not in the catalogue')
        if (state !== target && unit.status === 'archived') return UNIT_ARCHIVED
        const tariff = tariffOf(agency, inventory)
        const at = timeOf(agency, this.#clock)
        const moment = saleMoment(unit, agency, at)
        const decision = decideChange(state, target, { booking, ifVersion, change, pricing, tariff, at, moment })
        return this.#writes.settle(write, turn, decision, { keep })
      })
      return this.#recorded(write, outcome, bookingId)
    })
  }

  /** Releases a hold whose lifetime has elapsed; does nothing to one that has been confirmed or extended meanwhile. */
  expire(agency: Agency, bookingId: string): Promise<Outcome | NotFound> {
    const caller: Caller = { actor: { kind: 'system', id: null }, route: 'hold timer', requestId: null }
    return this.#writes.run({ agency, caller }, (write) =>
      this.#turns.ofBooking(write, { bookingId }, async (turn, { booking }) =>
        this.#writes.settle(write, turn, decideExpiry(turn.state, { booking, at: timeOf(agency, this.#clock) })),
      ),
    )
  }

  /**
   * Creates a unit, or changes its master data, prices and rules: atomic against the unit's bookings.
   * @param decide receives the current unit, null when it is new; what it returns becomes durable, then visible.
   *   Null: nothing changes.
   * @param made.keep puts the answer into the unit's record
   * @param made.whenKnown called when the change is made, or never will be: later than the answer when that is "unknown"
   */
  setUnit(
    agency: Agency,
    unitId: string,
    decide: (current: Unit | null) => Unit | null,
    caller: Caller,
    made: { whenKnown?: (() => void) | undefined; keep?: KeepChange<Unit> | undefined } = {},
  ): Promise<Unit | null> {
    return this.#writes.run({ agency, caller }, (write) => {
      const set = this.#turns.of(write, unitId, async (turn) => {
        const unit = decide(turn.inventory.unitById(unitId))
        if (unit === null) return null
        assert(unit.id === unitId, 'Cannot set a unit: the id is of another one')
        await this.#writes.settleUnit(write, turn, unit, made.keep)
        return unit
      })
      return set.finally(() => made.whenKnown?.())
    })
  }

  /**
   * Erases the row of a guest, once; what else is stored of them is for GuestErasures.
   * @param keep puts the answer into the record
   * @throws JournalError when it was not written, or the outcome is unknown
   */
  eraseGuest(
    agency: Agency,
    guest: { readonly guestId: string; readonly isErased: boolean },
    caller: Caller,
    keep?: (at: Instant) => IdempotencyDraft,
  ): Promise<void> {
    return this.#writes.run({ agency, caller }, (write) => this.#writes.settleErasure(write, guest, keep))
  }

  /**
   * Puts a write that was refused before any command ran into the audit trail; durable when it settles (docs/design.md#audit).
   * @throws JournalError when the line is not written, RefusalNotRecordedError when that is not known
   */
  async auditRefusal(agency: Agency, caller: Caller, code: string, bookingId: string | null): Promise<void> {
    try {
      await this.#record(agency, caller, refusalLine(sourceOf(this.#audit, agency), caller, code, bookingId))
    } catch (error) {
      const isUnknown = error instanceof JournalError && error.kind === 'outcome_unknown'
      throw isUnknown ? new RefusalNotRecordedError({ cause: error }) : error
    }
  }

  /**
   * Puts a repeated write, which was answered as the first time, into the audit trail; durable when it settles (docs/design.md#audit).
   * I6: before that the answer must not be given. It may be of a batch in flight, or of the next owner of the shard, which do not show the
   * change yet. The line is written after that batch (J1), and only by the owner (J5).
   * @throws JournalError when the line is not written, or that is not known
   */
  auditReplay(agency: Agency, caller: Caller, bookingId: string | null): Promise<void> {
    return this.#record(agency, caller, replayLine(sourceOf(this.#audit, agency), caller, bookingId))
  }

  /**
   * Puts something that changes no data of the agency, such as a sign-in, into the audit trail; durable when it settles.
   * @throws JournalError when the line is not written, or that is not known
   */
  auditSuccess(agency: Agency, caller: Caller): Promise<void> {
    return this.#record(agency, caller, successLine(sourceOf(this.#audit, agency), caller))
  }

  #record(agency: Agency, caller: Caller, line: AuditDraft): Promise<void> {
    return this.#writes.run({ agency, caller }, (write) => this.#writes.record(write, line))
  }

  /** A refusal is in the audit trail before it is answered. */
  async #recorded<O extends FoundOutcome>(write: Write, outcome: O, bookingId: string | null): Promise<O> {
    if (outcome.kind === 'done' || write.isDryRun) return outcome
    const code = outcome.kind === 'rejected' ? outcome.rejection.code : 'NOT_FOUND'
    await this.#writes.record(write, refusalLine(sourceOf(this.#audit, write.agency), write.caller, code, bookingId))
    return outcome
  }
}
