/**
 * Carries out a decided change: durable through the journal first, then applied to its units, then announced (U1). Its entry is also
 * its line in the audit trail.
 */

import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdSource } from '../../lib/ids.ts'
import { spanned, type Tracer } from '../../lib/tracer.ts'
import type { Agency, Inventory } from '../catalogue/agency.ts'
import { timeOf } from '../catalogue/agency-time.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type BookingEvent, type Instant, isLive, type UnitEvent } from '../domain/booking.ts'
import { type Decision, quoteOf } from '../domain/decide.ts'
import type { Unit } from '../domain/unit.ts'
import { unitSet } from '../domain/unit-change.ts'
import type { UnitState } from '../domain/unit-state.ts'
import { unitsOf } from '../journal/entry-codec.ts'
import type { Journal } from '../journal/journal.ts'
import type {
  AuditDraft,
  Caller,
  ChangeAnswer,
  ChangeLine,
  Entry,
  Envelope,
  IdempotencyDraft,
  JournalRecord,
  KeepChange,
} from '../journal/record.ts'
import type { Appended } from '../journal/waiting-records.ts'
import type { UnitDirectory } from '../units/unit-directory.ts'
import type { BookingRequest, KeepAnswer, Outcome, WriteMode } from './booking-turns.ts'
import { type GroupTurn, type Turn, tariffOf, type Write, WriteLimit } from './booking-turns.ts'
import { SandboxWrites } from './sandbox-writes.ts'

export interface DurableWritesOptions {
  readonly catalogue: Catalogue
  readonly directory: UnitDirectory
  readonly journal: Pick<Journal, 'append'>
  readonly clock: Clock
  readonly newId: IdSource
  /** How long a write is queued before it is refused as not written, unless it may have been written by then. */
  readonly queuedMsMax: number
  /** Called after a change is applied: wakes the hold timer and the webhook sender. */
  readonly onDurable: (event: UnitEvent, agency: Agency) => void
  readonly tracer?: Tracer | null
}

/** What a booking's record has beside the decision. */
export interface StoredWithDecision {
  /** Puts the answer into the record. */
  readonly keep?: KeepAnswer | undefined
  /** Of a new booking: its guest and notes. */
  readonly request?: BookingRequest
}

type RecordDraft = { -readonly [N in keyof JournalRecord]: JournalRecord[N] }

export class DurableWrites {
  readonly sandboxWrites: SandboxWrites
  readonly #options: DurableWritesOptions

  constructor(options: DurableWritesOptions) {
    this.#options = options
    this.sandboxWrites = new SandboxWrites(options)
  }

