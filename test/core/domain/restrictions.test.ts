/** The table of restrictions (docs/partner-additions.md#8-restrictions), rule by rule, and against an oracle that reads like it. */
import { describe, expect, spyOn, test } from 'bun:test'
import { type Booking, isLive } from '../../../src/core/domain/booking.ts'
import { decideBookStay, quoteStay } from '../../../src/core/domain/decide.ts'
import { decideChange } from '../../../src/core/domain/decide-change.ts'
import { addNights, isoWeekday, NIGHT_MAX, type Night, type Stay } from '../../../src/core/domain/night.ts'
import { firstStayConflict, refusalByRules, stayConflictCodes } from '../../../src/core/domain/night-guard.ts'
import { minStayOf } from '../../../src/core/domain/pricing.ts'
import {
  arrivalRange,
  type DateRule,
  NO_RESTRICTIONS,
  type Refusal,
  RestrictedDates,
  type Restriction,
  type Restrictions,
  refusalsOf,
  restrictedMinStayFrom,
  restrictedRange,
  restrictionsProblems,
} from '../../../src/core/domain/restrictions.ts'
import { UnitState } from '../../../src/core/domain/unit-state.ts'
import { localInstant } from '../../../src/lib/clock.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRestrictions } from '../../support/generated-rules.ts'
import { MOMENT, night, sampleBooking, sampleId, sampleRules, sampleUnit } from '../../support/samples.ts'

const ARRIVAL = night('2027-07-05')
const HOUR_MS = 3_600_000
/** Three nights: Monday to Thursday. */
const STAY = { arrival: ARRIVAL, departure: addNights(ARRIVAL, 3) }
const TARIFF = { currency: 'EUR', feeTypes: [] }

function row(rule: DateRule, value: boolean | number, change: Partial<Restriction> = {}): Restriction {
  return { from: null, to: null, weekdays: null, rule, value, ...change }
}

function on(date: Night): Pick<Restriction, 'from' | 'to'> {
  return { from: date, to: addNights(date, 1) }
}

function of(...rows: Restriction[]): Restrictions {
  return { ...NO_RESTRICTIONS, rows }
}

function unitWith(restrictions: Restrictions, bookings: Partial<Booking>[] = [], rules = {}): UnitState {
  const state = UnitState.empty(sampleUnit().id)
  state.apply({ kind: 'unit_set', unit: sampleUnit({ rules: { ...sampleRules(rules), restrictions } }) }, 1)
  for (const [i, booking] of bookings.entries())
    state.apply({ kind: 'booking_created', after: sampleBooking({ id: sampleId('bkg', i), ...booking }) }, i + 2)
  return state
}

/** The answer to a partner: `quoted`, or the refusal. */
function answer(state: UnitState, stay: Stay, moment = MOMENT) {
  const quoted = quoteStay(state, { stay, children: 0, extraBed: false, tariff: TARIFF, moment })
  return quoted.kind === 'quoted' ? 'quoted' : quoted.rejection
}

function rulesOf(restrictions: Restrictions, stay: Stay = STAY): string[] {
  const refused = answer(unitWith(restrictions), stay)
  if (refused === 'quoted') return []
  return refused.code === 'MIN_STAY' ? ['MIN_STAY'] : refused.restrictions.map(({ rule }) => rule)
}

const DATES = {
  arrival: ARRIVAL,
  'an inner night': addNights(ARRIVAL, 1),
  'the last night': addNights(ARRIVAL, 2),
  departure: STAY.departure,
} as const
type DateName = keyof typeof DATES

/** For a stay of three nights: on which of its dates a rule with this value refuses it, and how. */
const TABLE: readonly [DateRule, boolean | number, readonly DateName[], string][] = [
  ['closedToArrival', true, ['arrival'], 'closedToArrival'],
  ['closedToArrival', false, [], ''],
  ['closedToDeparture', true, ['departure'], 'closedToDeparture'],
  ['closedToDeparture', false, [], ''],
  ['minStayArrival', 4, ['arrival'], 'MIN_STAY'],
  ['minStayArrival', 3, [], ''],
  ['minStayThrough', 4, ['arrival', 'an inner night', 'the last night'], 'MIN_STAY'],
  ['minStayThrough', 3, [], ''],
  ['maxStay', 2, ['arrival'], 'maxStay'],
  ['maxStay', 3, [], ''],
  ['stopSell', true, ['arrival', 'an inner night', 'the last night'], 'stopSell'],
  ['stopSell', false, [], ''],
]

