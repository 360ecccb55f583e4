/** What the booking commands are asked and what they answer, how long a caller waits, and the turns in which they decide. */

import { assert } from '../../lib/assert.ts'
import { type Clock, HOUR_MS } from '../../lib/clock.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type Booking, type BookingStatus, type BookingType, type Instant, isHold } from '../domain/booking.ts'
import type { BookStay, NewBooking, Tariff } from '../domain/decide.ts'
import type { Night, Stay } from '../domain/night.ts'
import type { Rejection, Restrained } from '../domain/night-guard.ts'
import type { Quote } from '../domain/pricing.ts'
import type { SaleMoment } from '../domain/restrictions.ts'
import type { Unit } from '../domain/unit.ts'
import type { UnitState } from '../domain/unit-state.ts'
import { CorruptLedgerError, JournalError } from '../journal/journal-error.ts'
import type { Caller, GuestDraft, IdempotencyDraft } from '../journal/record.ts'
import type { ExpiredHold } from '../units/hold-timer.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'

/** A booking to be made. Validated: dates exist, 1 to 366 nights, numbers within the contract's limits. */
export interface BookingRequest {
  readonly unit: Unit
  readonly stay: Stay
  readonly type: BookingType
  readonly status: BookingStatus
  readonly source: string
  readonly sourceRef: string | null
  readonly adults: number
  readonly children: number
  readonly extraBed: boolean
  readonly notes: string | null
  /** Lifetime of a hold; the agency's default when null. */
  readonly holdHours: number | null
  readonly expectedUntil?: Night | null
  readonly guest: Omit<GuestDraft, 'guestId'> | null
  readonly enforcement: BookStay['enforcement']
  readonly isAgreed?: BookStay['isAgreed']
}

export interface QuoteRequest {
  readonly unit: Unit
  readonly stay: Stay
  readonly children: number
  readonly extraBed: boolean
}

/** Makes what is kept for an `Idempotency-Key` from the booking that is about to become durable, with the units as they are in its turn. */
export type KeepAnswer = (booking: Booking, inventory: Inventory, warnings: Restrained | null) => IdempotencyDraft

/** A dry run decides as the write would, in the same turn, and leaves nothing behind. */
export type WriteMode = 'write' | 'dry_run'

export type Outcome =
  | {
      readonly kind: 'done'
      readonly booking: Booking
      /** The units as they were in its turn. */
      readonly inventory: Inventory
      /** Null when nothing changed. */
      readonly seq: number | null
      /** Of a dry run: what the stay costs at the present rates; null if nobody pays for it, or it is cancelled. */
      readonly quote?: Quote | null
      /** For a stay that the agency makes or changes: the restrictions that would refuse it to partners. */
      readonly warnings?: Restrained | null
    }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }

/** The unit was archived before the command got its turn. */
export interface UnitArchived {
  readonly kind: 'unit_archived'
}

/** There is no such booking. */
export interface NotFound {
  readonly kind: 'not_found'
}

/** The outcome of a command on a booking that may not exist. */
export type FoundOutcome = Outcome | NotFound | UnitArchived

/** The booking that a request asks for, made at `at`. */
export function newBookingOf(
  request: BookingRequest,
  { defaultHoldHours }: Agency,
  { id, at, groupId = null }: { readonly id: string; readonly at: Instant; readonly groupId?: string | null },
): NewBooking {
  const { unit, stay, type, status, source, sourceRef, adults, children, extraBed } = request
  const { holdHours, expectedUntil = null } = request
  return {
    id,
    unitId: unit.id,
    type,
    status,
    source,
    sourceRef,
    arrival: stay.arrival,
    departure: stay.departure,
    adults,
    children,
    // The contract: ignored without children. The agency reads it when it prepares the unit.
    extraBed: extraBed && children > 0,
    holdExpiresAt: isHold(status) ? at + (holdHours ?? defaultHoldHours) * HOUR_MS : null,
    expectedUntil: status === 'checked_in' ? expectedUntil : null,
    cancelledAt: status === 'cancelled' ? at : null,
    cancelReason: null,
    createdAt: at,
    groupId,
  }
}

