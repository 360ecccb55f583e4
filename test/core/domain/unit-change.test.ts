import { describe, expect, test } from 'bun:test'
import type { DateSpan } from '../../../src/core/domain/booking.ts'
import { addNights, isoWeekday, type Night } from '../../../src/core/domain/night.ts'
import { basisPointsByWeekday, effectiveMinStay, nightPrice } from '../../../src/core/domain/pricing.ts'
import {
  ANY_ARRIVAL,
  NO_RESTRICTIONS,
  type Restrictions,
  restrictedMinStayFrom,
  restrictedRange,
  stopSoldNights,
} from '../../../src/core/domain/restrictions.ts'
import { sortedRates, type UnitRules } from '../../../src/core/domain/unit.ts'
import { changedDates, unitSet } from '../../../src/core/domain/unit-change.ts'
import { SeededRandom } from '../../../src/lib/seeded-random.ts'
import { generatedRestrictions, generatedRules } from '../../support/generated-rules.ts'
import { night, sampleRules, sampleUnit } from '../../support/samples.ts'

const MAY = { name: 'May', from: night('2027-05-01'), to: night('2027-06-01'), nightlyPrice: 9_000, minStay: 2 }
const JULY = { name: 'July', from: night('2027-07-01'), to: night('2027-08-01'), nightlyPrice: 15_000, minStay: null }
const BEFORE = sampleRules({ rates: { seasons: [MAY, JULY], weekdayAdjustments: [], lengthOfStayDiscounts: [] } })
const EVERYWHERE = { from: null, to: null }

const withRates = (rates: Partial<UnitRules['rates']>) => ({ ...BEFORE, rates: { ...BEFORE.rates, ...rates } })
const restricted = (restrictions: Partial<Restrictions>) => ({
  ...BEFORE,
  restrictions: { ...NO_RESTRICTIONS, ...restrictions },
})
const span = (from: string | null, to: string | null): DateSpan => ({
  from: from === null ? null : night(from),
  to: to === null ? null : night(to),
})

describe('between which dates prices, minimum stays or restrictions may differ', () => {
  test('a season that is added, removed or changed: on its dates, before and after', () => {
    expect(changedDates(BEFORE, withRates({ seasons: [MAY] }))).toEqual(span('2027-07-01', '2027-08-01'))
    expect(changedDates(withRates({ seasons: [MAY] }), BEFORE)).toEqual(span('2027-07-01', '2027-08-01'))
    for (const change of [{ nightlyPrice: 1 }, { minStay: 9 }, { minStay: null }, { name: 'In May' }])
      expect(changedDates(BEFORE, withRates({ seasons: [{ ...MAY, ...change }, JULY] }))).toEqual(
        span('2027-05-01', '2027-06-01'),
      )
    const longer = { ...JULY, to: night('2027-08-15') }
    expect(changedDates(BEFORE, withRates({ seasons: [MAY, longer] }))).toEqual(span('2027-07-01', '2027-08-15'))
  })

  test('several seasons: from the first of their dates to the last', () => {
    const seasons = [
      { ...MAY, nightlyPrice: 1 },
      { ...JULY, nightlyPrice: 1 },
    ]
    expect(changedDates(BEFORE, withRates({ seasons }))).toEqual(span('2027-05-01', '2027-08-01'))
  })

  test('weekday adjustments, discounts, notice and window: everywhere', () => {
    for (const after of [
      withRates({ weekdayAdjustments: [{ weekday: 5, basisPoints: 1_000 }] }),
      withRates({ lengthOfStayDiscounts: [{ minNights: 7, basisPoints: 1_000 }] }),
      restricted({ advanceNoticeHours: 24 }),
      restricted({ bookingWindowDays: 90 }),
    ]) {
      expect(changedDates(BEFORE, after)).toEqual(EVERYWHERE)
      expect(changedDates(after, BEFORE)).toEqual(EVERYWHERE)
    }
  })

  test('a row of restrictions: on its dates, without an end if it has none', () => {
    const row = {
      from: night('2027-07-01'),
      to: night('2027-07-15'),
      weekdays: null,
      rule: 'maxStay',
      value: 7,
    } as const
    expect(changedDates(BEFORE, restricted({ rows: [row] }))).toEqual(span('2027-07-01', '2027-07-15'))
    expect(changedDates(BEFORE, restricted({ rows: [{ ...row, to: null }] }))).toEqual(span('2027-07-01', null))
    expect(changedDates(BEFORE, restricted({ rows: [{ ...row, from: null }] }))).toEqual(span(null, '2027-07-15'))
  })

  test('rows in another order: on the dates of those between, since a later row wins', () => {
    const first = {
      from: night('2027-07-01'),
      to: night('2027-07-15'),
      weekdays: null,
      rule: 'maxStay',
      value: 7,
    } as const
    const second = { ...first, from: night('2027-07-10'), to: night('2027-07-20'), value: 14 }
    const last = { ...first, from: night('2027-09-01'), to: night('2027-09-02') }
    const [before, after] = [restricted({ rows: [first, second, last] }), restricted({ rows: [second, first, last] })]
    expect(changedDates(before, after)).toEqual(span('2027-07-01', '2027-07-20'))
  })

  test('minStayThrough: earlier arrivals too, by at most the longest minimum', () => {
    const row = {
      from: night('2027-07-10'),
      to: night('2027-07-11'),
      weekdays: null,
      rule: 'minStayThrough',
      value: 5,
    } as const
    expect(changedDates(BEFORE, restricted({ rows: [row] }))).toEqual(span('2027-07-06', '2027-07-11'))
    expect(changedDates(BEFORE, restricted({ rows: [{ ...row, from: night('2000-01-02') }] }))?.from).toBeNull()
  })

  test('equal rates: nowhere', () => {
    expect(changedDates(BEFORE, structuredClone(BEFORE))).toBeNull()
    expect(changedDates(BEFORE, restricted({}))).toBeNull()
  })

  test('every date that differs is included, in 500 random changes', () => {
    const random = new SeededRandom(Number(process.env['SPAN_SEED'] ?? 9))
    const about = night('2027-06-01')
    for (let round = 0; round < 500; round++) {
      const before: UnitRules = { ...generatedRules(random, about), restrictions: generatedRestrictions(random, about) }
      const after = changedAtRandom(random, before, about)
      const changed = changedDates(before, after)
      const [termsBefore, termsAfter] = [termsOf(before), termsOf(after)]
      for (let i = -120; i < 150; i++) {
        const date = addNights(about, i)
        if (termsBefore(date) === termsAfter(date)) continue
        if (!isInside(date, changed)) throw new Error(`Round ${round}: date ${i} differs, and is not in the span`)
      }
    }
  })
})