for (const [rule, value, refusing, refusedAs] of TABLE)
  for (const name of Object.keys(DATES) as DateName[]) {
    const date = DATES[name]
    const weekday = isoWeekday(date)
    const others = ([1, 2, 3, 4, 5, 6, 7] as const).filter((each) => each !== weekday)
    const expected = refusing.includes(name) ? [refusedAs] : []
    const off = typeof value === 'boolean' ? false : rule === 'maxStay' ? 366 : 1
    describe(`${rule} ${value} on ${name} ${expected.length > 0 ? 'refuses' : 'does not refuse'} the stay`, () => {
      test('as a row for that date', () => expect(rulesOf(of(row(rule, value, on(date))))).toEqual(expected))
      test('as a row for its weekday', () =>
        expect(rulesOf(of(row(rule, value, { ...on(date), weekdays: [weekday] })))).toEqual(expected))
      test('but not as a row for the other weekdays', () =>
        expect(rulesOf(of(row(rule, value, { weekdays: others, ...on(date) })))).toEqual([]))
      test('but not if a later row says otherwise', () =>
        expect(rulesOf(of(row(rule, value, on(date)), row(rule, off, on(date))))).toEqual([]))
      test('whatever an earlier row says', () =>
        expect(rulesOf(of(row(rule, off), row(rule, value, on(date))))).toEqual(expected))
      test('whatever a later row says of another rule or another day', () => {
        const other = rule === 'stopSell' ? 'closedToArrival' : 'stopSell'
        const later = [row(other, false), row(rule, off, on(addNights(date, 7)))]
        expect(rulesOf(of(row(rule, value, on(date)), ...later))).toEqual(expected)
      })
    })
  }

test('a row without from and to applies to every date that the service knows', () => {
  for (const arrival of [night('2000-01-01'), ARRIVAL, addNights(NIGHT_MAX, -1)])
    expect(rulesOf(of(row('closedToArrival', true)), { arrival, departure: addNights(arrival, 1) })).toEqual([
      'closedToArrival',
    ])
})

test('minimum stays join that of season and unit: the largest applies, and is in the refusal', () => {
  const restrictions = of(row('minStayArrival', 3, on(ARRIVAL)), row('minStayThrough', 5, on(addNights(ARRIVAL, 2))))
  const long = addNights(ARRIVAL, 4)
  expect(answer(unitWith(restrictions, [], { minStay: 4 }), STAY)).toEqual({ code: 'MIN_STAY', minStay: 5 })
  expect(answer(unitWith(restrictions, [], { minStay: 7 }), STAY)).toEqual({ code: 'MIN_STAY', minStay: 7 })
  // The night with a minimum of five is not part of this stay.
  const short = { arrival: ARRIVAL, departure: addNights(ARRIVAL, 2) }
  expect(answer(unitWith(restrictions), short)).toEqual({ code: 'MIN_STAY', minStay: 3 })
  expect(answer(unitWith(restrictions), { arrival: ARRIVAL, departure: addNights(long, 1) })).toBe('quoted')
})

test('all rules that refuse are listed, in the order of the table, with the date each was checked for', () => {
  const restrictions: Restrictions = {
    rows: [
      row('stopSell', true, { from: addNights(ARRIVAL, 1) }),
      row('maxStay', 2),
      row('closedToDeparture', true),
      row('closedToArrival', true),
    ],
    advanceNoticeHours: 8_760,
    bookingWindowDays: 1,
  }
  const { arrival, departure } = STAY
  const refusals: readonly Refusal[] = [
    { rule: 'closedToArrival', date: arrival, value: true },
    { rule: 'closedToDeparture', date: departure, value: true },
    { rule: 'maxStay', date: arrival, value: 2 },
    { rule: 'stopSell', date: addNights(arrival, 1), value: true },
    { rule: 'advanceNoticeHours', date: arrival, value: 8_760 },
    { rule: 'bookingWindowDays', date: arrival, value: 1 },
  ]
  expect(answer(unitWith(restrictions), STAY)).toEqual({
    code: 'RESTRICTED',
    restrictions: refusals,
    alternatives: { previousArrival: null, nextArrival: null },
  })
})

