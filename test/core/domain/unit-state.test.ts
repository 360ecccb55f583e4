import { expect, test } from 'bun:test'
import { firstStayConflict } from '../../../src/core/domain/night-guard.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { MOMENT, night, sampleBooking, sampleId, sampleUnit } from '../../support/samples.ts'

test('the guests who are expected to extend are in the order of their bookings, whichever comes first', () => {
  const bookings = ['b', 'a', 'c']
    .map((label) => sampleId('bkg', label))
    .toSorted()
    .map((id, n) => ({ id, arrival: night(`2027-03-${10 + 2 * n}`), departure: night(`2027-03-${11 + 2 * n}`) }))
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const state = UnitState.empty(sampleUnit().id)
    for (const [n, of] of order.entries()) {
      const after = sampleBooking({
        ...bookings[of],
        unitId: sampleUnit().id,
        status: 'checked_in',
        expectedUntil: night('2027-03-20'),
      })
      state.apply({ kind: 'booking_created', after }, n + 1)
    }
    expect(state.extensions.map(({ bookingId }) => bookingId)).toEqual(bookings.map(({ id }) => id))
    // Partners see them in this order.
    expect(
      firstStayConflict(state, { arrival: night('2027-03-18'), departure: night('2027-03-19') }, MOMENT),
    ).toMatchObject({
      conflicts: bookings.map(({ departure }) => ({ from: departure })),
    })
  }
})