/** What quotes and bookings of the agency are priced with, in addition to the unit's own rates. */
export function tariffOf({ currency }: Agency, { feeTypes }: Inventory): Tariff {
  return { currency, feeTypes }
}

/** What the advance notice and the booking window of the unit are measured from. */
export function saleMoment({ checkinTime }: Unit, { timezone }: Agency, now: Instant): SaleMoment {
  return { now, timeZone: timezone, checkinTime }
}

/** A booking as stored in Postgres, with the journal's number of its last change. */
export interface BookingRow {
  readonly agencyId: string
  readonly booking: Booking
  readonly seq: number
}

/** The port through which the booking commands find what they are asked to change. */
export interface BookingRows {
  /** Null for an unknown id, and for a booking of another agency. */
  find(agencyId: string, bookingId: string): Promise<BookingRow | null>
  /** Those that exist, in any order. */
  findAll(agencyId: string, bookingIds: readonly string[]): Promise<readonly BookingRow[]>
  /** In the order in which they were made; empty for an unknown group or one of another agency. */
  ofGroup(agencyId: string, groupId: string): Promise<readonly BookingRow[]>
  /** Holds of all agencies but sandboxes whose lifetime has elapsed at `at`: as `Holds.expired`. */
  expiredHolds(at: Instant, after: ExpiredHold | null, limit: number): Promise<readonly ExpiredHold[]>
  /** When the first hold that has not expired at `at` does; null when there is none. */
  nextExpiry(at: Instant): Promise<Instant | null>
}

/** From the start of a write until its caller is told that the outcome is unknown. */
export const OUTCOME_KNOWN_MS_MAX = 30_000

/** On whose behalf, and for how long, a write is made. */
export interface Write {
  readonly limit: WriteLimit
  readonly agency: Agency
  readonly caller: Caller
  readonly isDryRun: boolean
}

/**
 * How long the caller of a write waits for its answer. Before a write is handed to the journal, nothing of it can be written, so it is
 * refused after `queuedMsMax`. The journal refuses what it has not sent by the same limit, counted from the same start. A write that was
 * sent and not confirmed may have been written: its caller is told so after `OUTCOME_KNOWN_MS_MAX`, and the unit keeps waiting for the
 * outcome.
 */
export class WriteLimit {
  readonly #clock: Clock
  readonly #queuedMsMax: number
  /** Monotonic milliseconds. */
  readonly since: number
  #state: 'waiting' | 'handed_over' | 'refused' = 'waiting'

  private constructor(clock: Clock, queuedMsMax: number) {
    this.#clock = clock
    this.#queuedMsMax = queuedMsMax
    this.since = clock.monotonicMs()
  }

