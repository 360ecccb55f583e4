import { expect, test } from 'bun:test'
import {
  discountField,
  draftOf,
  errorsOf,
  type RatesDraft,
  type SeasonDraft,
  seasonField,
  weekdayField,
} from '../../../src/page/screens/units/rates/rates-draft.ts'

const PRICES = { basePrice: 10_000, minStay: 2, cleaningFee: 0, extraBedFee: 0, turnoverNights: 0 }
const NO_RATES = { seasons: [], weekdayAdjustments: [], lengthOfStayDiscounts: [] }
const EMPTY: RatesDraft = draftOf({ rates: NO_RATES, prices: PRICES })

const season = (key: number, from: string, lastNight: string): SeasonDraft => ({
  key,
  from,
  lastNight,
  name: `Season ${key}`,
  nightlyPrice: 9_000,
  minStay: null,
})
const errors = (change: Partial<RatesDraft>) => errorsOf({ ...EMPTY, ...change })

test('rates without seasons have no errors', () => {
  expect(errors({}).size).toBe(0)
})

test('seasons may follow each other without a gap', () => {
  const seasons = [season(1, '2027-06-01', '2027-06-30'), season(2, '2027-07-01', '2027-07-01')]
  expect(errors({ seasons }).size).toBe(0)
})

test('an overlap is told at the season that starts later, whatever their order, with the day from which it may start', () => {
  const seasons = [season(2, '2027-06-30', '2027-07-31'), season(1, '2027-06-01', '2027-06-30')]
  const found = errors({ seasons })
  expect([...found.keys()]).toEqual([seasonField(2, 'from')])
  expect(found.get(seasonField(2, 'from'))).toMatch(/^Overlaps “Season 1”, whose last night is .*30.*Start on .*Jul/)
})

test('of three seasons in a long one each is told against the long one', () => {
  const seasons = [
    season(1, '2027-01-01', '2027-12-31'),
    season(2, '2027-02-01', '2027-02-10'),
    season(3, '2027-05-01', '2027-05-10'),
  ]
  const found = errors({ seasons })
  expect(found.get(seasonField(2, 'from'))).toContain('“Season 1”')
  expect(found.get(seasonField(3, 'from'))).toContain('“Season 1”')
})

test('what is missing or backwards is told at its field, and overlaps nothing', () => {
  const seasons = [
    { ...season(1, '', ''), name: ' ', nightlyPrice: null, minStay: 0 },
    season(2, '2027-02-10', '2027-02-09'),
    season(3, '2027-02-01', '2027-02-20'),
  ]
  expect([...errors({ seasons }).keys()].toSorted()).toEqual(
    [
      ...(['name', 'from', 'lastNight', 'nightlyPrice', 'minStay'] as const).map((field) => seasonField(1, field)),
      seasonField(2, 'lastNight'),
    ].toSorted(),
  )
})

test('percentages have bounds and two decimals, lengths of stay differ, and prices must be there', () => {
  const found = errors({
    weekdays: [null, -100, 1_000, 12.25, -100.01, 1_001, 12.255],
    discounts: [
      { key: 1, minNights: 7, pct: 10 },
      { key: 2, minNights: 7, pct: 12 },
      { key: 3, minNights: 367, pct: 101 },
      { key: 4, minNights: null, pct: null },
    ],
    prices: { ...PRICES, basePrice: null, minStay: 0, turnoverNights: 61 },
  })
  expect([...found.keys()].toSorted()).toEqual(
    [
      ...[5, 6, 7].map(weekdayField),
      discountField(2, 'minNights'),
      ...[3, 4].flatMap((key) => [discountField(key, 'minNights'), discountField(key, 'pct')]),
      ...['basePrice', 'minStay', 'turnoverNights'],
    ].toSorted(),
  )
})
