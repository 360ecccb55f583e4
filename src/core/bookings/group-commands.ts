/**
 * Several stays at once: booked, and cancelled, together or not at all.
 *
 * - U4 The turns of all units are held while the stays are decided and written.
 * - J9 All stays of a write are one record of the journal.
 */
import { assert } from '../../lib/assert.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import { timeOf } from '../catalogue/agency-time.ts'
import type { Booking, BookingCancelled, Instant } from '../domain/booking.ts'
import { decideCancel, decideExpiry, quoteOf } from '../domain/decide.ts'
import { decideGroup, type GroupStay, type StayRefusal } from '../domain/decide-group.ts'
import type { Restrained } from '../domain/night-guard.ts'
import type { Quote } from '../domain/pricing.ts'
import type { UnitState } from '../domain/unit-state.ts'
import type { Caller, IdempotencyDraft } from '../journal/record.ts'
import type { ExpiredHold } from '../units/hold-timer.ts'
import {
  type BookingRequest,
  type BookingTurns,
  type GroupTurn,
  type NotFound,
  newBookingOf,
  saleMoment,
  tariffOf,
  type Write,
  type WriteMode,
} from './booking-turns.ts'
import { type AuditSource, type DurableWrites, refusalLine, sourceOf } from './durable-writes.ts'

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

  constructor(options: { turns: BookingTurns; writes: DurableWrites; audit: AuditSource }) {
    this.#turns = options.turns
    this.#writes = options.writes
    this.#audit = options.audit
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
    const { clock, newId } = this.#audit
    const at = timeOf(agency, clock)
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
        const at = timeOf(agency, this.#audit.clock)
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
   * Releases holds of a sandbox that have expired by `until`, in their order, each at its own moment. One that was settled meanwhile stays
   * as it is.
   * @returns how many are on another unit than `holds` says: look for them again
   */
  expire(agency: Agency, holds: readonly ExpiredHold[], until: Instant): Promise<number> {
    const caller: Caller = { actor: { kind: 'system', id: null }, route: 'hold timer', requestId: null }
    const unitIds = [...new Set(holds.map(({ unitId }) => unitId))]
    return this.#writes.run({ agency, caller }, (write) =>
      this.#turns.ofAll(write, unitIds, async (turn) => {
        const { found, moved } = await this.#turns.holdsIn(write, turn, holds)
        const changes = found.flatMap((booking) => {
          const { holdExpiresAt } = booking
          if (holdExpiresAt === null || holdExpiresAt > until) return []
          const decision = decideExpiry(stateOf(turn, booking.unitId), { booking, at: holdExpiresAt })
          return decision.kind === 'accepted' ? [{ event: decision.event, notes: null }] : []
        })
        if (changes.length > 0)
          await this.#writes.settleGroup(write, turn, changes, { idempotency: undefined, guest: null })
        return moved
      }),
    )
  }

  /** A refusal is in the audit trail before it is answered. @param code of the refusal; left out: something does not exist */
  async #recordRefusal(write: Write, code = 'NOT_FOUND'): Promise<void> {
    if (write.isDryRun) return
    await this.#writes.record(write, refusalLine(sourceOf(this.#audit, write.agency), write.caller, code, null))
  }
}

function stateOf({ states }: GroupTurn, unitId: string): UnitState {
  const state = states.get(unitId)
  assert(state !== undefined, 'Cannot decide a group: one of its units is not held')
  return state
}
