import { describe, expect, test } from 'bun:test'
import type { Booking } from '../../../src/core/domain/booking.ts'
import {
  type BookStay,
  decideBookStay,
  decideCancel,
  decideExpiry,
  type NewBooking,
  quoteStay,
} from '../../../src/core/domain/decide.ts'
import { formatNight } from '../../../src/core/domain/night.ts'
import type { UnitRules } from '../../../src/core/domain/unit.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { MOMENT, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const TARIFF = { currency: 'EUR', feeTypes: [] }

/** A unit with these rules and bookings. */
function unitWith(rules: Partial<UnitRules>, bookings: Partial<Booking>[] = []): UnitState {
  const state = UnitState.empty(sampleId('unt', 'a'))
  state.apply({ kind: 'unit_set', unit: sampleUnit({ rules: sampleRules(rules) }) }, 1)
  for (const [i, booking] of bookings.entries()) {
    state.apply({ kind: 'booking_created', after: sampleBooking({ id: sampleId('bkg', i), ...booking }) }, i + 2)
  }
  return state
}

function stay(arrival: string, departure: string): { arrival: Booking['arrival']; departure: Booking['departure'] } {
  return { arrival: night(arrival), departure: night(departure) }
}

function bookStay(arrival: string, departure: string, change: Partial<BookStay & NewBooking> = {}): BookStay {
  const made = sampleBooking({ id: sampleId('bkg', 'new'), ...stay(arrival, departure) })
  const { totalAmount, updatedAt, version, ...booking } = made
  return {
    booking: { ...booking, ...change },
    tariff: TARIFF,
    enforcement: change.enforcement ?? 'partner',
    moment: MOMENT,
  }
}

function refusalOf(state: UnitState, command: BookStay): unknown {
  const decision = decideBookStay(state, command)
  return decision.kind === 'rejected' ? decision.rejection : decision.kind
}

