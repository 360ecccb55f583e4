import { describe, expect, test } from 'bun:test'
import { ratesChanges } from '../../../src/page/screens/units/rates/rates-changes.ts'
import {
  canonical,
  changedPrices,
  draftOf,
  isChanged,
  nextYear,
  type Rates,
  ratesOf,
} from '../../../src/page/screens/units/rates/rates-draft.ts'

const EUR = { currency: 'EUR', digits: 2 }
const PRICES = { basePrice: 10_000, minStay: 2, cleaningFee: 4_500, extraBedFee: 0, turnoverNights: 1 }
const RATES: Rates = {
  seasons: [
    { name: 'Summer', from: '2027-06-15', to: '2027-09-16', nightlyPrice: 12_800, minStay: null },
    { name: 'New Year', from: '2027-12-27', to: '2028-01-03', nightlyPrice: 15_200, minStay: 3 },
  ],
  weekdayAdjustments: [{ weekday: 5, pct: 15 }],
  lengthOfStayDiscounts: [{ minNights: 7, pct: 10 }],
}
const SAVED = { rates: RATES, prices: PRICES }

describe('a draft of rates', () => {
  test('that was not edited makes the same rates, and is not a change', () => {
    const draft = draftOf(SAVED)
    expect(draft.seasons[0]).toMatchObject({ from: '2027-06-15', lastNight: '2027-09-15' })
    expect(ratesOf(draft)).toEqual(RATES)
    expect(isChanged(SAVED, draft)).toBe(false)
  })

  test('of which only the order differs is not a change, nor is a day of the week with 0', () => {
    const draft = draftOf(SAVED)
    const weekdays = draft.weekdays.with(0, 0)
    expect(isChanged(SAVED, { ...draft, weekdays, seasons: draft.seasons.toReversed() })).toBe(false)
    expect(canonical(RATES)).toBe(canonical({ ...RATES, seasons: RATES.seasons.toReversed() }))
  })

  test('with an incomplete season is a change', () => {
    const draft = draftOf(SAVED)
    const seasons = [{ key: 0, name: '', from: '', lastNight: '', nightlyPrice: null, minStay: null }]
    expect(isChanged(SAVED, { ...draft, seasons })).toBe(true)
  })

  test('names only the prices that differ', () => {
    const draft = draftOf(SAVED)
    expect(changedPrices(PRICES, { ...draft, prices: { ...PRICES, minStay: 3 } })).toEqual({ minStay: 3 })
  })

  test('copies a season to the next year; 29 February becomes the 28th', () => {
    const season = { key: 0, name: 'Leap', from: '2028-02-29', lastNight: '2028-03-02', nightlyPrice: 1, minStay: null }
    expect(nextYear(season)).toMatchObject({ from: '2029-02-28', lastNight: '2029-03-02' })
  })
})

describe('changes in words', () => {
  const changed = (after: Partial<Rates>) =>
    ratesChanges({ rates: RATES, prices: PRICES }, { rates: { ...RATES, ...after }, prices: PRICES }, EUR)
  const [summer, newYear] = RATES.seasons as [Rates['seasons'][number], Rates['seasons'][number]]

  test('are none where nothing differs', () => {
    expect(changed({})).toEqual([])
  })

  test('follow a season that was moved, and name new and removed ones', () => {
    const moved = { ...summer, from: '2027-06-20', nightlyPrice: 13_000 }
    const winter = { ...newYear, name: 'Winter', from: '2028-12-01', to: '2028-12-20' }
    const [first, second, third] = changed({ seasons: [moved, winter] })
    expect(first).toMatch(/^Summer 2027: .*15.* → .*20.*; €128\.00 → €130\.00$/)
    expect([second, third]).toEqual(['Winter 2028: new', 'New Year 2027: removed'])
  })

  test('tell of days of the week, long stays and prices', () => {
    expect(
      changed({ weekdayAdjustments: [{ weekday: 7, pct: -10 }], lengthOfStayDiscounts: [{ minNights: 28, pct: 25 }] }),
    ).toEqual([
      'Fri: +15% → 0%',
      'Sun: 0% → −10%',
      'From 7 nights: 10% off → no discount',
      'From 28 nights: no discount → 25% off',
    ])
    const after = { rates: RATES, prices: { ...PRICES, cleaningFee: 4_700, minStay: 1 } }
    expect(ratesChanges({ rates: RATES, prices: PRICES }, after, EUR)).toEqual([
      'Minimum stay: 2 nights → 1 night',
      'Cleaning: €45.00 → €47.00',
    ])
  })
})