describe('alternatives are the nearest arrivals within 30 days either way that would be accepted now', () => {
  test('around closed days, other stays and cleaning', () => {
    const taken = { arrival: addNights(ARRIVAL, 4), departure: addNights(ARRIVAL, 8) }
    const weekend = row('closedToArrival', true, { weekdays: [1, 2, 3, 4, 5] })
    const state = unitWith(of(weekend), [taken], { turnoverNights: 2 })
    // Saturdays and Sundays: the 3rd and 4th of July overlap nothing; the 10th and 11th are taken; the 17th is the next after cleaning.
    expect(answer(state, STAY)).toMatchObject({
      alternatives: { previousArrival: night('2027-07-04'), nextArrival: night('2027-07-17') },
    })
  })

  test('the thirtieth day is tried, the next one is not', () => {
    const openOn = (days: number) =>
      of(row('closedToArrival', true), row('closedToArrival', false, on(addNights(ARRIVAL, days))))
    expect(answer(unitWith(openOn(30)), STAY)).toMatchObject({ alternatives: { nextArrival: addNights(ARRIVAL, 30) } })
    expect(answer(unitWith(openOn(-30)), STAY)).toMatchObject({
      alternatives: { previousArrival: addNights(ARRIVAL, -30) },
    })
    expect(answer(unitWith(openOn(31)), STAY)).toMatchObject({ alternatives: { nextArrival: null } })
  })

  test('none is beyond the dates that the service knows', () => {
    const first = { arrival: night('2000-01-01'), departure: night('2000-01-03') }
    const last = { arrival: addNights(NIGHT_MAX, -2), departure: NIGHT_MAX }
    const closed = unitWith(
      of(row('closedToArrival', true, on(first.arrival)), row('closedToArrival', true, on(last.arrival))),
    )
    expect(answer(closed, first)).toMatchObject({
      alternatives: { previousArrival: null, nextArrival: night('2000-01-02') },
    })
    expect(answer(closed, last)).toMatchObject({ alternatives: { nextArrival: null } })
  })
})

describe('a refusal for other reasons offers only dates that restrictions allow', () => {
  test('bookableFrom of a conflict', () => {
    const state = unitWith(of(row('closedToArrival', true, { weekdays: [4, 5] })), [STAY])
    const decision = decideBookStay(state, {
      booking: sampleBooking({ id: sampleId('bkg', 'new'), ...STAY }),
      tariff: TARIFF,
      enforcement: 'partner',
      moment: MOMENT,
    })
    // Thursday and Friday are closed.
    expect(decision).toMatchObject({ rejection: { conflict: { bookableFrom: night('2027-07-10') } } })
  })
})

test('bookableFrom under random lists is the first arrival of 732 that is sold', () => {
  const random = new SeededRandom(33)
  let [found, none] = [0, 0]
  for (let list = 0; list < 120; list++) {
    const restrictions = { ...generatedRestrictions(random, ARRIVAL), ...(list % 3 === 0 ? of(row('maxStay', 3)) : {}) }
    const arrival = addNights(ARRIVAL, random.int(-20, 20))
    const stay = { arrival, departure: addNights(arrival, random.pick([1, 3, 14, 366])) }
    const taken = { arrival, departure: addNights(arrival, 1) }
    const state = unitWith(
      restrictions,
      [taken, { arrival: addNights(arrival, 5), departure: addNights(arrival, 9) }],
      {
        turnoverNights: random.pick([0, 2]),
        minStay: random.pick([1, 1, 2]),
      },
    )
    const conflict = firstStayConflict(state, stay, MOMENT)
    const from = conflict?.code === 'TURNOVER_BLOCK_CONFLICT' ? arrival : addNights(arrival, 1)
    const nights = stay.departure - stay.arrival
    let expected: Night | null = null
    for (let i = 0; i <= 732 && expected === null; i++) {
      const other = { arrival: addNights(from, i), departure: addNights(from, i + nights) }
      if (refusalByRules(state.rules, other, MOMENT) !== null || stayConflictCodes(state, other).length > 0) continue
      expected = other.arrival
    }
    expect({ list, conflict }).toMatchObject({ list, conflict: { conflict: { bookableFrom: expected } } })
    if (expected === null) none += 1
    else found += 1
  }
  expect([found > 20, none > 10]).toEqual([true, true])
})

