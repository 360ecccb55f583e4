import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Pricing } from '../../../src/core/domain/booking.ts'
import { BOOKING_STATUSES, type Booking, TRANSITIONS } from '../../../src/core/domain/booking.ts'
import { type BookingChange, decideChange } from '../../../src/core/domain/decide-change.ts'
import { addNights, type Night } from '../../../src/core/domain/night.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { MOMENT, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const UNIT_A = sampleId('unt', 'a')
const UNIT_B = sampleId('unt', 'b')

const TARIFF = { currency: 'EUR', feeTypes: [] }
const AT = Date.UTC(2027, 1, 1)

function unit(id: string, basePrice: number, bookings: Booking[]): UnitState {
  const state = UnitState.empty(id)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ id, rules: sampleRules({ basePrice }) }) }, 1)
  for (const [i, after] of bookings.entries()) state.apply({ kind: 'booking_created', after }, i + 2)
  return state
}

function change(booking: Booking, params: BookingChange, others: Booking[] = []) {
  const state = unit(UNIT_A, 10_000, [booking, ...others])
  return decideChange(state, state, { booking, change: params, tariff: TARIFF, at: AT, moment: MOMENT })
}

describe('the state machine has these transitions and no others (docs/design.md#statuses)', () => {
  for (const from of BOOKING_STATUSES) {
    for (const to of BOOKING_STATUSES) {
      const possible: readonly string[] = TRANSITIONS[from]
      const verdict = from === to ? 'changes nothing' : possible.includes(to) ? 'is a move' : 'is refused'
      test(`${from} → ${to} ${verdict}`, () => {
        const booking = sampleBooking({ status: from, holdExpiresAt: from === 'draft' ? AT + 1 : null })
        const decision = change(booking, { status: to })
        if (from === to) expect(decision).toEqual({ kind: 'unchanged', booking })
        else if (possible.includes(to)) expect(decision).toMatchObject({ event: { after: { status: to, version: 2 } } })
        else {
          const rejection = { code: 'INVALID_TRANSITION', from, to, possible }
          expect(decision).toMatchObject({ kind: 'rejected', rejection })
        }
      })
    }
  }

  test('a change to cancelled is a cancellation', () => {
    expect(change(sampleBooking(), { status: 'cancelled' })).toMatchObject({ event: { kind: 'booking_cancelled' } })
  })

  test('confirming a hold ends its lifetime', () => {
    const hold = sampleBooking({ status: 'option', holdExpiresAt: AT + 1 })
    expect(change(hold, { status: 'confirmed' })).toMatchObject({ event: { after: { holdExpiresAt: null } } })
  })

  test('checking out ends the expectation that the guest stays on', () => {
    const guest = sampleBooking({ status: 'checked_in', expectedUntil: night('2027-03-09') })
    expect(change(guest, { status: 'checked_out' })).toMatchObject({ event: { after: { expectedUntil: null } } })
  })
})

describe('new dates', () => {
  test('may overlap the booking’s own nights, and are priced again', () => {
    const decision = change(sampleBooking(), { departure: night('2027-03-07') })
    expect(decision).toMatchObject({ kind: 'accepted', event: { after: { totalAmount: 65_000, version: 2 } } })
  })

  test('may not take a night of another booking', () => {
    const [arrival, departure] = [night('2027-03-06'), night('2027-03-08')]
    const other = sampleBooking({ id: sampleId('bkg', 'b'), arrival, departure })
    expect(change(sampleBooking(), { departure: night('2027-03-07') }, [other])).toMatchObject({
      kind: 'rejected',
      rejection: { code: 'BOOKING_CONFLICT', conflict: { nights: [night('2027-03-06')] } },
    })
  })

  test('that are taken are refused with the first arrival after them, which may lie on the booking’s own nights', () => {
    const own = { arrival: night('2027-03-10'), departure: night('2027-03-15') }
    const taken = { arrival: night('2027-03-07'), departure: night('2027-03-08') }
    const other = sampleBooking({ id: sampleId('bkg', 'd'), ...taken })
    const wanted = { arrival: night('2027-03-05'), departure: night('2027-03-12') }
    expect(change(sampleBooking(own), wanted, [other])).toMatchObject({
      rejection: { code: 'BOOKING_CONFLICT', conflict: { bookableFrom: taken.departure } },
    })
  })

  test('that are not a valid stay are refused with the field to correct', () => {
    expect(change(sampleBooking(), { departure: night('2027-03-01') })).toMatchObject({
      rejection: { code: 'VALIDATION', field: 'departure' },
    })
    expect(change(sampleBooking(), { departure: night('2029-03-01') })).toMatchObject({
      rejection: { code: 'VALIDATION', field: 'departure' },
    })
  })

  test('of a cancelled booking are refused', () => {
    expect(change(sampleBooking({ status: 'cancelled' }), { departure: night('2027-03-06') })).toMatchObject({
      rejection: { code: 'INVALID_TRANSITION', from: 'cancelled', possible: [] },
    })
  })

  test('are not priced again when only the status changes, whatever the rates are now', () => {
    const booking = sampleBooking({ totalAmount: 1 })
    expect(change(booking, { status: 'checked_in' })).toMatchObject({ event: { after: { totalAmount: 1 } } })
  })
})