  /** Runs a write for at most as long as its caller waits. */
  run<T>(
    { agency, caller, mode }: { agency: Agency; caller: Caller; mode?: WriteMode | undefined },
    write: (write: Write) => Promise<T>,
  ): Promise<T> {
    const { tracer } = this.#options
    const isDryRun = mode === 'dry_run'
    return spanned({ tracer, kind: 'command', parent: caller.traceparent }, (traceparent) => {
      const within = traceparent === (caller.traceparent ?? null) ? caller : { ...caller, traceparent }
      return WriteLimit.run(this.#options, (limit) => write({ limit, agency, caller: within, isDryRun }))
    })
  }

  /**
   * Makes the decision durable, applies it to the units of the turn, and then calls `onDurable`, in this order (U1). In a dry run, none
   * of it: it is only said, with the price of the stay at this moment.
   */
  async settle(
    write: Write,
    { state, target, inventory }: Turn,
    decision: Decision<BookingEvent>,
    made: StoredWithDecision = {},
  ): Promise<Outcome> {
    if (decision.kind === 'rejected') return decision
    const { agency, caller } = write
    const booking = decision.kind === 'accepted' ? decision.event.after : decision.booking
    const warnings = decision.kind === 'accepted' ? (decision.warnings ?? null) : null
    if (write.isDryRun) {
      const quote = isLive(booking) ? quoteOf(target, booking, tariffOf(agency, inventory)) : null
      return { kind: 'done', booking, inventory, seq: null, quote, warnings }
    }
    const record = this.#recordOf(agency)
    if (made.keep !== undefined) record.idempotency = made.keep(booking, inventory, warnings)
    if (decision.kind === 'unchanged') {
      // A hold that was settled meanwhile leaves no trace; a caller's repeated cancel is a write attempt and does.
      if (caller.actor.kind !== 'system') {
        record.audit = successLine(sourceOf(this.#options, agency), caller, booking.id)
        await this.#append(write, record)
      }
      return { kind: 'done', booking, inventory, seq: null }
    }
    const { event } = decision
    const { guest = null, notes = null } = made.request ?? {}
    const { newId } = this.#options
    record.entries = [this.#entryOf(write, inventory, event, notes)]
    if (guest !== null) record.guest = { guestId: newId('gst'), ...guest }
    const { seq } = await this.#append(write, record)
    this.#apply(target === state ? [state] : [state, target], event, seq)
    this.#options.onDurable(event, agency)
    return { kind: 'done', booking, inventory, seq, warnings }
  }

  /**
   * Like `settle`, for several changes of bookings that become durable together (J9).
   * @returns the sequence number of the first entry, which the others follow; null if there are no changes
   */
  async settleGroup(
    write: Write,
    { states, inventory }: GroupTurn,
    changes: readonly { readonly event: BookingEvent; readonly notes: string | null }[],
    made: { readonly idempotency: IdempotencyDraft | undefined; readonly guest: BookingRequest['guest'] },
  ): Promise<number | null> {
    const { agency, caller } = write
    const { newId, onDurable } = this.#options
    const record = this.#recordOf(agency)
    if (made.idempotency !== undefined) record.idempotency = made.idempotency
    if (made.guest !== null) record.guest = { guestId: newId('gst'), ...made.guest }
    if (changes.length === 0) record.audit = successLine(sourceOf(this.#options, agency), caller)
    else record.entries = changes.map(({ event, notes }) => this.#entryOf(write, inventory, event, notes))
    const { seq } = await this.#append(write, record)
    for (const [i, { event }] of changes.entries()) {
      const state = states.get(event.after.unitId)
      assert(state !== undefined && seq !== null, 'Cannot apply an event: its unit is not held, or it has no number')
      this.#apply([state], event, seq + i)
    }
    for (const { event } of changes) onDurable(event, agency)
    return seq
  }

  #entryOf({ agency, caller }: Write, inventory: Inventory, event: BookingEvent, notes: string | null): Entry {
    const envelope = envelopeOf(agency, inventory, event)
    const entry = { id: this.#options.newId('evt'), event, at: event.after.updatedAt, caller, envelope }
    return notes === null ? entry : { ...entry, notes }
  }

  /** Makes a unit's master data, prices and rules durable, applies them, and shows them in the catalogue. */
  async settleUnit(write: Write, { state, inventory }: Turn, unit: Unit, keep?: KeepChange<Unit>): Promise<void> {
    const event = unitSet(inventory.unitById(unit.id), unit)
    const { agency, caller } = write
    const record = this.#recordOf(agency)
    const { at } = record
    const { seq } = await this.#append(write, {
      ...record,
      entries: [{ id: this.#options.newId('evt'), event, at, caller, envelope: null }],
      ...(keep === undefined ? {} : { idempotency: keep(unit) }),
    })
    this.#apply([state], event, seq)
    this.#options.catalogue.putUnit(agency.id, unit)
    this.#options.onDurable(event, agency)
  }

  /**
   * Erases the row of a guest, together with the entry that says so: their bookings have no guest from then on.
   * @param isErased it was erased before: only the attempt is recorded
   */
  async settleErasure(
    write: Write,
    { guestId, isErased }: { readonly guestId: string; readonly isErased: boolean },
    keep: ((at: Instant) => IdempotencyDraft) | undefined,
  ): Promise<void> {
    const { agency, caller } = write
    const record = this.#recordOf(agency)
    const { at } = record
    if (isErased) record.audit = successLine(sourceOf(this.#options, agency), caller)
    else {
      const event = { kind: 'guest_erased', guestId } as const
      record.entries = [{ id: this.#options.newId('evt'), event, at, caller, envelope: null }]
    }
    if (keep !== undefined) record.idempotency = keep(at)
    await this.#append(write, record)
  }

  /** Makes an audit line durable that belongs to no change. */
  async record(write: Write, audit: AuditDraft): Promise<void> {
    await this.#append(write, { ...this.#recordOf(write.agency), audit })
  }

  /** A record to be filled. */
  #recordOf(agency: Agency): RecordDraft {
    const { clock } = this.#options
    const at = timeOf(agency, clock)
    return agency.clock === undefined
      ? { agencyId: agency.id, at }
      : { agencyId: agency.id, at, writtenAt: clock.now() }
  }

  /** Every record of a write goes through here: a write whose caller was told "not written" must not be written. */
  #append({ limit, isDryRun, agency, caller }: Write, record: JournalRecord): Promise<Appended> {
    assert(!isDryRun, 'Cannot append to the journal: this is a dry run')
    return this.sandboxWrites.run(agency, () => {
      limit.handOver()
      const { tracer, journal } = this.#options
      return spanned({ tracer, kind: 'commit', parent: caller.traceparent }, () => journal.append(record, limit.since))
    })
  }

  #apply(states: readonly UnitState[], event: UnitEvent, seq: number | null): void {
    assert(seq !== null, 'Cannot apply an event: the journal gave it no sequence number')
    const { unitId, otherUnitId } = unitsOf(event)
    for (const state of states) {
      // A booking that was to move may have been cancelled instead: that changes only one of the two units.
      if (state.unitId !== unitId && state.unitId !== otherUnitId) continue
      state.apply(event, seq)
      this.#options.directory.noteApplied(state.unitId)
    }
  }
}

function envelopeOf({ currency }: Agency, inventory: Inventory, event: BookingEvent): Envelope {
  const unit = inventory.unitById(event.after.unitId)
  assert(unit !== null, 'Cannot log a change: its unit is not in the catalogue')
  return { unitSlug: unit.slug, unitName: unit.name, currency }
}

/** The lines of the audit trail that have no journal entry (docs/design.md#audit). */

export interface AuditSource {
  readonly clock: Pick<Clock, 'now'>
  readonly newId: IdSource
}

/** The same for lines of an agency that has a clock of its own. */
export function sourceOf(source: AuditSource, agency: Agency): AuditSource {
  return agency.clock === undefined
    ? source
    : { newId: source.newId, clock: { now: () => timeOf(agency, source.clock) } }
}

/** Of a change to the agency's own data, or of a write that changed nothing because there was nothing to change. */
export function successLine(source: AuditSource, caller: Caller, bookingId: string | null = null): AuditDraft {
  return line(source, caller, 'OK', bookingId)
}

/** Of a change to the agency's own data, with the answer to keep for its `Idempotency-Key`. */
export function changeLine(source: AuditSource, caller: Caller, answer: ChangeAnswer | undefined): ChangeLine {
  const line = successLine(source, caller)
  return answer === undefined ? line : { ...line, answer }
}

/** A write that was refused with `code`. */
export function refusalLine(source: AuditSource, caller: Caller, code: string, bookingId: string | null): AuditDraft {
  return line(source, caller, code, bookingId)
}

/** A repeated write that was answered with its first answer. */
export function replayLine(source: AuditSource, caller: Caller, bookingId: string | null): AuditDraft {
  return line(source, caller, 'REPLAYED', bookingId)
}

function line({ clock, newId }: AuditSource, caller: Caller, outcome: string, bookingId: string | null): AuditDraft {
  const { actor, route, requestId, traceparent = null } = caller
  return { auditId: newId('aud'), at: clock.now(), actor, route, outcome, bookingId, requestId, traceparent, count: 1 }
}
