import { BOOKING_TYPES } from '../../src/core/domain/booking.ts'
import { addNights, type Night } from '../../src/core/domain/night.ts'
import type { Unit } from '../../src/core/domain/unit.ts'
import { UnitState } from '../../src/core/domain/unit-state.ts'
import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import { sampleBooking, sampleId } from './samples.ts'

/** A unit with bookings of all types around `about`, some of them cancelled, some of guests who are expected to stay on. */
export function generatedState(random: SeededRandom, unit: Unit, about: Night): UnitState {
  const state = UnitState.empty(unit.id)
  state.apply({ kind: 'unit_set', unit }, 1)
  let arrival = addNights(about, -random.int(0, 40))
  const longest = random.pick([2, 10, 40])
  const bookings = random.int(0, 25)
  for (let n = 0; n < bookings; n++) {
    const departure = addNights(arrival, random.int(1, longest))
    const isExtended = random.chance(0.15)
    const after = sampleBooking({
      id: sampleId('bkg', n),
      unitId: unit.id,
      arrival,
      departure,
      type: random.pick(BOOKING_TYPES),
      status: isExtended ? 'checked_in' : random.pick(['confirmed', 'option', 'checked_out', 'cancelled']),
      expectedUntil: isExtended ? addNights(departure, random.int(0, 12)) : null,
    })
    state.apply({ kind: 'booking_created', after }, n + 2)
    arrival = addNights(departure, random.pick([0, 0, 1, 2, 5, 30]))
  }
  return state
}
