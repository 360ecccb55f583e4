import { expect, test } from 'bun:test'
import { dayOf, isoOf } from '../../../src/page/format/days.ts'
import { monthRows, nextDay, weekRows } from '../../../src/page/screens/units/editing/day-rows.ts'
import { NightPrices, seasonRuns } from '../../../src/page/screens/units/rates/night-prices.ts'

const START = dayOf('2027-01-01')
const DAYS = 365

function nights(priceOn: (iso: string) => number, seasonOn: (iso: string) => string | null = () => null) {
  const days = Array.from({ length: DAYS }, (_, index) => isoOf(START + index))
  return new NightPrices({
    from: '2027-01-01',
    prices: days.map(priceOn),
    minStay: days.map(() => 2),
    season: days.map(seasonOn),
  })
}

test('every night of the year is in one cell, below the nights of the same day of the week', () => {
  const cells = monthRows(START).flatMap((row) => row.cells)
  expect(cells.map(({ day }) => day)).toEqual(Array.from({ length: DAYS }, (_, index) => START + index))
  // 1 January 2027 is a Friday.
  for (const { day, column } of cells) expect(column % 7).toBe((day - START + 4) % 7)
  expect(Math.max(...cells.map(({ column }) => column))).toBeLessThan(37)
})

test('a month is in weeks that begin on Monday', () => {
  const rows = weekRows(dayOf('2027-02-01'))
  expect(rows.map(({ cells }) => cells.length)).toEqual([7, 7, 7, 7])
  expect(weekRows(START).map(({ cells }) => cells.length)).toEqual([3, 7, 7, 7, 7])
})

test('arrows stay within what is shown, and go up and down in one column', () => {
  const rows = monthRows(START)
  const go = (iso: string, key: string) => isoOf(nextDay(rows, dayOf(iso), key) ?? 0)
  expect(go('2027-01-01', 'ArrowLeft')).toBe('2027-01-01')
  expect(go('2027-01-31', 'ArrowRight')).toBe('2027-02-01')
  expect(go('2027-03-05', 'ArrowDown')).toBe('2027-04-02')
  expect(go('2027-04-02', 'ArrowUp')).toBe('2027-03-05')
  expect(go('2027-12-31', 'ArrowDown')).toBe('2027-12-31')
  expect(nextDay(rows, START, 'a')).toBeUndefined()
})

test('heat goes from the lowest price to the highest, and is low where all are the same', () => {
  const rising = nights((iso) => Number(iso.slice(5, 7)) * 1_000)
  expect([rising.lowest, rising.highest]).toEqual([1_000, 12_000])
  expect([rising.heat(1_000), rising.heat(6_500), rising.heat(12_000)]).toEqual([0, 2, 4])
  expect(nights(() => 9_000).heat(9_000)).toBe(0)
})

test('seasons are named where they run, also where one follows the other', () => {
  const summer = nights(
    () => 1,
    (iso) => (iso >= '2027-07-10' ? 'Late' : iso >= '2027-07-05' ? 'High' : null),
  )
  const july = monthRows(START)[6]
  if (july === undefined) throw new Error('Expected twelve months')
  // 1 July 2027 is a Thursday.
  expect(seasonRuns(july, summer)).toEqual([
    { name: 'High', from: 7, to: 12 },
    { name: 'Late', from: 12, to: 34 },
  ])
})

test('nights that differ are found by price', () => {
  const [before, after] = [nights(() => 1), nights((iso) => (iso === '2027-03-01' ? 2 : 1))]
  expect([...after.differingFrom(before)].map(isoOf)).toEqual(['2027-03-01'])
})