test('bookableFrom looks at each date once, however many arrivals are refused and however long the stay is', () => {
  const rows = [row('minStayThrough', 366), row('closedToArrival', true, { from: addNights(ARRIVAL, 1) })]
  const state = unitWith(of(...rows), [{ arrival: addNights(ARRIVAL, 3), departure: addNights(ARRIVAL, 4) }])
  const looks = spyOn(RestrictedDates.prototype, 'wordOn')
  const conflict = firstStayConflict(state, { arrival: ARRIVAL, departure: addNights(ARRIVAL, 366) }, MOMENT)
  expect(conflict).toMatchObject({ conflict: { bookableFrom: null } })
  expect(looks.mock.calls.length).toBeLessThan(3 * (732 + 366))
  looks.mockRestore()
})

describe('existing bookings, and the agency itself, are not refused', () => {
  const closed = of(row('stopSell', true))
  const booking = sampleBooking({ ...STAY })

  test('the agency is warned of the restrictions that would refuse a partner', () => {
    const decision = decideBookStay(unitWith(closed), {
      booking,
      tariff: TARIFF,
      enforcement: 'agency',
      moment: MOMENT,
    })
    expect(decision).toMatchObject({
      kind: 'accepted',
      warnings: { restrictions: [{ rule: 'stopSell', date: ARRIVAL, value: true }] },
    })
  })

  test('there are no warnings of a minimum stay, and none for bookings other than guest stays', () => {
    const book = (restrictions: Restrictions, change: Partial<Booking> = {}) =>
      decideBookStay(unitWith(restrictions), {
        booking: { ...booking, ...change },
        tariff: TARIFF,
        enforcement: 'agency',
        moment: MOMENT,
      })
    expect(book(of(row('minStayArrival', 9)))).toMatchObject({ kind: 'accepted', warnings: null })
    expect(book(closed, { type: 'maintenance' })).toMatchObject({ kind: 'accepted', warnings: null })
  })

  test('there are warnings for a change of dates or unit, and none for other changes', () => {
    const state = unitWith(closed, [booking])
    const change = (params: object) =>
      decideChange(state, state, {
        booking: { ...booking, id: sampleId('bkg', 0) },
        change: params,
        tariff: TARIFF,
        at: 1,
        moment: MOMENT,
      })
    expect(isLive(booking)).toBe(true)
    expect(change({ departure: addNights(ARRIVAL, 4) })).toMatchObject({
      kind: 'accepted',
      warnings: { restrictions: [{ rule: 'stopSell' }] },
    })
    expect(change({ status: 'checked_in' })).not.toHaveProperty('warnings')
  })
})

test('the alternatives to a change of dates count the nights of the booking itself, and its cleaning, as free', () => {
  const closed = of(row('closedToArrival', true, on(addNights(ARRIVAL, 1))))
  const booking = sampleBooking({ ...STAY, id: sampleId('bkg', 0) })
  const state = unitWith(closed, [STAY], { turnoverNights: 2 })
  const before = state.occupied.clone()
  const decision = decideChange(state, state, {
    booking,
    change: { arrival: addNights(ARRIVAL, 1), departure: addNights(ARRIVAL, 5) },
    tariff: TARIFF,
    at: 1,
    moment: MOMENT,
  })
  expect(decision).toMatchObject({
    warnings: { alternatives: { previousArrival: ARRIVAL, nextArrival: addNights(ARRIVAL, 2) } },
  })
  expect(state.occupied.equals(before)).toBe(true)
})

