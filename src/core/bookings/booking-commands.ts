/**
 * Where bookings are made and changed: REST, MCP, the portal and the hold timer all come here, so that one rule book
 * holds for all. A command finds its unit's actor, is decided there, becomes durable through the journal, is applied,
 * and only then answered (U1). Refusals become durable in the audit trail before they are answered too.
 */
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { HOUR_MS } from '../../lib/duration.ts'
import type { IdSource } from '../../lib/ids.ts'
import type { Agency } from '../catalogue/agency.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Inventory } from '../catalogue/inventory.ts'
import { isHold } from '../domain/booking.ts'
import { type Decision, decideBookStay, decideCancel, decideExpiry, type Tariff } from '../domain/decide.ts'
import { type BookingChange, decideChange } from '../domain/decide-change.ts'
import type { BookingEvent, UnitEvent } from '../domain/event.ts'
import { type QuoteAnswer, quoteStay } from '../domain/quote-stay.ts'
import type { Unit } from '../domain/unit.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { Appended, Journal } from '../journal/journal.ts'
import { JournalError } from '../journal/journal-error.ts'
import type { Announcement, JournalRecord } from '../journal/record.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type {
  Announce,
  BookingRequest,
  FoundOutcome,
  KeepAnswer,
  Outcome,
  QuoteAsked,
  UnitArchived,
} from './booking-request.ts'
import type { BookingRow, BookingRows } from './booking-rows.ts'
import { BookingTurns, type NotFound } from './booking-turns.ts'
import type { Caller } from './caller.ts'
import { RefusalNotRecordedError } from './refusal-not-recorded-error.ts'
import { WriteLimit } from './write-limit.ts'

export class BookingCommands {
  readonly #catalogue: Catalogue
  readonly #directory: UnitDirectory
  readonly #journal: Journal
  readonly #turns: BookingTurns
  readonly #announce: Announce
  readonly #clock: Clock
  readonly #newId: IdSource
  readonly #queuedMsMax: number
  readonly #onDurable: (event: BookingEvent, agency: Agency) => void

  constructor(options: {
    catalogue: Catalogue
    directory: UnitDirectory
    journal: Journal
    rows: BookingRows
    announce: Announce
    clock: Clock
    newId: IdSource
    /** How long a write is held before it is refused as not written, unless it may have been written by then. */
    queuedMsMax: number
    /** Called after a change is applied: wakes the hold timer and the webhook sender. */
    onDurable: (event: BookingEvent, agency: Agency) => void
  }) {
    this.#catalogue = options.catalogue
    this.#directory = options.directory
    this.#journal = options.journal
    this.#announce = options.announce
    this.#clock = options.clock
    this.#newId = options.newId
    this.#queuedMsMax = options.queuedMsMax
    this.#turns = new BookingTurns(options)
    this.#onDurable = options.onDurable
  }

  /** The unit's nights, to be read at once. Synchronous when the unit is resident. */
  calendar(agency: Agency, unit: Unit): UnitState | Promise<UnitState> {
    return this.#directory.peek(unit.id) ?? this.#directory.read({ agencyId: agency.id, unitId: unit.id })
  }

  /** Prices a stay with the engine that also prices its booking. Synchronous when unit and fees are in memory. */
  quote(agency: Agency, asked: QuoteAsked): QuoteAnswer | Promise<QuoteAnswer> {
    const state = this.#directory.peek(asked.unit.id)
    const inventory = this.#catalogue.peekInventory(agency.id)
    if (state === null || inventory === null) return this.#quoteLater(agency, asked)
    return quoteStay(state, { ...asked, tariff: { currency: agency.currency, feeTypes: inventory.feeTypes } })
  }