  /**
   * Settles as `write` does, or rejects when the time is up. `write` then continues without a caller, and writes nothing unless it
   * has already handed its record over.
   * @throws JournalError `held_too_long`: not written. `outcome_unknown`: it may have been written, or may still be.
   */
  static run<T>(
    { clock, queuedMsMax }: { clock: Clock; queuedMsMax: number },
    write: (limit: WriteLimit) => Promise<T>,
  ): Promise<T> {
    const limit = new WriteLimit(clock, queuedMsMax)
    return new Promise((resolve, reject) => {
      let cancel = clock.after(queuedMsMax, () => {
        if (limit.#state === 'handed_over') cancel = clock.after(OUTCOME_KNOWN_MS_MAX - queuedMsMax, tellUnknown)
        else reject(limit.#refuse())
      })
      const tellUnknown = () => reject(outcomeUnknown())
      write(limit).then(
        (value) => {
          cancel()
          resolve(value)
        },
        (error) => {
          cancel()
          reject(error)
        },
      )
    })
  }

  /** @throws JournalError `held_too_long` when the caller was told, or must be told, that nothing is written */
  mustBeOpen(): void {
    if (this.#state === 'handed_over') return
    if (this.#state === 'refused' || this.#clock.monotonicMs() - this.since >= this.#queuedMsMax) throw this.#refuse()
  }

  /**
   * Call this right before the journal: from then on only the journal knows the outcome.
   * @throws JournalError as `mustBeOpen`
   */
  handOver(): void {
    this.mustBeOpen()
    this.#state = 'handed_over'
  }

  #refuse(): JournalError {
    this.#state = 'refused'
    return new JournalError('held_too_long', `Cannot take a command: it waited ${this.#queuedMsMax} ms`)
  }
}

function outcomeUnknown(): JournalError {
  return new JournalError('outcome_unknown', 'Cannot tell whether the change was made: the database does not answer')
}

/** A booking that keeps moving between units while we look for it is looked for this often. */
const FIND_ATTEMPTS_MAX = 8

/** What a command decides from, all as it is in its turn: nothing of it changes until the command waits for something. */
export interface Turn {
  /** The unit's; of a move, that of the unit the booking is in. */
  readonly state: UnitState
  /** Of a move, that of the unit it goes to; else the same as `state`. */
  readonly target: UnitState
  readonly inventory: Inventory
}

/** The same for a command on several units. The states are by unit id. */
export interface GroupTurn {
  readonly states: ReadonlyMap<string, UnitState>
  readonly inventory: Inventory
}

/** Gives a command the turn of the units it needs, and the current row of the booking it is about. */
export class BookingTurns {
  readonly #directory: UnitDirectory
  readonly #catalogue: Catalogue
  readonly #rows: BookingRows

  constructor(options: { directory: UnitDirectory; catalogue: Catalogue; rows: BookingRows }) {
    this.#directory = options.directory
    this.#catalogue = options.catalogue
    this.#rows = options.rows
  }

  /** Runs when it is the command's turn, unless its caller has been refused by then. */
  of<T>(write: Write, unitId: string, run: (turn: Turn) => Promise<T>): Promise<T> {
    return this.#directory.turn({ agencyId: write.agency.id, unitId }, (state) =>
      this.#run(write, (inventory) => run({ state, target: state, inventory })),
    )
  }

  /** The same with several units, each named once (U4). Units that are not in memory are loaded before the first mailbox is acquired. */
  async ofAll<T>(write: Write, unitIds: readonly string[], run: (turn: GroupTurn) => Promise<T>): Promise<T> {
    const units = unitIds.map((unitId) => ({ agencyId: write.agency.id, unitId }))
    await this.#directory.activate(units)
    return this.#directory.turnOfAll(units, (states) => this.#run(write, (inventory) => run({ states, inventory })))
  }

  /** Runs with the bookings of a group and their units. If another write moves a booking while we wait, look again. */
  async ofGroup<O>(
    write: Write,
    groupId: string,
    run: (turn: GroupTurn, bookings: readonly Booking[]) => Promise<O>,
  ): Promise<O | NotFound> {
    for (let attempt = 0; attempt < FIND_ATTEMPTS_MAX; attempt++) {
      const found = await this.#rows.ofGroup(write.agency.id, groupId)
      if (found.length === 0) return { kind: 'not_found' }
      const unitIds = [...new Set(found.map(({ booking }) => booking.unitId))]
      const outcome = await this.ofAll(write, unitIds, async (turn) => {
        const rows = await this.#rows.ofGroup(write.agency.id, groupId)
        const bookings = rows.map(({ booking }) => booking)
        if (bookings.some(({ unitId }) => !turn.states.has(unitId))) return null
        for (const booking of bookings) mustHaveNights(turn.states.get(booking.unitId), booking)
        return run(turn, bookings)
      })
      if (outcome !== null) return outcome
    }
    throw new JournalError('held_too_long', 'Cannot find a group: its bookings keep moving between units')
  }

  /** The current bookings of those holds that are on a unit of the turn, in the same order, and how many are not. */
  async holdsIn(
    write: Write,
    { states }: GroupTurn,
    holds: readonly ExpiredHold[],
  ): Promise<{ readonly found: readonly Booking[]; readonly moved: number }> {
    const ids = holds.map(({ bookingId }) => bookingId)
    const rows = new Map((await this.#rows.findAll(write.agency.id, ids)).map(({ booking }) => [booking.id, booking]))
    const bookings = ids.flatMap((id) => rows.get(id) ?? [])
    const found = bookings.filter(({ unitId }) => states.has(unitId))
    for (const booking of found) mustHaveNights(states.get(booking.unitId), booking)
    return { found, moved: bookings.length - found.length }
  }

  /**
   * Runs with the unit that the booking is in and its current row. Another write may move it while we wait: look again.
   * @param targetId of the unit that the booking moves to; left out: it stays
   */
  async ofBooking<O>(
    write: Write,
    { bookingId, targetId }: { bookingId: string; targetId?: string | undefined },
    run: (turn: Turn, row: BookingRow) => Promise<O>,
  ): Promise<O | NotFound> {
    const agencyId = write.agency.id
    for (let attempt = 0; attempt < FIND_ATTEMPTS_MAX; attempt++) {
      const found = await this.#rows.find(agencyId, bookingId)
      if (found === null) return { kind: 'not_found' }
      const { unitId } = found.booking
      const runIfThere = async (turn: Turn): Promise<O | null> => {
        const row = await this.#currentRow(turn.state, found)
        return row.booking.unitId === unitId ? run(turn, row) : null
      }
      const outcome =
        targetId === undefined || targetId === unitId
          ? await this.of(write, unitId, runIfThere)
          : await this.#ofTwo(write, { unitId, targetId }, runIfThere)
      if (outcome !== null) return outcome
    }
    throw new JournalError('held_too_long', 'Cannot find a booking: it keeps moving between units')
  }

  #ofTwo<T>(
    write: Write,
    { unitId, targetId }: { unitId: string; targetId: string },
    run: (turn: Turn) => Promise<T>,
  ): Promise<T> {
    const units = [unitId, targetId].map((id) => ({ agencyId: write.agency.id, unitId: id }))
    return this.#directory.turnOfAll(units, (states) =>
      this.#run(write, (inventory) => {
        const [state, target] = [states.get(unitId), states.get(targetId)]
        assert(state !== undefined && target !== undefined, 'Cannot move a booking: a unit is not held')
        return run({ state, target, inventory })
      }),
    )
  }