describe('booking a stay (docs/contract.md#post-bookings)', () => {
  const inHouse = {
    ...stay('2027-03-01', '2027-03-05'),
    status: 'checked_in',
    expectedUntil: night('2027-03-08'),
  } as const

  test('rule 3: minimum stay is checked first, then cleaning, then the extension, then the night guard', () => {
    // Arriving on the 6th meets all four: too short, cleaning until the 7th, extension until the 8th, taken on the 6th.
    const all = [inHouse, { ...stay('2027-03-06', '2027-03-07'), type: 'block' as const }]
    const wanted = bookStay('2027-03-06', '2027-03-07')
    expect(refusalOf(unitWith({ minStay: 2, turnoverNights: 2 }, all), wanted)).toMatchObject({ code: 'MIN_STAY' })
    expect(refusalOf(unitWith({ turnoverNights: 2 }, all), wanted)).toMatchObject({ code: 'TURNOVER_BLOCK_CONFLICT' })
    expect(refusalOf(unitWith({}, all), wanted)).toMatchObject({ code: 'EXPECTED_EXTENSION_CONFLICT' })
    expect(refusalOf(unitWith({}, all.slice(1)), wanted)).toMatchObject({ code: 'BOOKING_CONFLICT' })
    expect(refusalOf(unitWith({}), wanted)).toBe('accepted')
  })

  test('only the night guard applies to the agency', () => {
    const state = unitWith({ minStay: 9, turnoverNights: 2 }, [inHouse])
    expect(refusalOf(state, bookStay('2027-03-05', '2027-03-06', { enforcement: 'agency' }))).toBe('accepted')
    expect(refusalOf(state, bookStay('2027-03-04', '2027-03-06', { enforcement: 'agency' }))).toMatchObject({
      code: 'BOOKING_CONFLICT',
    })
  })

  test('the effective minimum is that of the season of the arrival', () => {
    const season = { name: 'Easter', from: night('2027-03-26'), to: night('2027-03-30'), nightlyPrice: 1, minStay: 4 }
    const state = unitWith({
      minStay: 2,
      rates: { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] },
    })
    expect(refusalOf(state, bookStay('2027-03-26', '2027-03-29'))).toEqual({ code: 'MIN_STAY', minStay: 4 })
    expect(refusalOf(state, bookStay('2027-03-25', '2027-03-27'))).toBe('accepted')
  })

  test('a departure on the day of the next arrival is allowed, and so is an arrival on the day of a departure', () => {
    const state = unitWith({}, [stay('2027-03-10', '2027-03-12')])
    expect(refusalOf(state, bookStay('2027-03-08', '2027-03-10'))).toBe('accepted')
    expect(refusalOf(state, bookStay('2027-03-12', '2027-03-14'))).toBe('accepted')
  })

  test('a conflict names the taken nights of the wanted stay and the first bookable date, and nothing else', () => {
    const state = unitWith({}, [stay('2027-03-10', '2027-03-12'), stay('2027-03-13', '2027-03-15')])
    expect(refusalOf(state, bookStay('2027-03-09', '2027-03-14'))).toEqual({
      code: 'BOOKING_CONFLICT',
      conflict: {
        from: night('2027-03-10'),
        to: night('2027-03-14'),
        nights: ['2027-03-10', '2027-03-11', '2027-03-13'].map(night),
        bookableFrom: night('2027-03-15'),
      },
    })
  })

  test('a cleaning conflict names the departure before it and the first bookable date', () => {
    const state = unitWith({ turnoverNights: 2 }, [stay('2027-03-10', '2027-03-12'), stay('2027-03-14', '2027-03-15')])
    // From the 14th the unit is clean, but that night is taken, and cleaning follows on the 15th and 16th.
    expect(refusalOf(state, bookStay('2027-03-13', '2027-03-14'))).toEqual({
      code: 'TURNOVER_BLOCK_CONFLICT',
      conflict: { departure: night('2027-03-12'), bookableFrom: night('2027-03-17') },
    })
  })

  test('cleaning follows guests and owners, not maintenance or blocks', () => {
    for (const [type, outcome] of [
      ['guest', 'TURNOVER_BLOCK_CONFLICT'],
      ['owner_stay', 'TURNOVER_BLOCK_CONFLICT'],
      ['maintenance', 'accepted'],
      ['block', 'accepted'],
    ] as const) {
      const state = unitWith({ turnoverNights: 1 }, [{ ...stay('2027-03-10', '2027-03-12'), type }])
      const refusal = refusalOf(state, bookStay('2027-03-12', '2027-03-13'))
      expect(typeof refusal === 'string' ? refusal : (refusal as { code: string }).code).toBe(outcome)
    }
  })

  test('an expected extension is reported with its half-open range, and ends with the guest’s stay', () => {
    const state = unitWith({}, [inHouse])
    expect(refusalOf(state, bookStay('2027-03-07', '2027-03-09'))).toEqual({
      code: 'EXPECTED_EXTENSION_CONFLICT',
      conflicts: [{ from: night('2027-03-05'), to: night('2027-03-08') }],
    })
    expect(refusalOf(state, bookStay('2027-03-08', '2027-03-09'))).toBe('accepted')
    const before = sampleBooking({ id: sampleId('bkg', '0'), ...inHouse })
    const after = { ...before, status: 'checked_out' as const, expectedUntil: null, version: 2 }
    state.apply({ kind: 'booking_changed', before, after }, 10)
    expect(refusalOf(state, bookStay('2027-03-07', '2027-03-09'))).toBe('accepted')
  })

  test('no date is offered on which the stay would be too short for its season', () => {
    const season = { name: 'Easter', from: night('2027-03-12'), to: night('2027-03-16'), nightlyPrice: 1, minStay: 4 }
    const rates = { seasons: [season], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
    const state = unitWith({ rates }, [stay('2027-03-10', '2027-03-12')])
    expect(refusalOf(state, bookStay('2027-03-11', '2027-03-13'))).toMatchObject({
      conflict: { bookableFrom: night('2027-03-16') },
    })
  })

  test('no date is offered when the calendar is full up to the search horizon', () => {
    const state = unitWith({}, [{ type: 'block', arrival: night('2027-01-01'), departure: night('2099-12-31') }])
    expect(refusalOf(state, bookStay('2027-03-07', '2027-03-09'))).toMatchObject({ conflict: { bookableFrom: null } })
  })

  test('only guests pay', () => {
    for (const [type, total] of [
      ['guest', 25_000],
      ['owner_stay', 0],
      ['maintenance', 0],
      ['block', 0],
    ] as const) {
      const decision = decideBookStay(
        unitWith({}),
        bookStay('2027-03-07', '2027-03-09', { type, enforcement: 'agency' }),
      )
      expect(decision).toMatchObject({ kind: 'accepted', event: { after: { totalAmount: total, version: 1 } } })
    }
  })
})

