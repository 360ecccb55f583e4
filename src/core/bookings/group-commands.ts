/**
 * Several stays at once: booked, and cancelled, together or not at all.
 *
 * - U4 The turns of all units are held while the stays are decided and written.
 * - J9 All stays of a write are one record of the journal.
 */
import { assert } from '../../lib/assert.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import type { Booking, BookingCancelled, Instant } from '../domain/booking.ts'
import { decideCancel, decideExpiry, quoteOf } from '../domain/decide.ts'
import { decideGroup, type GroupStay, type StayRefusal } from '../domain/decide-group.ts'
import type { Restrained } from '../domain/night-guard.ts'
import type { Quote } from '../domain/pricing.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { Caller, IdempotencyDraft } from '../journal/record.ts'
import {
  type BookingRequest,
  type BookingTurns,
  type GroupTurn,
  HOLD_TIMER,
  type NotFound,
  newBookingOf,
  saleMoment,
  tariffOf,
  type Write,
  type WriteMode,
} from './booking-turns.ts'
import { type AuditSource, type DurableWrites, refusalLine } from './durable-writes.ts'

/** The stays of a group have the same status, hold lifetime, type, source and guest. */
export interface GroupRequest {
  /** Null: there is no such unit. */
  readonly stays: readonly (BookingRequest | null)[]
}

/** The bookings of a group after the command. */
export interface GroupDone {
  readonly kind: 'done'
  readonly groupId: string
  /** In the order of the stays; after a cancellation, those that were cancelled before included. */
  readonly bookings: readonly Booking[]
  /** The units as they were in the turn. */
  readonly inventory: Inventory
  /** The sequence number of the first entry of this write, which the others follow; null if nothing changed. */
  readonly seq: number | null
  /** For each stay, in order: the restrictions that would refuse it to partners; null: none. */
  readonly warnings: readonly (Restrained | null)[]
  /** Only for a dry run: the price of each stay at current rates; null if nobody pays for it. */
  readonly quotes?: readonly (Quote | null)[]
}

export interface GroupRefused {
  readonly kind: 'refused'
  /** In the order of the stays; at least one. */
  readonly refusals: readonly StayRefusal[]
}

/** Makes the answer that is stored for an `Idempotency-Key` from the group that is about to become durable. */
export type KeepGroup = (group: Pick<GroupDone, 'groupId' | 'bookings' | 'inventory' | 'warnings'>) => IdempotencyDraft

export class GroupCommands {
  readonly #turns: BookingTurns
  readonly #writes: DurableWrites
  readonly #audit: AuditSource
  readonly #now: (agency: Agency) => Instant

  /** @param options.now the agency's time */
  constructor(options: {
    turns: BookingTurns
    writes: DurableWrites
    audit: AuditSource
    now: (agency: Agency) => Instant
  }) {
    this.#turns = options.turns
    this.#writes = options.writes
    this.#audit = options.audit
    this.#now = options.now
  }

