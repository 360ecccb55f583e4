import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { instantText } from '../../src/lib/clock.ts'

/** The last instant that `Date` can hold; the first is its negative. */
const LAST = 8_640_000_000_000_000

test('an instant is written as Date writes it, whichever was written before', () => {
  const instants = fc.oneof(
    fc.integer({ min: -5_000, max: 5_000 }),
    fc.integer({ min: -LAST, max: LAST }),
    fc.double({ min: -5_000, max: 5_000, noNaN: true }),
    fc.constantFrom(0, -1, 999, 1_000, LAST, -LAST, Date.UTC(9999, 11, 31, 23, 59, 59, 999)),
  )
  fc.assert(
    fc.property(fc.array(instants), (each) => {
      expect(each.map(instantText)).toEqual(each.map((instant) => new Date(instant).toISOString()))
    }),
  )
})

test('what Date cannot hold is refused, and the next instant is written nevertheless', () => {
  for (const instant of [Number.NaN, Number.POSITIVE_INFINITY, LAST + 1_000]) {
    expect(() => instantText(instant)).toThrow(RangeError)
    expect(instantText(LAST)).toBe(new Date(LAST).toISOString())
  }
})
