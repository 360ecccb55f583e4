import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { basisPointsOfPct, PRICE_MAX, pctOfBasisPoints, percentOf } from '../../../src/core/domain/money.ts'

describe('percentOf', () => {
  test.each([
    // amount, basis points, result
    [10_000, 1_000, 1_000],
    [999, 1_250, 125], // 124.875
    [100, 1_250, 13], // 12.5 up
    [100, -1_250, -13], // -12.5 down
    [-100, 1_250, -13],
    [-100, -1_250, 13],
    [1, 5_000, 1], // 0.5
    [1, -5_000, -1],
    [1, 4_999, 0],
    [1, -4_999, 0],
    [3, 5_000, 2], // 1.5
    [5, 5_000, 3], // 2.5: not to even
    [5, -5_000, -3],
    [333, 3_333, 111], // 110.9889
    [0, 1_000, 0],
    [1_000, 0, 0],
    [1_000, 10_000, 1_000],
    [1_000, 110_000, 11_000],
    [PRICE_MAX, 110_000, 1_100_000_000_000],
    [9_007_199_254_740_991, 1, 900_719_925_474], // …474.0991
    [9_007_199_254_740_991, 10_000, 9_007_199_254_740_991],
    [-9_007_199_254_740_991, 5_000, -4_503_599_627_370_496], // …495.5
    [402_600_000_000_001, 5_000, 201_300_000_000_001], // …000.5, product beyond 2^53
  ])('of %d at %d basis points is %d', (amount, basisPoints, expected) => {
    expect(percentOf(amount, basisPoints)).toBe(expected)
  })

  test('is never minus zero', () => {
    for (const [a, bp] of [
      [0, -1_000],
      [-0, 1_000],
      [1, -1],
      [-1, 1],
    ] as const)
      expect(Object.is(percentOf(a, bp), 0)).toBe(true)
  })

  test('is exact to the last unit, below and above 2^53', () => {
    const amount = fc.oneof(fc.integer({ min: -100_000, max: 100_000 }), fc.maxSafeInteger())
    const halfway = fc
      .tuple(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), fc.constant(5_000))
      .map(([n, bp]) => [2 * n + 1, bp] as const)
    const pair = fc.oneof(fc.tuple(amount, fc.integer({ min: -10_000, max: 10_000 })), halfway)
    fc.assert(
      fc.property(pair, ([n, bp]) => {
        const scaled = BigInt(n) * BigInt(bp)
        const magnitude = scaled < 0n ? -scaled : scaled
        const rounded = magnitude / 10_000n + (magnitude % 10_000n >= 5_000n ? 1n : 0n)
        expect(percentOf(n, bp)).toBe(Number(scaled < 0n ? -rounded : rounded) + 0)
      }),
      { numRuns: 10_000 },
    )
  })

  test('is exact at the limit of the fast path', () => {
    for (let k = -20_000; k <= 20_000; k++) {
      const amount = Math.floor(Number.MAX_SAFE_INTEGER / 9_999) + k
      const exact = (BigInt(amount) * 9_999n + 5_000n) / 10_000n
      if (percentOf(amount, 9_999) !== Number(exact)) throw new Error(`percentOf(${amount}, 9999) is not ${exact}`)
    }
  })

  test('accepts only integers', () => {
    expect(() => percentOf(1.5, 100)).toThrow('not integers')
    expect(() => percentOf(100, 0.5)).toThrow('not integers')
    expect(() => percentOf(Number.NaN, 100)).toThrow('not safe integers')
    expect(() => percentOf(2 ** 60, 100)).toThrow('not safe integers')
    expect(() => percentOf(Number.MAX_SAFE_INTEGER, 100_000)).toThrow('the result is not a safe integer')
  })
})

describe('a percentage', () => {
  test.each([
    [12.5, 1_250],
    [0.07, 7],
    [0.29, 29],
    [1.1, 110],
    [19.99, 1_999],
    [4.35, 435],
    [-100, -10_000],
    [-0.01, -1],
    [0, 0],
    [1_000, 100_000],
    [33.33, 3_333],
  ])('of %d is %d basis points', (pct, basisPoints) => {
    expect(basisPointsOfPct(pct)).toBe(basisPoints)
    expect(pctOfBasisPoints(basisPoints)).toBe(pct)
  })

  test.each([12.345, 0.005, -0.005, 0.001, 1e-9, 12.500000000000002, Number.NaN, Number.POSITIVE_INFINITY, 1e300])(
    'of %d has no basis points',
    (pct) => {
      expect(basisPointsOfPct(pct)).toBeNull()
    },
  )

  test('with two decimals survives a round trip as text, for all basis points from -1000 % to 1000 %', () => {
    for (let bp = -100_000; bp <= 100_000; bp++) {
      const sign = bp < 0 ? '-' : ''
      const digits = String(Math.abs(bp)).padStart(3, '0')
      const text = `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`
      if (basisPointsOfPct(Number(text)) !== bp) throw new Error(`${text} is not ${bp} basis points`)
      if (pctOfBasisPoints(bp) !== Number(text)) throw new Error(`${bp} basis points are not ${text}`)
    }
  })

  test('of minus zero is zero', () => {
    expect(Object.is(basisPointsOfPct(-0), 0)).toBe(true)
  })
})