describe('another unit', () => {
  const booking = sampleBooking()

  test('U4: is one event that moves the booking from one unit to the other, at the other’s price', () => {
    const [from, to] = [unit(UNIT_A, 10_000, [booking]), unit(UNIT_B, 20_000, [])]
    const decision = decideChange(from, to, {
      booking,
      change: { unitId: UNIT_B },
      tariff: TARIFF,
      at: AT,
      moment: MOMENT,
    })
    if (decision.kind !== 'accepted') throw new Error('Expected the move')
    expect(decision.event.after).toMatchObject({ unitId: UNIT_B, totalAmount: 85_000 })
    from.apply(decision.event, 5)
    to.apply(decision.event, 5)
    expect([from.occupied.count(), to.occupied.count()]).toEqual([0, 4])
  })

  test('that is taken is refused, and nothing moves', () => {
    const there = sampleBooking({ id: sampleId('bkg', 'b'), unitId: UNIT_B })
    const [from, to] = [unit(UNIT_A, 10_000, [booking]), unit(UNIT_B, 20_000, [there])]
    const decision = decideChange(from, to, {
      booking,
      change: { unitId: UNIT_B },
      tariff: TARIFF,
      at: AT,
      moment: MOMENT,
    })
    expect(decision).toMatchObject({ rejection: { code: 'BOOKING_CONFLICT' } })
  })
})

