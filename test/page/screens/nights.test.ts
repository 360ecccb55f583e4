import { expect, test } from 'bun:test'
import {
  differenceText,
  momentAt,
  type NightState,
  POSITIONS,
  positionOf,
} from '../../../src/page/screens/units/nights/nights.ts'

const HOUR_MS = 3_600_000
const HOUR = Date.parse('2027-03-10T12:00:00Z')
const nights = (...states: NightState[]) =>
  new Map(states.flatMap((state, day) => (state === 'free' ? [] : [[day, state] as const])))

test.each([
  [nights('taken', 'free'), nights('taken'), 'The nights shown have not changed since.'],
  [nights('free', 'free'), nights('taken', 'cleaning'), '2 nights shown differ from now: 2 were free.'],
  [nights('taken', 'free'), nights('free', 'taken'), '2 nights shown differ from now: 1 was free, 1 is free now.'],
  [nights('taken'), nights('cleaning'), '1 night shown differs from now.'],
])('what an earlier picture says of now, case %#', (then, now, text) => {
  expect(differenceText(then, now)).toBe(text)
})

test('the slider ends at now, steps by full hours, and is at its beginning for anything earlier', () => {
  expect(momentAt(POSITIONS, HOUR)).toBeNull()
  expect(momentAt(POSITIONS - 1, HOUR)).toBe(HOUR)
  expect(momentAt(0, HOUR)).toBe(HOUR - (POSITIONS - 1) * HOUR_MS)
  for (const position of [0, 1, 300, POSITIONS - 1, POSITIONS])
    expect(positionOf(momentAt(position, HOUR), HOUR)).toBe(position)
  expect(positionOf(HOUR - 9_999 * HOUR_MS, HOUR)).toBe(0)
  // A moment within the current hour is not now.
  expect(positionOf(HOUR + HOUR_MS - 1, HOUR)).toBe(POSITIONS - 1)
})
