import { expect, test } from 'bun:test'
import { DAYS_SHOWN as ANSWERED } from '../../../src/api/portal/usage.ts'
import { dayOf } from '../../../src/page/format/days.ts'
import { DAYS_SHOWN, dailyShare, everyDay, withoutDay } from '../../../src/page/screens/audit/usage-days.ts'

const DAYS = [
  { day: '2027-03-02', used: 7 },
  { day: '2027-02-28', used: 5 },
]

test('every day has its bar, up to today, also those without requests', () => {
  const days = everyDay(DAYS)
  expect(days).toHaveLength(DAYS_SHOWN)
  expect(days.slice(-4).map(({ used }) => used)).toEqual([0, 5, 0, 7])
  expect(days.at(-1)?.day).toBe(dayOf('2027-03-02'))
  expect(days.slice(0, -4).every(({ used }) => used === 0)).toBe(true)
})

test('the chart shows what the service answers with', () => expect(DAYS_SHOWN).toBe(ANSWERED))

test.each([
  ['2027-01', 1_612],
  ['2027-02', 1_785],
  ['2028-02', 1_724],
  ['2027-04', 1_666],
])('of 50,000 requests, a day of %s has a share of %d: never more than the quota allows', (month, share) => {
  expect(dailyShare(50_000, month)).toBe(share)
})

test('what the month has beyond its days was made before days were counted; other months are not mixed in', () => {
  expect(withoutDay({ month: '2027-03', used: 10 }, DAYS)).toBe(3)
  expect(withoutDay({ month: '2027-03', used: 6 }, DAYS)).toBe(0)
})