describe('the price of a move', () => {
  const stays = fc.record({
    arrival: fc.nat(300).map((n) => addNights(night('2027-01-01'), n)),
    nights: fc.integer({ min: 1, max: 30 }),
    unitId: fc.constantFrom(UNIT_A, UNIT_B),
    status: fc.constantFrom('option' as const, 'confirmed' as const, 'checked_in' as const),
  })
  const cases = fc.record({ total: fc.nat(1_000_000), basePrices: fc.tuple(fc.nat(50_000), fc.nat(50_000)), to: stays })
  const units = ([a, b]: [number, number], booking: Booking) => ({
    [UNIT_A]: unit(UNIT_A, a, [booking]),
    [UNIT_B]: unit(UNIT_B, b, []),
  })
  type Move = Pick<BookingChange, 'arrival' | 'departure' | 'unitId' | 'status'>
  const moved = (all: ReturnType<typeof units>, booking: Booking, move: Move, pricing: Pricing) => {
    const [from, to] = [all[booking.unitId], all[move.unitId ?? booking.unitId]]
    if (from === undefined || to === undefined) throw new Error('Expected both units')
    const decision = decideChange(from, to, { booking, change: move, pricing, tariff: TARIFF, at: AT, moment: MOMENT })
    if (decision.kind === 'rejected') throw new Error('Expected the move')
    if (decision.kind === 'unchanged') return { event: null, after: booking }
    from.apply(decision.event, from.seq + 1)
    if (to !== from) to.apply(decision.event, from.seq)
    return { event: decision.event, after: decision.event.after }
  }
  const moveTo = ({ arrival, nights, unitId }: { arrival: Night; nights: number; unitId: string }) => ({
    arrival,
    departure: addNights(arrival, nights),
    unitId,
  })

  test('that keeps it is the same whatever the nights, the unit and the rates; back again, the stay is as it was', () => {
    const property = fc.property(cases, ({ total, basePrices, to }) => {
      const booking = sampleBooking({ totalAmount: total })
      const all = units(basePrices, booking)
      const there = moved(all, booking, moveTo(to), 'keep')
      expect(there.after).toMatchObject({ totalAmount: total, ...moveTo(to) })
      const { arrival, departure, unitId } = booking
      const back = moved(all, there.after, { arrival, departure, unitId }, 'keep')
      const { version, updatedAt: _, ...restored } = back.after
      const { version: __, updatedAt: ___, ...original } = booking
      expect(restored).toEqual(original)
      expect(version).toBe(there.event === null ? 1 : 3)
      const untouched = units(basePrices, booking)
      for (const id of [UNIT_A, UNIT_B])
        expect(Object.values(all).find((each) => each.unitId === id)?.occupied).toEqual(
          Object.values(untouched).find((each) => each.unitId === id)?.occupied as never,
        )
    })
    fc.assert(property)
  })

  test('is what a booking made now would cost, unless it is kept: the event says which', () => {
    const property = fc.property(cases, ({ total, basePrices, to }) => {
      const booking = sampleBooking({ totalAmount: total })
      const all = units(basePrices, booking)
      const { event, after } = moved(all, booking, moveTo(to), 'reprice')
      if (event === null) return
      expect(event).toMatchObject({ kind: 'booking_changed', pricing: 'reprice' })
      expect(after.totalAmount).toBe(to.nights * (basePrices[to.unitId === UNIT_A ? 0 : 1] ?? 0) + 5_000)
    })
    fc.assert(property)
  })

  test('is not said of a change that moves nothing, even if it asks for one', () => {
    const booking = sampleBooking()
    const all = units([1, 2], booking)
    for (const pricing of ['keep', 'reprice'] as const)
      expect(moved(units([1, 2], booking), booking, { status: 'checked_in' }, pricing).event).not.toHaveProperty(
        'pricing',
      )
    expect(moved(all, booking, { arrival: booking.arrival }, 'keep').event).toBeNull()
  })
})

describe('holds and expectations', () => {
  const hold = sampleBooking({ status: 'option', holdExpiresAt: AT + 10 })
  const guest = sampleBooking({ status: 'checked_in' })

  test('a hold’s lifetime can be changed', () => {
    expect(change(hold, { holdExpiresAt: AT + 99 })).toMatchObject({ event: { after: { holdExpiresAt: AT + 99 } } })
  })

  test('an expiry in the past ends the hold now', () => {
    expect(change(hold, { holdExpiresAt: AT })).toMatchObject({
      event: { kind: 'booking_cancelled', after: { cancelReason: 'hold_expired' } },
    })
  })

  test('only a hold has a lifetime', () => {
    expect(change(sampleBooking(), { holdExpiresAt: AT + 1 })).toMatchObject({
      rejection: { code: 'VALIDATION', field: 'holdExpiresAt' },
    })
  })

  test('only a guest in house can be expected to stay on, and only beyond the departure', () => {
    expect(change(guest, { expectedUntil: night('2027-03-09') })).toMatchObject({ kind: 'accepted' })
    expect(change(guest, { expectedUntil: night('2027-03-05') })).toMatchObject({
      rejection: { field: 'expectedUntil' },
    })
    expect(change(sampleBooking(), { expectedUntil: night('2027-03-09') })).toMatchObject({
      rejection: { field: 'expectedUntil' },
    })
  })

  test('a departure that reaches the expected date ends the expectation', () => {
    const staying = sampleBooking({ status: 'checked_in', expectedUntil: night('2027-03-07') })
    expect(change(staying, { departure: night('2027-03-07') })).toMatchObject({
      event: { after: { expectedUntil: null } },
    })
  })

  test('a change to the current values is no change', () => {
    expect(change(guest, { arrival: guest.arrival, status: 'checked_in' })).toEqual({
      kind: 'unchanged',
      booking: guest,
    })
  })
})
