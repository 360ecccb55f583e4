import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SeededRandom } from '../../src/lib/seeded-random.ts'

const drawn = (seed: number, count = 5) => {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, () => random.below(1_000_000))
}

describe('numbers of a seed', () => {
  test('are the same in every version: a seed on record is a run that can be repeated', () => {
    expect(drawn(1)).toEqual([627073, 2735, 527447, 981050, 968377])
  })

  test('are not those of another seed', () => {
    expect(new Set(Array.from({ length: 100 }, (_, seed) => drawn(seed).join(' '))).size).toBe(100)
  })

  test('lie within the bounds that were asked for, and reach both', () => {
    const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
    fc.assert(
      fc.property(int32, (seed) => {
        const random = new SeededRandom(seed)
        const values = Array.from({ length: 200 }, () => random.int(3, 7))
        expect(new Set(values)).toEqual(new Set([3, 4, 5, 6, 7]))
      }),
    )
  })
})

test('something that is certain happens, and something that is impossible does not', () => {
  const random = new SeededRandom(7)
  expect(Array.from({ length: 100 }, () => [random.chance(1), random.chance(0)])).toEqual(
    Array(100).fill([true, false]),
  )
})

test('nothing can be picked from an empty list', () => {
  expect(() => new SeededRandom(1).pick([])).toThrow('there is nothing to pick from')
})
