/**
 * The state of a unit actor, and how an event changes it.
 *
 * - U3 `apply` is deterministic: no clock, no random numbers, no I/O. The same events in the same order give the same
 *   state, live and in recovery.
 *
 * The state contains no list of bookings: every rule can be answered from two sets of nights and the few guests who are
 * expected to extend their stay. A unit therefore needs the same memory however many bookings it has had.
 */
import { assert, unreachable } from '../../lib/assert.ts'
import type { LoggedEvent } from './booking.ts'
import { type BookingFacts, isCleanedAfter, isLive } from './booking.ts'
import { addNights, type Night } from './night.ts'
import { BITMAP_SPAN, NightBitmap } from './night-bitmap.ts'
import { stopSoldNights } from './restrictions.ts'
import { NO_RATES, type UnitRules } from './unit.ts'

/** A guest in house who is expected to extend: `[from, to)` are the nights after the booked departure. */
interface ExpectedExtension {
  readonly bookingId: string
  readonly from: Night
  readonly to: Night
}

const RULES_BEFORE_CREATION: UnitRules = {
  basePrice: 0,
  cleaningFee: 0,
  extraBedFee: 0,
  minStay: 1,
  turnoverNights: 0,
  rates: NO_RATES,
}

/** Of every unit that is not cleaned for a whole night. Nothing is ever put into it. */
const NO_CLEANING = new NightBitmap()

/** Everything a snapshot must contain; `UnitState` adds the derived `cleaning`. */
export interface UnitFacts {
  readonly rules: UnitRules
  readonly occupied: NightBitmap
  /** The departure dates of guest and owner stays. At most one stay ends on a date, so a set is sufficient. */
  readonly departures: NightBitmap
  /** Sorted by booking id. */
  readonly extensions: readonly ExpectedExtension[]
  /** The journal's sequence number of the last event applied; 0 before the first. */
  readonly seq: number
}

export class UnitState implements UnitFacts {
  readonly unitId: string
  readonly occupied: NightBitmap
  readonly departures: NightBitmap
  /** The nights kept free for cleaning after departures. Derived; such a night may also be occupied. */
  cleaning = NO_CLEANING
  /** The nights that restrictions take off sale; null: none. Derived. */
  #stopSold: NightBitmap | null
  /** The nights that are unavailable without a booking: `cleaning`, and those that restrictions take off sale. Derived. */
  closed = NO_CLEANING
  rules: UnitRules
  extensions: readonly ExpectedExtension[]
  seq: number
  /** Kept here by a reader, who makes it from the unit's id and `seq`: gone with the next event. */
  readerTag: string | null = null

  private constructor(unitId: string, facts: UnitFacts) {
    this.unitId = unitId
    this.occupied = facts.occupied
    this.departures = facts.departures
    this.rules = facts.rules
    this.extensions = facts.extensions
    this.seq = facts.seq
    this.#rebuildCleaning()
    this.#stopSold = stopSoldIn(facts.rules)
    this.#close()
  }

  static empty(unitId: string): UnitState {
    return new UnitState(unitId, {
      rules: RULES_BEFORE_CREATION,
      occupied: new NightBitmap(),
      departures: new NightBitmap(),
      extensions: [],
      seq: 0,
    })
  }

  /** Of a unit whose log cannot be read: none of its nights can be booked. Only to be read from. */
  static closed(unitId: string, rules: UnitRules): UnitState {
    const occupied = new NightBitmap()
    occupied.setRange(BITMAP_SPAN.from, BITMAP_SPAN.to)
    return new UnitState(unitId, { rules, occupied, departures: new NightBitmap(), extensions: [], seq: 0 })
  }

  /** Takes ownership of the bitmaps. */
  static of(unitId: string, facts: UnitFacts): UnitState {
    return new UnitState(unitId, facts)
  }

  /** Applies a durable event. `seq` must be higher than that of any event applied before. */
  apply(event: LoggedEvent, seq: number): void {
    assert(seq > this.seq, 'Cannot apply an event: its sequence number is not newer than the state')
    switch (event.kind) {
      case 'unit_set':
      case 'rates_set':
        assert(event.unit.id === this.unitId, 'Cannot apply an event: it belongs to another unit')
        this.#setRules(event.unit.rules)
        break
      case 'booking_created':
        assert(event.after.unitId === this.unitId, 'Cannot apply an event: it belongs to another unit')
        this.#occupy(event.after)
        break
      case 'booking_changed':
      case 'booking_cancelled':
        assert(
          event.before.unitId === this.unitId || event.after.unitId === this.unitId,
          'Cannot apply an event: it belongs to other units',
        )
        this.#vacate(event.before)
        this.#occupy(event.after)
        break
      default:
        unreachable(event)
    }
    this.seq = seq
    this.#close()
    this.readerTag = null
  }