describe('quoting a stay', () => {
  const request = { children: 0, extraBed: false, tariff: TARIFF, moment: MOMENT }

  test('lists every 409 code that applies, and still prices the stay', () => {
    const expected = { expectedUntil: night('2027-03-08') }
    const state = unitWith({ turnoverNights: 1 }, [
      { ...stay('2027-03-01', '2027-03-05'), status: 'checked_in', ...expected },
      { ...stay('2027-03-06', '2027-03-07'), type: 'block' },
    ])
    expect(quoteStay(state, { stay: stay('2027-03-05', '2027-03-07'), ...request })).toMatchObject({
      kind: 'quoted',
      reasons: ['TURNOVER_BLOCK_CONFLICT', 'EXPECTED_EXTENSION_CONFLICT', 'BOOKING_CONFLICT'],
      quote: { total: 25_000, nights: 2 },
    })
  })

  test('is refused below the minimum, as the booking would be', () => {
    const answer = quoteStay(unitWith({ minStay: 3 }), { stay: stay('2027-03-05', '2027-03-07'), ...request })
    expect(answer).toEqual({ kind: 'rejected', rejection: { code: 'MIN_STAY', minStay: 3 } })
  })
})

describe('cancelling and expiry', () => {
  const hold = sampleBooking({ status: 'option', holdExpiresAt: 1_000 })
  const state = unitWith({}, [hold])

  test('a cancel keeps the reason and the moment', () => {
    expect(decideCancel(state, { booking: hold, reason: 'ill', at: 7 })).toMatchObject({
      kind: 'accepted',
      event: { after: { status: 'cancelled', cancelReason: 'ill', cancelledAt: 7, holdExpiresAt: null, version: 2 } },
    })
  })

  test('a second cancel changes nothing, whatever its reason', () => {
    const booking = { ...hold, status: 'cancelled' as const, cancelReason: 'ill' }
    expect(decideCancel(state, { booking, reason: 'other', at: 9 })).toEqual({ kind: 'unchanged', booking })
  })

  test('a hold expires on time and not a millisecond early', () => {
    expect(decideExpiry(state, { booking: hold, at: 999 }).kind).toBe('unchanged')
    expect(decideExpiry(state, { booking: hold, at: 1_000 })).toMatchObject({
      event: { after: { status: 'cancelled', cancelReason: 'hold_expired' } },
    })
  })

  test('a hold that was confirmed meanwhile does not expire', () => {
    const booking = { ...hold, status: 'confirmed' as const }
    expect(decideExpiry(state, { booking, at: 5_000 }).kind).toBe('unchanged')
  })
})

describe('the two sets of nights', () => {
  test('cancelling frees the cleaning nights of the stay but not those of its neighbour', () => {
    const state = unitWith({ turnoverNights: 3 }, [stay('2027-03-01', '2027-03-03'), stay('2027-03-04', '2027-03-05')])
    const before = sampleBooking({ id: sampleId('bkg', '1'), ...stay('2027-03-04', '2027-03-05') })
    const after = { ...before, status: 'cancelled' as const, version: 2 }
    state.apply({ kind: 'booking_cancelled', before, after }, 10)
    const cleaning = state.cleaning.nightsIn(night('2027-03-01'), night('2027-03-20'))
    expect(cleaning.map(formatNight)).toEqual(['2027-03-03', '2027-03-04', '2027-03-05'])
  })

  test('a new turnover time applies to existing stays', () => {
    const state = unitWith({ turnoverNights: 0 }, [stay('2027-03-01', '2027-03-03')])
    state.apply({ kind: 'unit_set', unit: sampleUnit({ rules: sampleRules({ turnoverNights: 1 }) }) }, 10)
    expect(state.cleaning.nightsIn(night('2027-03-01'), night('2027-03-20'))).toEqual([night('2027-03-03')])
  })

  test('a taken night cannot be occupied again, whatever the journal says', () => {
    const state = unitWith({}, [stay('2027-03-01', '2027-03-03')])
    const after = sampleBooking({ id: sampleId('bkg', '9'), ...stay('2027-03-02', '2027-03-04') })
    expect(() => state.apply({ kind: 'booking_created', after }, 10)).toThrow('Cannot occupy nights: one is taken')
  })

  test('an event is never applied twice', () => {
    const state = unitWith({})
    expect(() => state.apply({ kind: 'unit_set', unit: sampleUnit() }, 1)).toThrow('not newer than the state')
  })
})