  /**
   * Books all stays or none, each decided as if those before it were booked.
   * @throws JournalError, MailboxFullError when nothing was written, or the outcome is unknown
   */
  book(
    agency: Agency,
    { stays }: GroupRequest,
    caller: Caller,
    keep?: KeepGroup,
    mode?: WriteMode,
  ): Promise<GroupDone | GroupRefused> {
    const unitIds = [...new Set(stays.flatMap((request) => request?.unit.id ?? []))]
    return this.#writes.run({ agency, caller, mode }, async (write) => {
      const outcome = await this.#turns.ofAll(write, unitIds, (turn) => this.#book(write, turn, stays, keep))
      if (outcome.kind === 'refused') await this.#recordRefusal(write, outcome.refusals[0]?.rejection?.code)
      return outcome
    })
  }

  async #book(
    write: Write,
    turn: GroupTurn,
    stays: GroupRequest['stays'],
    keep: KeepGroup | undefined,
  ): Promise<GroupDone | GroupRefused> {
    const { agency } = write
    const { inventory } = turn
    const { newId } = this.#audit
    const at = this.#now(agency)
    const groupId = newId('grp')
    const tariff = tariffOf(agency, inventory)
    const decision = decideGroup(
      stays.map((request): GroupStay => {
        if (request === null) return null
        const current = inventory.unitById(request.unit.id) ?? request.unit
        if (current.status === 'archived') return null
        const booking = newBookingOf(request, agency, { id: newId('bkg'), at, groupId })
        const { enforcement } = request
        const command = { booking, tariff, enforcement, moment: saleMoment(current, agency, at) }
        return { state: stateOf(turn, current.id), command }
      }),
    )
    if (decision.kind === 'refused') return decision
    const bookings = decision.stays.map(({ event }) => event.after)
    const warnings = decision.stays.map((stay) => stay.warnings)
    const group = { groupId, bookings, inventory, warnings }
    if (write.isDryRun) {
      const quotes = bookings.map((booking) => quoteOf(stateOf(turn, booking.unitId), booking, tariff))
      return { kind: 'done', ...group, seq: null, quotes }
    }
    const seq = await this.#writes.settleGroup(
      write,
      turn,
      decision.stays.map(({ event }, i) => ({ event, notes: stays[i]?.notes ?? null })),
      { idempotency: keep?.(group), guest: stays[0]?.guest ?? null },
    )
    return { kind: 'done', ...group, seq }
  }

  /** Cancels those bookings of a group that are not cancelled, all or none. */
  cancel(
    agency: Agency,
    { groupId, reason }: { groupId: string; reason: string | null },
    caller: Caller,
    keep?: KeepGroup,
    mode?: WriteMode,
  ): Promise<GroupDone | NotFound> {
    return this.#writes.run({ agency, caller, mode }, async (write) => {
      const outcome = await this.#turns.ofGroup(write, groupId, async (turn, bookings): Promise<GroupDone> => {
        const at = this.#now(agency)
        const events = bookings.flatMap((booking): BookingCancelled[] => {
          const decision = decideCancel(stateOf(turn, booking.unitId), { booking, reason, at })
          return decision.kind === 'accepted' ? [decision.event] : []
        })
        const cancelled = new Map(events.map(({ after }) => [after.id, after]))
        const left = bookings.map((booking) => cancelled.get(booking.id) ?? booking)
        const group = { groupId, bookings: left, inventory: turn.inventory, warnings: left.map(() => null) }
        if (write.isDryRun) return { kind: 'done', ...group, seq: null }
        const seq = await this.#writes.settleGroup(
          write,
          turn,
          events.map((event) => ({ event, notes: null })),
          { idempotency: keep?.(group), guest: null },
        )
        return { kind: 'done', ...group, seq }
      })
      if (outcome.kind === 'not_found') await this.#recordRefusal(write, undefined)
      return outcome
    })
  }

  /**
   * Releases holds of a sandbox, in this order, each at the moment at which it expired by the sandbox's time; leaves out those that have
   * been settled meanwhile (docs/design.md#sandbox).
   */
  async expire(agency: Agency, holds: readonly { readonly bookingId: string; readonly at: Instant }[]): Promise<void> {
    const at = new Map(holds.map((hold) => [hold.bookingId, hold.at]))
    await this.#writes.run({ agency, caller: HOLD_TIMER }, (write) =>
      this.#turns.ofBookings(write, [...at.keys()], async (turn, bookings) => {
        const changes = bookings.flatMap((booking) => {
          const decision = decideExpiry(stateOf(turn, booking.unitId), { booking, at: at.get(booking.id) ?? 0 })
          return decision.kind === 'accepted' ? [{ event: decision.event, notes: null }] : []
        })
        if (changes.length > 0) await this.#writes.settleGroup(write, turn, changes, NOTHING_ELSE)
        return 'released' as const
      }),
    )
  }

  /** A refusal is in the audit trail before it is answered. @param code of the refusal; left out: something does not exist */
  async #recordRefusal(write: Write, code = 'NOT_FOUND'): Promise<void> {
    if (write.isDryRun) return
    await this.#writes.record(write, refusalLine(this.#audit, write.caller, code, null))
  }
}

const NOTHING_ELSE = { idempotency: undefined, guest: null }

function stateOf({ states }: GroupTurn, unitId: string): UnitState {
  const state = states.get(unitId)
  assert(state !== undefined, 'Cannot decide a group: one of its units is not held')
  return state
}