describe('advance notice: check-in on the arrival date is not earlier than now plus the hours', () => {
  const notice = (hours: number) => ({ ...NO_RESTRICTIONS, advanceNoticeHours: hours })
  /** @param offsetMs from the moment at which the notice is exactly met */
  const refused = (
    hours: number,
    date: string,
    moment: { timeZone: string; checkinTime: string },
    offsetMs: number,
  ) => {
    const arrival = night(date)
    const now = localInstant(date, moment.checkinTime, moment.timeZone) - hours * HOUR_MS + offsetMs
    return refusalsOf(notice(hours), { arrival, departure: addNights(arrival, 1) }, { now, ...moment }).length > 0
  }

  test.each([
    ['an ordinary day', '2027-07-05', 'Europe/Lisbon', '15:00', 24],
    ['no hours at all', '2027-07-05', 'Europe/Lisbon', '15:00', 0],
    ['a check-in shortly after midnight', '2027-07-05', 'Pacific/Auckland', '00:00', 1],
    ['a check-in at the end of the day, far behind UTC', '2027-07-05', 'Pacific/Pago_Pago', '23:59', 30],
    ['the day on which clocks go forward', '2027-03-28', 'Europe/Lisbon', '15:00', 24],
    ['the day on which clocks go back', '2027-10-31', 'Europe/Lisbon', '15:00', 24],
    ['a time that is skipped', '2027-03-28', 'Europe/Berlin', '02:30', 10],
    ['a time that occurs twice', '2027-10-31', 'Europe/Berlin', '02:30', 10],
    ['a day that is skipped', '2011-12-30', 'Pacific/Apia', '15:00', 10],
    ['a midnight that is skipped', '2027-09-05', 'America/Santiago', '00:00', 5],
    ['a year', '2027-07-05', 'Asia/Kathmandu', '14:45', 8_760],
  ])('%s', (_, date, timeZone, checkinTime, hours) => {
    const at = { timeZone, checkinTime }
    expect(refused(hours, date, at, -1)).toBe(false)
    expect(refused(hours, date, at, 0)).toBe(false)
    expect(refused(hours, date, at, 1)).toBe(true)
    expect(refused(hours, date, at, 59_999)).toBe(true)
  })

  test('a check-in time that occurs twice is the first; one that is skipped is the moment of the change', () => {
    expect(localInstant('2027-10-31', '02:30', 'Europe/Berlin')).toBe(Date.parse('2027-10-31T02:30:00+02:00'))
    expect(localInstant('2027-03-28', '02:30', 'Europe/Berlin')).toBe(Date.parse('2027-03-28T01:00:00Z'))
    expect(localInstant('2011-12-30', '15:00', 'Pacific/Apia')).toBe(Date.parse('2011-12-31T00:00:00+14:00'))
  })
})

describe('booking window: the arrival is not later than today, in the time zone of the agency, plus the days', () => {
  test.each([
    ['Europe/Lisbon', '2027-07-04T22:59:59Z', '2027-07-04'],
    ['Europe/Lisbon', '2027-07-04T23:00:00Z', '2027-07-05'],
    ['Pacific/Auckland', '2027-07-04T12:00:00Z', '2027-07-05'],
    ['America/Los_Angeles', '2027-07-05T06:59:00Z', '2027-07-04'],
  ])('in %s at %s, today is %s', (timeZone, now, today) => {
    const restrictions = { ...NO_RESTRICTIONS, bookingWindowDays: 10 }
    const range = arrivalRange(restrictions, { now: Date.parse(now), timeZone, checkinTime: '15:00' })
    expect(range.latest).toBe(night(today) + 10)
    for (const [days, count] of [
      [10, 0],
      [11, 1],
    ] as const) {
      const arrival = addNights(night(today), days)
      const moment = { now: Date.parse(now), timeZone, checkinTime: '15:00' }
      expect(refusalsOf(restrictions, { arrival, departure: addNights(arrival, 1) }, moment)).toHaveLength(count)
    }
  })
})

describe('calendars', () => {
  test('nights off sale are closed, with those of cleaning, until the restriction is removed', () => {
    const stop = of(row('stopSell', true, { from: addNights(ARRIVAL, 10), to: addNights(ARRIVAL, 12) }))
    const state = unitWith(stop, [STAY], { turnoverNights: 1 })
    const closed = () => state.closed.nightsIn(ARRIVAL, addNights(ARRIVAL, 20)).map((each) => each - ARRIVAL)
    expect(closed()).toEqual([3, 10, 11])
    const later = sampleBooking({
      id: sampleId('bkg', 9),
      arrival: addNights(ARRIVAL, 5),
      departure: addNights(ARRIVAL, 6),
    })
    state.apply({ kind: 'booking_created', after: later }, 9)
    expect(closed()).toEqual([3, 6, 10, 11])
    state.apply({ kind: 'unit_set', unit: sampleUnit({ rules: sampleRules({ turnoverNights: 1 }) }) }, 10)
    expect(closed()).toEqual([3, 6])
    expect(state.closed).toBe(state.cleaning)
  })

  test('a range has a character for each arrival, one more for departures, and the maximum stay by arrival', () => {
    const restrictions = of(
      row('closedToArrival', true, on(ARRIVAL)),
      row('closedToDeparture', true, on(addNights(ARRIVAL, 4))),
      row('maxStay', 5, on(addNights(ARRIVAL, 1))),
    )
    const range = { from: ARRIVAL, to: addNights(ARRIVAL, 4) }
    const arrivals = { earliest: ARRIVAL, latest: ARRIVAL + 2 }
    expect(restrictedRange(restrictions, range, arrivals)).toEqual({
      arrival: '0110',
      departure: '11110',
      maxStay: [0, 5, 0, 0],
    })
  })

  test('the minimum for an arrival is the shortest stay that meets the minimum of every night it includes', () => {
    const through = (days: number, value: number) => row('minStayThrough', value, on(addNights(ARRIVAL, days)))
    const restrictions = of(through(1, 3), through(2, 6), through(6, 20))
    // Two nights include the one with a minimum of three, three include the one with six, and six do not reach the last.
    expect(restrictedMinStayFrom(restrictions, ARRIVAL, 2)).toBe(6)
    expect(restrictedMinStayFrom(restrictions, ARRIVAL, 1)).toBe(1)
    expect(restrictedMinStayFrom(restrictions, ARRIVAL, 7)).toBe(20)
  })
})

