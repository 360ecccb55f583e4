import { describe, expect, test } from 'bun:test'
import { asNight, nightsOf, overlap, type Stay } from '../../../src/core/domain/night.ts'

const stay = (arrival: number, departure: number): Stay => ({
  arrival: asNight(arrival),
  departure: asNight(departure),
})

describe('a stay', () => {
  test('has the nights from arrival up to but not including departure', () => {
    expect(nightsOf(stay(20_000, 20_007))).toBe(7)
    expect(nightsOf(stay(20_000, 20_001))).toBe(1)
  })

  test.each([
    ['ends on the day the other starts', stay(10, 13), false],
    ['starts on the day the other ends', stay(16, 20), false],
    ['lies apart', stay(1, 5), false],
    ['shares the first night', stay(10, 14), true],
    ['shares the last night', stay(15, 20), true],
    ['is the same', stay(13, 16), true],
    ['lies inside', stay(14, 15), true],
    ['covers it', stay(1, 30), true],
  ])('that %s is judged the same from both sides', (_, other, expected) => {
    expect(overlap(stay(13, 16), other)).toBe(expected)
    expect(overlap(other, stay(13, 16))).toBe(expected)
  })
})
