import { describe, expect, test } from 'bun:test'
import { findBookableArrivals, type MinStayRun, wordsFor } from '../../../src/core/domain/bookable-arrivals.ts'
import { decideBookStay } from '../../../src/core/domain/decide.ts'
import { addNights, type Night } from '../../../src/core/domain/night.ts'
import { forEachNightPriceRun } from '../../../src/core/domain/priced-nights.ts'
import { arrivalRange, restrictedStays } from '../../../src/core/domain/restrictions.ts'
import type { UnitState } from '../../../src/core/domain/unit-state.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRestrictions, generatedRules } from '../../support/generated-rules.ts'
import { generatedState } from '../../support/generated-states.ts'
import { MOMENT, night, sampleBooking, sampleUnit } from '../../support/samples.ts'

const ABOUT = night('2027-03-01')

function arrivalsIn(state: UnitState, from: Night, to: Night, nights: number): Night[] {
  const minStays: MinStayRun[] = []
  forEachNightPriceRun(state.rules, from, to, (run) => minStays.push(run))
  // Of the search before this one.
  const bits = new Uint32Array(wordsFor({ from, to })).fill(0b1011)
  const { restrictions } = state.rules
  // As the search does, from nights before the window on.
  const before = addNights(from, -(from % 64))
  const restricted =
    restrictions === undefined
      ? null
      : {
          stays: restrictedStays(restrictions, nights, before, to),
          offset: from - before,
          range: arrivalRange(restrictions, MOMENT),
        }
  findBookableArrivals(state, { from, to, nights }, minStays, bits, restricted)
  const arrivals: Night[] = []
  for (let i = 0; i < bits.length * 32; i++)
    if (((bits[i >> 5] ?? 0) >>> (i & 31)) & 1) arrivals.push(addNights(from, i))
  return arrivals
}

function accepted(state: UnitState, arrival: Night, nights: number): boolean {
  const stay = { arrival, departure: addNights(arrival, nights) }
  const booking = sampleBooking({ ...stay, unitId: state.unitId })
  const tariff = { currency: 'EUR', feeTypes: [] }
  return decideBookStay(state, { booking, tariff, enforcement: 'partner', moment: MOMENT }).kind === 'accepted'
}

test('of generated units, the arrivals are exactly those of the stays that a booking would be accepted for', () => {
  let found = 0
  let refused = 0
  for (let seed = 1; seed <= 600; seed++) {
    const random = new SeededRandom(seed)
    const rules = generatedRules(random, ABOUT, {
      turnoverNights: random.pick([0, 0, 1, 3]),
      ...(random.chance(0.5) ? { restrictions: generatedRestrictions(random, ABOUT) } : {}),
    })
    const state = generatedState(random, sampleUnit({ rules }), ABOUT)
    const from = addNights(ABOUT, random.int(-80, 80))
    const days = random.pick([1, 2, 31, 32, 33, 64, 92, random.int(1, 92), 366])
    const nights = random.pick([1, 2, 7, 31, 32, 33, days, random.int(1, 60)])
    const expected: Night[] = []
    for (let i = 0; i + nights <= days; i++) {
      const isAccepted = accepted(state, addNights(from, i), nights)
      if (isAccepted) expected.push(addNights(from, i))
      else refused += 1
    }
    found += expected.length
    expect({ seed, arrivals: arrivalsIn(state, from, addNights(from, days), nights) }).toEqual({
      seed,
      arrivals: expected,
    })
  }
  expect([found > 5_000, refused > 5_000]).toEqual([true, true])
})

describe('a stay', () => {
  const rules = { basePrice: 1, cleaningFee: 0, extraBedFee: 0, minStay: 1, turnoverNights: 2 }
  const rates = { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
  const unit = sampleUnit({ rules: { ...rules, rates } })
  const from = ABOUT
  const to = addNights(ABOUT, 10)

  test('of the whole window has one arrival, and of a longer one none', () => {
    const state = generatedState(new SeededRandom(1), unit, addNights(ABOUT, 1_000))
    expect(arrivalsIn(state, from, to, 10)).toEqual([from])
    expect(arrivalsIn(state, from, to, 11)).toEqual([])
    expect(arrivalsIn(state, from, to, 1)).toHaveLength(10)
  })
  test('may depart on an arrival, and arrive when the cleaning nights are over', () => {
    const state = generatedState(new SeededRandom(1), unit, addNights(ABOUT, 1_000))
    const after = sampleBooking({ unitId: unit.id, arrival: addNights(ABOUT, 3), departure: addNights(ABOUT, 5) })
    state.apply({ kind: 'booking_created', after }, 1_000)
    expect(arrivalsIn(state, from, to, 2).map((arrival) => arrival - ABOUT)).toEqual([0, 1, 7, 8])
  })
})