test('restrictions that cannot be stored are refused by field', () => {
  const wrong = of(
    row('stopSell', 3),
    row('maxStay', true),
    row('maxStay', 367),
    row('closedToArrival', true, { from: ARRIVAL, to: ARRIVAL }),
    row('closedToArrival', true, { weekdays: [] }),
  )
  expect(restrictionsProblems(wrong).map(({ field }) => field)).toEqual([
    'restrictions[0].value',
    'restrictions[1].value',
    'restrictions[2].value',
    'restrictions[3].to',
    'restrictions[4].weekdays',
  ])
  expect(
    restrictionsProblems(of(...Array.from({ length: 501 }, () => row('stopSell', true)))).map(({ field }) => field),
  ).toEqual(['restrictions'])
})

/** Written like the table: it checks every row for every date. */
function oracle(restrictions: Restrictions, { arrival, departure }: Stay, unitMinStay: number) {
  const valueOn = (rule: DateRule, date: Night) => {
    let value: boolean | number = false
    for (const { from, to, weekdays, rule: its, value: said } of restrictions.rows) {
      if (its !== rule || (from !== null && date < from) || (to !== null && date >= to)) continue
      if (weekdays === null || weekdays.includes(isoWeekday(date))) value = said
    }
    return value
  }
  const nights: Night[] = []
  for (let each = arrival; each < departure; each = addNights(each, 1)) nights.push(each)
  const minStay = Math.max(
    unitMinStay,
    Number(valueOn('minStayArrival', arrival)),
    ...nights.map((each) => Number(valueOn('minStayThrough', each))),
  )
  if (nights.length < minStay) return { code: 'MIN_STAY', minStay }
  const refusals: Refusal[] = []
  if (valueOn('closedToArrival', arrival) === true)
    refusals.push({ rule: 'closedToArrival', date: arrival, value: true })
  if (valueOn('closedToDeparture', departure) === true)
    refusals.push({ rule: 'closedToDeparture', date: departure, value: true })
  const maxStay = Number(valueOn('maxStay', arrival))
  if (maxStay > 0 && nights.length > maxStay) refusals.push({ rule: 'maxStay', date: arrival, value: maxStay })
  const stopped = nights.find((each) => valueOn('stopSell', each) === true)
  if (stopped !== undefined) refusals.push({ rule: 'stopSell', date: stopped, value: true })
  return refusals
}

test('100,000 random stays under random lists are refused exactly as the table reads', () => {
  const random = new SeededRandom(32)
  let [refused, passed] = [0, 0]
  for (let list = 0; list < 2_000; list++) {
    const { rows } = generatedRestrictions(random, ARRIVAL)
    const restrictions = of(...rows)
    const unitRules = { ...sampleRules({ minStay: random.int(1, 3) }), restrictions }
    for (let i = 0; i < 50; i++) {
      const arrival = addNights(ARRIVAL, random.int(-60, 60))
      const stay = {
        arrival,
        departure: addNights(arrival, random.chance(0.1) ? random.int(1, 366) : random.int(1, 10)),
      }
      const minStay = minStayOf(unitRules, stay)
      const found =
        stay.departure - stay.arrival < minStay ? { code: 'MIN_STAY', minStay } : refusalsOf(restrictions, stay, MOMENT)
      const expected = oracle(restrictions, stay, unitRules.minStay)
      if (!Bun.deepEquals(found, expected))
        expect({ rows, stay, found }).toEqual({ rows, stay, found: expected as never })
      if (Array.isArray(expected) && expected.length === 0) passed += 1
      else refused += 1
    }
  }
  expect(passed + refused).toBe(100_000)
  expect(Math.min(passed, refused)).toBeGreaterThan(20_000)
})
