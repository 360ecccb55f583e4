import { expect, test } from 'bun:test'
import { dayOf, dayRange, dayText, isoOf, monthStart, todayIn } from '../../../src/page/format/days.ts'
import { dateText, instantText, relativeTime, timeLeft } from '../../../src/page/format/instants.ts'

const NOW = Date.parse('2027-03-01T23:30:00Z')
const HOUR = 3_600_000

test('a day and its text are the same day', () => {
  for (const iso of ['1970-01-01', '2027-02-28', '2028-02-29', '2099-12-31']) expect(isoOf(dayOf(iso))).toBe(iso)
  expect(() => dayOf('2027-13-01')).toThrow('Cannot read 2027-13-01 as a day')
})

test('a day is formatted in UTC, wherever the browser is', () => {
  expect(dayText(dayOf('2027-03-01'), 'long', 'en-GB')).toBe('Monday, 1 March 2027')
  expect(dayText(dayOf('2027-03-01'), 'medium', 'de-DE')).toBe('1. März 2027')
})

test('a stay names what its days have in common once', () => {
  expect(dayRange(dayOf('2027-03-01'), dayOf('2027-03-05'), 'en-GB')).toMatch(/^1\s?–\s?5 Mar 2027$/)
  expect(dayRange(dayOf('2027-12-30'), dayOf('2028-01-02'), 'en-GB')).toMatch(/^30 Dec 2027\s?–\s?2 Jan 2028$/)
})

test('today is the day in the time zone of the agency', () => {
  expect(isoOf(todayIn('Europe/Lisbon', NOW))).toBe('2027-03-01')
  expect(isoOf(todayIn('Europe/Berlin', NOW))).toBe('2027-03-02')
  expect(isoOf(todayIn('America/Los_Angeles', NOW))).toBe('2027-03-01')
})

test('months begin on their first day, over years too', () => {
  expect(isoOf(monthStart(dayOf('2027-03-31')))).toBe('2027-03-01')
  expect(isoOf(monthStart(dayOf('2027-03-31'), -3))).toBe('2026-12-01')
  expect(isoOf(monthStart(dayOf('2027-03-31'), 11))).toBe('2028-02-01')
})

test('a moment is in the time zone of the agency', () => {
  expect(instantText(NOW, 'Europe/Berlin', 'en-GB')).toBe('2 Mar 2027, 00:30')
  expect(dateText('2027-03-01T23:30:00Z', 'Europe/Berlin', 'en-GB')).toBe('2 Mar 2027')
})

test.each([
  [NOW - 3 * HOUR, '3 hours ago'],
  [NOW + 47.9 * HOUR, 'in 2 days'],
  [NOW - 24 * HOUR, 'yesterday'],
  [NOW - 10_000, 'now'],
])('a distance is told in words', (instant, text) => {
  expect(relativeTime(instant, NOW, 'en-GB')).toBe(text)
})

test.each([
  [80, '1 h 20 min'],
  [120, '2 h'],
  [0.2, '1 min'],
  [-5, '0 min'],
  [3 * 1_440 + 240, '3 d 4 h'],
  [12 * 1_440 + 240, '12 d'],
])('%d minutes left are %p', (minutes, text) => {
  expect(timeLeft(NOW + minutes * 60_000, NOW)).toBe(text)
})
