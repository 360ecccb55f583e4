import { expect, test } from 'bun:test'
import { daysToNow } from '../../../src/api/portal/usage.ts'

const day = (name: string, used: number, total: number) => ({ day: name, used, total })
const NOW = { today: '2027-03-02', months: [{ month: '2027-03', used: 12 }], used: 15 }

test('what is not yet written is of today', () => {
  const stored = [day('2027-03-02', 4, 12), day('2027-03-01', 8, 8), day('2027-02-28', 900, 4_000)]
  expect(daysToNow(stored, NOW)).toEqual([
    { day: '2027-03-02', used: 7 },
    { day: '2027-03-01', used: 8 },
    { day: '2027-02-28', used: 900 },
  ])
})

test('today is there without a request', () => {
  expect(daysToNow([], { ...NOW, months: [], used: 0 })).toEqual([{ day: '2027-03-02', used: 0 }])
})

test('of a month that is older than its days, only what was counted since it was stored is of today', () => {
  expect(daysToNow([], NOW)).toEqual([{ day: '2027-03-02', used: 3 }])
})

test('a flush between the reads, and a request that was given back, leave nothing below 0', () => {
  expect(daysToNow([day('2027-03-02', 4, 16)], NOW)).toEqual([{ day: '2027-03-02', used: 4 }])
})

test('a day that is still to come, of a clock that was set back, is left out', () => {
  expect(daysToNow([day('2027-03-03', 1, 15), day('2027-03-02', 4, 14)], NOW)).toEqual([{ day: '2027-03-02', used: 4 }])
})