  /** At once when the agency's units and fees are in memory. */
  #run<T>(write: Write, run: (inventory: Inventory) => Promise<T>): Promise<T> {
    write.limit.mustBeOpen()
    const inventory = this.#catalogue.peekInventory(write.agency.id)
    return inventory === null ? this.#runLater(write, run) : run(inventory)
  }

  async #runLater<T>(write: Write, run: (inventory: Inventory) => Promise<T>): Promise<T> {
    // It was put back while the command waited for its turn, and may be again while it is taken out.
    await this.#catalogue.inventory(write.agency.id)
    return this.#run(write, run)
  }

  /**
   * The current row. No other write changes it while we hold the unit's turn, so one more read is enough.
   * @throws CorruptLedgerError when the row and the log of its unit contradict each other: what is decided from them could not be applied (D1)
   */
  async #currentRow(state: UnitState, found: BookingRow): Promise<BookingRow> {
    const { agencyId, booking } = found
    const current = found.seq === state.seq ? found : await this.#rows.find(agencyId, booking.id)
    if (current === null) throw new CorruptLedgerError(`Cannot change booking ${booking.id}: its row has vanished`)
    if (current.booking.unitId === state.unitId) mustHaveNights(state, current.booking)
    return current
  }
}

/** @throws CorruptLedgerError as `#currentRow` */
function mustHaveNights(state: UnitState | undefined, booking: Booking): void {
  if (state?.hasNightsOf(booking) === true) return
  throw new CorruptLedgerError(`Cannot change booking ${booking.id}: the log of its unit has some of its nights free`)
}