function isInside(date: Night, changed: DateSpan | null): boolean {
  if (changed === null) return false
  return (changed.from === null || changed.from <= date) && (changed.to === null || date < changed.to)
}

/** What partners see of a date, by brute force. */
function termsOf(rules: UnitRules): (date: Night) => string {
  const { seasons, weekdayAdjustments, lengthOfStayDiscounts } = rules.rates
  const { restrictions = NO_RESTRICTIONS } = rules
  const { advanceNoticeHours, bookingWindowDays } = restrictions
  const always = JSON.stringify([lengthOfStayDiscounts, advanceNoticeHours, bookingWindowDays])
  const basisPoints = basisPointsByWeekday(weekdayAdjustments)
  const stopped = stopSoldNights(restrictions)
  return (date) => {
    const season = seasons.find(({ from, to }) => from <= date && date < to)
    const price = nightPrice(season?.nightlyPrice ?? rules.basePrice, basisPoints[isoWeekday(date)])
    const range = restrictedRange(restrictions, { from: date, to: addNights(date, 1) }, ANY_ARRIVAL)
    const minStay = restrictedMinStayFrom(restrictions, date, effectiveMinStay(rules, date))
    return `${always} ${season?.name} ${price} ${minStay} ${stopped?.has(date) ?? false} ${range.arrival} ${range.departure[0]} ${range.maxStay}`
  }
}

/** Other rules with the same base price and minimum stay, which differ in one thing or in everything. */
function changedAtRandom(random: SeededRandom, before: UnitRules, about: Night): UnitRules {
  const { rates } = generatedRules(random, about)
  const restrictions = before.restrictions ?? NO_RESTRICTIONS
  const at = random.below(restrictions.rows.length + 1)
  const [row] = generatedRestrictions(random, about).rows
  const [season] = before.rates.seasons
  switch (random.below(7)) {
    case 0:
      return { ...before, rates }
    case 1:
      return { ...before, rates: sortedRates(before.rates) }
    case 2:
      return { ...before, restrictions: generatedRestrictions(random, about) }
    case 3:
      return { ...before, restrictions: { ...restrictions, rows: restrictions.rows.toSpliced(at, 1) } }
    case 4:
      return row === undefined
        ? before
        : { ...before, restrictions: { ...restrictions, rows: restrictions.rows.toSpliced(at, random.below(2), row) } }
    case 5:
      return { ...before, restrictions: { ...restrictions, rows: restrictions.rows.toReversed() } }
    default:
      if (season === undefined) return before
      return {
        ...before,
        rates: { ...before.rates, seasons: before.rates.seasons.with(0, { ...season, nightlyPrice: 77, minStay: 6 }) },
      }
  }
}

describe('which event', () => {
  const unit = sampleUnit({ rules: BEFORE })

  test('only other rates or restrictions: rates.updated', () => {
    const rules = withRates({ seasons: [MAY] })
    const changed = span('2027-07-01', '2027-08-01')
    expect(unitSet(unit, { ...unit, rules })).toEqual({ kind: 'rates_set', unit: { ...unit, rules }, changed })
  })

  test('a base price or minimum stay changed with the master data is unit.updated, with null for both dates', () => {
    for (const change of [{ basePrice: 1 }, { minStay: 9 }, { cleaningFee: 1 }, { turnoverNights: 3 }]) {
      const after = { ...unit, rules: { ...BEFORE, ...change } }
      expect(unitSet(unit, after)).toEqual({ kind: 'unit_set', unit: after, changed: EVERYWHERE })
    }
  })

  test('a new unit, another name, slug or status: unit.updated', () => {
    expect(unitSet(null, unit)).toMatchObject({ kind: 'unit_set', changed: EVERYWHERE })
    for (const change of [{ name: 'Other' }, { slug: 'other' }, { status: 'archived' as const }, { maxGuests: 9 }])
      expect(unitSet(unit, { ...unit, ...change })).toMatchObject({ kind: 'unit_set', changed: EVERYWHERE })
    expect(unitSet({ ...unit, status: 'archived' }, unit)).toMatchObject({ kind: 'unit_set', changed: EVERYWHERE })
  })

  test('a write that changes nothing, and a change of a unit that stays archived: none', () => {
    expect(unitSet(unit, structuredClone(unit))).toEqual({ kind: 'unit_set', unit })
    const archived = { ...unit, status: 'archived' } as const
    expect(unitSet(archived, { ...archived, name: 'Other' }).changed).toBeUndefined()
    expect(unitSet(archived, { ...archived, rules: withRates({ seasons: [] }) }).changed).toBeUndefined()
  })
})
