import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type BookStay, decideBookStay } from '../../../src/core/domain/decide.ts'
import { decideGroup, type GroupStay } from '../../../src/core/domain/decide-group.ts'
import { addNights } from '../../../src/core/domain/night.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { stateHash } from '../../../src/core/journal/snapshot-codec.ts'
import { MOMENT, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const FIRST = night('2027-03-01')

function unitWith(label: string, turnoverNights = 0, minStay = 1): UnitState {
  const state = UnitState.empty(sampleId('unt', label))
  const unit = sampleUnit({ id: state.unitId, rules: sampleRules({ turnoverNights, minStay }) })
  state.apply({ kind: 'unit_set', unit }, 1)
  return state
}

/** A stay of `nights` nights that arrives on the day `day`. */
function stayIn(state: UnitState, day: number, nights: number, enforcement: BookStay['enforcement'] = 'partner') {
  const arrival = addNights(FIRST, day)
  const { totalAmount, updatedAt, version, ...booking } = sampleBooking({
    id: sampleId('bkg', `${day} ${nights}`),
    unitId: state.unitId,
    arrival,
    departure: addNights(arrival, nights),
    groupId: sampleId('grp', 'a'),
  })
  const command: BookStay = { booking, tariff: { currency: 'EUR', feeTypes: [] }, enforcement, moment: MOMENT }
  return { state, command }
}

function refusedIn(stays: readonly GroupStay[]) {
  const decision = decideGroup(stays)
  if (decision.kind === 'accepted') return 'accepted'
  return decision.refusals.map(({ stay, rejection }) => `${stay} ${rejection?.code ?? 'NOT_FOUND'}`)
}

describe('the stays of a group', () => {
  test('are decided in the order given, as if every one before it were booked', () => {
    const [a, b] = [unitWith('a', 2), unitWith('b')]
    expect(refusedIn([stayIn(a, 0, 3), stayIn(b, 0, 3), stayIn(a, 5, 2)])).toBe('accepted')
    expect(refusedIn([stayIn(a, 0, 3), stayIn(a, 4, 2), stayIn(b, 4, 2)])).toEqual(['1 TURNOVER_BLOCK_CONFLICT'])
    expect(refusedIn([stayIn(a, 0, 3), stayIn(b, 0, 3), stayIn(a, 2, 2)])).toEqual(['2 BOOKING_CONFLICT'])
    // In the other order nothing is in the way: cleaning comes after a departure.
    expect(refusedIn([stayIn(a, 4, 2), stayIn(a, 0, 3)])).toBe('accepted')
  })

  test('are decided as if a refused one were booked, too', () => {
    const a = unitWith('a', 0, 2)
    expect(refusedIn([stayIn(a, 0, 1), stayIn(a, 0, 2), stayIn(a, 2, 2)])).toEqual(['0 MIN_STAY', '1 BOOKING_CONFLICT'])
    expect(refusedIn([stayIn(a, 0, 3), stayIn(a, 2, 3), stayIn(a, 4, 2)])).toEqual([
      '1 BOOKING_CONFLICT',
      '2 BOOKING_CONFLICT',
    ])
  })

  test('are all listed if refused, a stay in an unknown unit included', () => {
    const a = unitWith('a', 0, 2)
    expect(refusedIn([null, stayIn(a, 0, 2), stayIn(a, 9, 1), null])).toEqual([
      '0 NOT_FOUND',
      '2 MIN_STAY',
      '3 NOT_FOUND',
    ])
  })

  test('of the agency are checked by the night guard alone, like a single booking', () => {
    const a = unitWith('a', 2, 3)
    const own = (day: number, nights: number) => stayIn(a, day, nights, 'agency')
    expect(refusedIn([own(0, 1), own(1, 1)])).toBe('accepted')
    expect(refusedIn([own(0, 2), own(1, 1)])).toEqual(['1 BOOKING_CONFLICT'])
  })

  test('leave the state of the units unchanged, whatever is decided', () => {
    const a = unitWith('a', 2)
    const before = stateHash(a)
    decideGroup([stayIn(a, 0, 3), stayIn(a, 1, 3), stayIn(a, 9, 3)])
    decideGroup([stayIn(a, 0, 3), stayIn(a, 6, 3)])
    expect(stateHash(a)).toBe(before)
    expect([a.cleaning.isEmpty(), a.closed.isEmpty()]).toEqual([true, true])
  })

  test('are accepted if and only if they could be booked one after the other, with the same totals', () => {
    const stays = fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.nat(12), fc.integer({ min: 1, max: 4 })), {
      minLength: 2,
      maxLength: 6,
    })
    const property = fc.property(stays, fc.nat(2), fc.integer({ min: 1, max: 2 }), (wanted, turnover, minStay) => {
      const fresh = () => new Map(['a', 'b'].map((label) => [label, unitWith(label, turnover, minStay)] as const))
      const of = (units: ReadonlyMap<string, UnitState>) =>
        wanted.map(([label, day, nights]) => stayIn(units.get(label) as UnitState, day, nights))
      const decision = decideGroup(of(fresh()))
      const alone = of(fresh()).map(({ state, command }, i) => {
        const made = decideBookStay(state, command)
        if (made.kind === 'accepted') state.apply(made.event, i + 2)
        return made
      })
      const firstRefused = alone.findIndex(({ kind }) => kind === 'rejected')
      if (decision.kind === 'refused') expect(decision.refusals[0]?.stay).toBe(firstRefused)
      else {
        expect(firstRefused).toBe(-1)
        expect(decision.stays.map(({ event }) => event)).toEqual(
          alone.flatMap((made) => (made.kind === 'accepted' ? [made.event] : [])),
        )
      }
    })
    fc.assert(property, { numRuns: 500 })
  })
})