  /** An independent copy, for decisions that depend on stays which are not booked yet: `addStay` adds them. */
  copy(): UnitState {
    const { unitId, rules, occupied, departures, extensions, seq } = this
    return new UnitState(unitId, { rules, occupied: occupied.clone(), departures: departures.clone(), extensions, seq })
  }

  /** A copy without a booking of the unit: what could be sold if it were not there. */
  without(booking: BookingFacts): UnitState {
    const others = this.copy()
    others.#vacate(booking)
    return others
  }

  /** Occupies the nights of a stay, even if it overlaps others. A live state gets its stays only from events (U3). */
  addStay(stay: Pick<BookingFacts, 'type' | 'arrival' | 'departure'>): void {
    this.occupied.setRange(stay.arrival, stay.departure)
    if (!isCleanedAfter(stay.type)) return
    this.departures.setRange(stay.departure, addNights(stay.departure, 1))
    this.#clean(stay.departure)
  }

  /** Whether the nights of a booking of this unit are taken, as they are after every event of a live booking. */
  hasNightsOf(booking: BookingFacts): boolean {
    return !isLive(booking) || this.occupied.firstFreeFrom(booking.arrival) >= booking.departure
  }

  #close(): void {
    this.closed = this.cleaning
    if (this.#stopSold === null) return
    this.closed = this.#stopSold.clone()
    this.closed.addAll(this.cleaning)
  }

  #setRules(rules: UnitRules): void {
    const turnoverChanged = rules.turnoverNights !== this.rules.turnoverNights
    if (rules.restrictions !== this.rules.restrictions) this.#stopSold = stopSoldIn(rules)
    this.rules = rules
    if (turnoverChanged) this.#rebuildCleaning()
  }

  #occupy(booking: BookingFacts): void {
    if (booking.unitId !== this.unitId || !isLive(booking)) return
    assert(!this.occupied.anyIn(booking.arrival, booking.departure), 'Cannot occupy nights: one is taken')
    this.addStay(booking)
    const extension = extensionOf(booking)
    if (extension !== null) this.extensions = withExtension(this.extensions, extension)
  }

  #vacate(booking: BookingFacts): void {
    if (booking.unitId !== this.unitId || !isLive(booking)) return
    assert(this.hasNightsOf(booking), 'Cannot vacate nights: one is free')
    this.occupied.clearRange(booking.arrival, booking.departure)
    if (isCleanedAfter(booking.type)) {
      this.departures.clearRange(booking.departure, addNights(booking.departure, 1))
      this.#uncleanAfter(booking.departure)
    }
    if (this.extensions.length > 0) this.extensions = this.extensions.filter((e) => e.bookingId !== booking.id)
  }

  #clean(departure: Night): void {
    this.cleaning.setRange(departure, addNights(departure, this.rules.turnoverNights))
  }

  /** Cleaning blocks of nearby departures may overlap, so those that extend into the cleared range are set again. */
  #uncleanAfter(departure: Night): void {
    const turnover = this.rules.turnoverNights
    this.cleaning.clearRange(departure, addNights(departure, turnover))
    const neighbours = this.departures.nightsIn(addNights(departure, 1 - turnover), addNights(departure, turnover))
    for (const neighbour of neighbours) this.#clean(neighbour)
  }

  #rebuildCleaning(): void {
    this.cleaning = NO_CLEANING
    if (this.rules.turnoverNights === 0) return
    this.cleaning = new NightBitmap()
    for (const departure of allNights(this.departures)) this.#clean(departure)
  }
}

function stopSoldIn({ restrictions }: UnitRules): NightBitmap | null {
  return restrictions === undefined ? null : stopSoldNights(restrictions)
}

/** All nights in the bitmap. Unallocated ranges are skipped. */
function allNights(bitmap: NightBitmap): Night[] {
  return bitmap.nightsIn(BITMAP_SPAN.from, BITMAP_SPAN.to)
}

function extensionOf(booking: BookingFacts): ExpectedExtension | null {
  if (booking.status !== 'checked_in' || booking.expectedUntil === null) return null
  if (booking.expectedUntil <= booking.departure) return null
  return { bookingId: booking.id, from: booking.departure, to: booking.expectedUntil }
}

function withExtension(extensions: readonly ExpectedExtension[], added: ExpectedExtension): ExpectedExtension[] {
  return [...extensions, added].sort((a, b) => (a.bookingId < b.bookingId ? -1 : 1))
}