  async #quoteLater(agency: Agency, asked: QuoteAsked): Promise<QuoteAnswer> {
    const { feeTypes } = await this.#catalogue.inventory(agency.id)
    const tariff = { currency: agency.currency, feeTypes }
    const state = await this.#directory.read({ agencyId: agency.id, unitId: asked.unit.id })
    return quoteStay(state, { ...asked, tariff })
  }

  /**
   * Makes a booking, with unit and fees as they are in its turn.
   * @throws JournalError, MailboxFullError when it was not written, or the outcome is unknown
   */
  book(agency: Agency, request: BookingRequest, caller: Caller, keep?: KeepAnswer): Promise<Outcome | UnitArchived> {
    const { unit, stay } = request
    return this.#write(async (limit) => {
      await this.#catalogue.inventory(agency.id)
      const outcome = await this.#turns.of(
        limit,
        agency.id,
        unit.id,
        async (state): Promise<Outcome | UnitArchived> => {
          const decision = await this.#withInventory(limit, agency.id, (inventory) => {
            if (inventory.unitById(unit.id)?.status === 'archived') return UNIT_ARCHIVED
            const at = this.#clock.now()
            const holdHours = request.holdHours ?? agency.defaultHoldHours
            return decideBookStay(state, {
              tariff: tariffOf(agency, inventory),
              enforcement: request.enforcement,
              booking: {
                id: this.#newId('bkg'),
                unitId: unit.id,
                type: request.type,
                status: request.status,
                source: request.source,
                sourceRef: request.sourceRef,
                arrival: stay.arrival,
                departure: stay.departure,
                adults: request.adults,
                children: request.children,
                extraBed: request.extraBed,
                holdExpiresAt: isHold(request.status) ? at + holdHours * HOUR_MS : null,
                expectedUntil: request.status === 'checked_in' ? (request.expectedUntil ?? null) : null,
                cancelledAt: request.status === 'cancelled' ? at : null,
                cancelReason: null,
                createdAt: at,
              },
            })
          })
          if (decision.kind === 'unit_archived') return decision
          return this.#settle({ limit, agency, caller, decision, states: [state], keep, request })
        },
      )
      return this.#auditRejection(limit, agency, caller, outcome, null)
    })
  }

  /** Cancels a booking; one that is cancelled already stays as it is (contract, POST /bookings/{id}/cancel). */
  cancel(
    agency: Agency,
    asked: { bookingId: string; reason: string | null },
    caller: Caller,
    keep?: KeepAnswer,
  ): Promise<Outcome | NotFound> {
    return this.#write(async (limit) => {
      const outcome = await this.#turns.ofBooking(limit, agency.id, asked.bookingId, async (state, { booking }) => {
        const decision = decideCancel(state, { booking, reason: asked.reason, at: this.#clock.now() })
        return this.#settle({ limit, agency, caller, decision, states: [state], keep })
      })
      return this.#auditRejection(limit, agency, caller, outcome, asked.bookingId)
    })
  }

  /**
   * Changes a booking as the agency asks, with units and fees as they are in its turn. With `change.unitId` it moves: one entry
   * for both units (U4).
   */
  change(agency: Agency, asked: { bookingId: string; change: BookingChange }, caller: Caller): Promise<FoundOutcome> {
    const { bookingId, change } = asked
    const target = change.unitId
    return this.#write(async (limit) => {
      await this.#catalogue.inventory(agency.id)
      const decideAndSettle = async (
        from: UnitState,
        to: UnitState,
        { booking }: BookingRow,
      ): Promise<Outcome | UnitArchived> => {
        const decision = await this.#withInventory(limit, agency.id, (inventory) => {
          if (from !== to && inventory.unitById(to.unitId)?.status === 'archived') return UNIT_ARCHIVED
          const tariff = tariffOf(agency, inventory)
          return decideChange(from, to, { booking, change, tariff, at: this.#clock.now() })
        })
        if (decision.kind === 'unit_archived') return decision
        return this.#settle({ limit, agency, caller, decision, states: from === to ? [from] : [from, to] })
      }
      const outcome =
        target === undefined
          ? await this.#turns.ofBooking(limit, agency.id, bookingId, (state, row) => decideAndSettle(state, state, row))
          : await this.#turns.ofMove(limit, agency.id, bookingId, target, decideAndSettle)
      return this.#auditRejection(limit, agency, caller, outcome, bookingId)
    })
  }

  /** Releases a hold whose lifetime has elapsed; does nothing to one that has been confirmed or extended meanwhile. */
  expire(agency: Agency, bookingId: string): Promise<Outcome | NotFound> {
    const caller: Caller = { actor: { kind: 'system', id: null }, route: 'hold timer', requestId: null }
    return this.#write((limit) =>
      this.#turns.ofBooking(limit, agency.id, bookingId, async (state, { booking }) => {
        const decision = decideExpiry(state, { booking, at: this.#clock.now() })
        return this.#settle({ limit, agency, caller, decision, states: [state] })
      }),
    )
  }

  /**
   * Creates a unit, or changes its master data, prices and rules: atomic against the unit's bookings.
   * @param decide is given the unit as it stands, null when it is new; what it returns becomes durable, then visible.
   *   Null: nothing changes.
   * @param whenKnown called when the change is made, or never will be: later than the answer when that is "unknown"
   */
  setUnit(
    agency: Agency,
    unitId: string,
    decide: (current: Unit | null) => Unit | null,
    caller: Caller,
    whenKnown: () => void = () => {},
  ): Promise<Unit | null> {
    return this.#write((limit) => {
      const turn = this.#turns.of(limit, agency.id, unitId, async (state) => {
        const inventory = await this.#catalogue.inventory(agency.id)
        const unit = decide(inventory.unitById(unitId))
        if (unit === null) return null
        assert(unit.id === unitId, 'Cannot set a unit: the id is of another one')
        const at = this.#clock.now()
        const event = { kind: 'unit_set', unit } as const
        const { seq } = await this.#append(limit, {
          agencyId: agency.id,
          at,
          entry: { event, at, requestId: caller.requestId },
          audit: this.#auditDraft(caller, 'OK', null),
        })
        this.#apply([state], event, seq)
        this.#catalogue.putUnit(agency.id, unit)
        return unit
      })
      return turn.finally(whenKnown)
    })
  }

  /**
   * Puts a refused write into the audit trail; durable when it settles (design, Audit).
   * @throws JournalError when the line is not written, RefusalNotRecordedError when nobody can tell
   */
  async auditRefusal(agency: Agency, caller: Caller, code: string, bookingId: string | null): Promise<void> {
    try {
      await this.#write((limit) => this.#audit(limit, agency, caller, code, bookingId))
    } catch (error) {
      const isUnknown = error instanceof JournalError && error.kind === 'outcome_unknown'
      throw isUnknown ? new RefusalNotRecordedError({ cause: error }) : error
    }
  }

  #write<T>(write: (limit: WriteLimit) => Promise<T>): Promise<T> {
    return WriteLimit.run({ clock: this.#clock, queuedMsMax: this.#queuedMsMax }, write)
  }

  /** Every record of a write goes through here. A caller that was told "not written" must be right. */
  async #append(limit: WriteLimit, record: JournalRecord): Promise<Appended> {
    limit.handOver()
    return this.#journal.append(record, limit.since)
  }

  /** Runs `use` with the current units and fees; they cannot change while it runs. */
  async #withInventory<T>(limit: WriteLimit, agencyId: string, use: (inventory: Inventory) => T): Promise<T> {
    for (;;) {
      const inventory = this.#catalogue.peekInventory(agencyId)
      if (inventory !== null) return use(inventory)
      // It was put back while the command waited for its turn, and may be again while it is taken out.
      limit.mustBeOpen()
      await this.#catalogue.inventory(agencyId)
    }
  }

  /** Makes the accepted decision durable, applies it, and wakes whoever waits for it: in this order (U1). */
  async #settle(input: {
    limit: WriteLimit
    agency: Agency
    caller: Caller
    decision: Decision<BookingEvent>
    states: readonly UnitState[]
    keep?: KeepAnswer | undefined
    request?: BookingRequest
  }): Promise<Outcome> {
    const { limit, agency, caller, decision, keep, request } = input
    if (decision.kind === 'rejected') return decision
    const booking = decision.kind === 'accepted' ? decision.event.after : decision.booking
    const at = this.#clock.now()
    const record: JournalRecord = {
      agencyId: agency.id,
      at,
      audit: this.#auditDraft(caller, 'OK', booking.id),
      ...(keep === undefined ? {} : { idempotency: keep(booking) }),
    }
    if (decision.kind === 'unchanged') {
      // A hold that was settled meanwhile leaves no trace; a caller's repeated cancel is a write attempt and does.
      if (caller.actor.kind !== 'system') await this.#append(limit, record)
      return { kind: 'done', booking, seq: null }
    }
    const { event } = decision
    const announcement = await this.#announcement(agency, event)
    const { seq } = await this.#append(limit, {
      ...record,
      entry: { event, at: booking.updatedAt, requestId: caller.requestId },
      ...(announcement === null ? {} : { announcement }),
      ...(request?.guest == null ? {} : { guest: { guestId: this.#newId('gst'), ...request.guest } }),
      ...(request?.notes == null ? {} : { notes: request.notes }),
    })
    this.#apply(input.states, event, seq)
    this.#onDurable(event, agency)
    return { kind: 'done', booking, seq }
  }

  #apply(states: readonly UnitState[], event: UnitEvent, seq: number | null): void {
    assert(seq !== null, 'Cannot apply an event: the journal gave it no sequence number')
    for (const state of states) {
      state.apply(event, seq)
      this.#directory.noteApplied(state.unitId)
    }
  }

  async #announcement(agency: Agency, event: BookingEvent): Promise<Announcement | null> {
    const inventory = this.#catalogue.peekInventory(agency.id) ?? (await this.#catalogue.inventory(agency.id))
    const unit = inventory.unitById(event.after.unitId)
    assert(unit !== null, 'Cannot announce a change: its unit is not in the catalogue')
    return this.#announce({ event, agency, unit, eventId: this.#newId('evt') })
  }

  async #auditRejection<O extends FoundOutcome>(
    limit: WriteLimit,
    agency: Agency,
    caller: Caller,
    outcome: O,
    bookingId: string | null,
  ): Promise<O> {
    if (outcome.kind === 'rejected') await this.#audit(limit, agency, caller, outcome.rejection.code, bookingId)
    if (outcome.kind === 'not_found' || outcome.kind === 'unit_archived')
      await this.#audit(limit, agency, caller, 'NOT_FOUND', bookingId)
    return outcome
  }

  async #audit(limit: WriteLimit, agency: Agency, caller: Caller, code: string, bookingId: string | null) {
    const audit = this.#auditDraft(caller, code, bookingId)
    await this.#append(limit, { agencyId: agency.id, at: this.#clock.now(), audit })
  }

  #auditDraft(caller: Caller, outcome: string, bookingId: string | null): NonNullable<JournalRecord['audit']> {
    return {
      auditId: this.#newId('aud'),
      at: this.#clock.now(),
      actor: caller.actor,
      route: caller.route,
      outcome,
      bookingId,
      requestId: caller.requestId,
      count: 1,
    }
  }
}

const UNIT_ARCHIVED: UnitArchived = { kind: 'unit_archived' }

function tariffOf({ currency }: Agency, { feeTypes }: Inventory): Tariff {
  return { currency, feeTypes }
}
