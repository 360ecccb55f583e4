import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { asNight, NIGHT_MAX, NIGHT_MIN, type Night } from '../../../src/core/domain/night.ts'
import { forEachRunInUnion, NightBitmap, unionNightsIn } from '../../../src/core/domain/night-bitmap.ts'

/** A word boundary: 20 000 is 625 words of 32 nights. */
const BORDER = 20_000

type Edit = { readonly kind: 'set' | 'clear'; readonly from: number; readonly length: number }

const nearBorders = fc.integer({ min: BORDER - 300, max: BORDER + 300 })
const atBorders = fc
  .tuple(fc.integer({ min: -8, max: 8 }), fc.integer({ min: -1, max: 1 }))
  .map(([word, off]) => BORDER + word * 32 + off)
const anywhere = fc.integer({ min: NIGHT_MIN, max: NIGHT_MAX })
const day = fc.oneof(
  { weight: 5, arbitrary: nearBorders },
  { weight: 5, arbitrary: atBorders },
  { weight: 1, arbitrary: anywhere },
)
const length = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(31, 32, 33, 63, 64, 65),
  fc.integer({ min: 0, max: 366 }),
)
const edits: fc.Arbitrary<Edit[]> = fc.array(
  fc.record({ kind: fc.constantFrom('set' as const, 'set' as const, 'clear' as const), from: day, length }),
  { maxLength: 12 },
)
const range = fc.tuple(day, length).map(([from, n]) => ({ from: asNight(from), to: asNight(from + n) }))

function build(script: readonly Edit[]): { bitmap: NightBitmap; model: Set<number> } {
  const bitmap = new NightBitmap()
  const model = new Set<number>()
  for (const { kind, from, length } of script) {
    if (kind === 'set') bitmap.setRange(asNight(from), asNight(from + length))
    else bitmap.clearRange(asNight(from), asNight(from + length))
    for (let n = from; n < from + length; n++) {
      if (kind === 'set') model.add(n)
      else model.delete(n)
    }
  }
  return { bitmap, model }
}

function modelNightsIn(model: ReadonlySet<number>, from: number, to: number): Night[] {
  const nights: number[] = []
  for (let n = from; n < to; n++) if (model.has(n)) nights.push(n)
  return nights as Night[]
}

const setOf = (...nights: number[]): NightBitmap => {
  const bitmap = new NightBitmap()
  for (const n of nights) bitmap.setRange(asNight(n), asNight(n + 1))
  return bitmap
}

describe('a night bitmap is a set of nights', () => {
  test('after any sequence of sets and clears, it answers every question as a Set does', () => {
    fc.assert(
      fc.property(edits, range, day, (script, { from, to }, night) => {
        const { bitmap, model } = build(script)
        const inRange = modelNightsIn(model, from, to)
        expect(bitmap.nightsIn(from, to)).toEqual(inRange)
        expect(bitmap.anyIn(from, to)).toBe(inRange.length > 0)
        expect(bitmap.firstIn(from, to)).toBe(inRange[0] ?? null)
        expect(bitmap.has(asNight(night))).toBe(model.has(night))
        expect(bitmap.count()).toBe(model.size)
        expect(bitmap.isEmpty()).toBe(model.size === 0)
        let free = night
        while (model.has(free)) free++
        expect(bitmap.firstFreeFrom(asNight(night))).toBe(asNight(free))
        expect(bitmap.nightsIn(NIGHT_MIN, asNight(NIGHT_MAX + 400))).toEqual(
          [...model].sort((a, b) => a - b) as Night[],
        )
      }),
      { numRuns: 3_000 },
    )
  })

  test('the union of two equals that of two Sets, as a list and as runs', () => {
    fc.assert(
      fc.property(edits, edits, range, (scriptA, scriptB, { from, to }) => {
        const a = build(scriptA)
        const b = build(scriptB)
        const expected = modelNightsIn(new Set([...a.model, ...b.model]), from, to)
        expect(unionNightsIn(a.bitmap, b.bitmap, from, to)).toEqual(expected)
        const runs: Night[][] = []
        forEachRunInUnion(a.bitmap, b.bitmap, from, to, (first, end) => {
          expect(first).toBeLessThan(end)
          expect(first).not.toBe(runs.at(-1)?.at(-1))
          runs.push([first, end])
        })
        const ofRuns = runs.flatMap(([first = 0, end = 0]) => Array.from({ length: end - first }, (_, i) => first + i))
        expect(ofRuns).toEqual([...expected])
      }),
      { numRuns: 3_000 },
    )
  })

  test('two are equal exactly when they contain the same nights, regardless of what each has allocated', () => {
    fc.assert(
      fc.property(edits, edits, (scriptA, scriptB) => {
        const a = build(scriptA)
        const b = build(scriptB)
        const sameNights = a.model.size === b.model.size && [...a.model].every((n) => b.model.has(n))
        expect(a.bitmap.equals(b.bitmap)).toBe(sameNights)
        expect(b.bitmap.equals(a.bitmap)).toBe(sameNights)
        const rebuilt = setOf(...[...a.model].reverse())
        expect(a.bitmap.equals(rebuilt)).toBe(true)
        expect(rebuilt.equals(a.bitmap)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a clone is equal and independent', () => {
    fc.assert(
      fc.property(edits, edits, (before, after) => {
        const { bitmap, model } = build(before)
        const clone = bitmap.clone()
        expect(clone.equals(bitmap)).toBe(true)
        for (const { kind, from, length } of after) {
          if (kind === 'set') clone.setRange(asNight(from), asNight(from + length))
          else clone.clearRange(asNight(from), asNight(from + length))
        }
        expect(bitmap.count()).toBe(model.size)
        const sequel = build([...before, ...after])
        expect(clone.equals(sequel.bitmap)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('word boundaries', () => {
  test.each([
    [0, 32],
    [0, 31],
    [0, 33],
    [31, 32],
    [31, 33],
    [32, 33],
    [1, 32],
    [1, 64],
    [0, 64],
    [31, 97],
    [-1, 1],
    [-32, 0],
    [-33, 65],
  ])('a range from %d to %d of the border holds those nights and no neighbours', (start, end) => {
    const from = asNight(BORDER + start)
    const to = asNight(BORDER + end)
    const bitmap = new NightBitmap()
    bitmap.setRange(from, to)
    expect(bitmap.count()).toBe(end - start)
    expect([bitmap.has(asNight(from - 1)), bitmap.has(from), bitmap.has(asNight(to - 1)), bitmap.has(to)]).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(bitmap.firstFreeFrom(from)).toBe(to)
    expect(bitmap.firstIn(asNight(from - 100), asNight(to + 100))).toBe(from)
    expect(bitmap.anyIn(asNight(from - 100), from)).toBe(false)
    expect(bitmap.anyIn(to, asNight(to + 100))).toBe(false)
    bitmap.clearRange(from, to)
    expect(bitmap.isEmpty()).toBe(true)
  })
})

describe('growth', () => {
  test('keeps existing nights, in both directions', () => {
    const bitmap = setOf(BORDER)
    bitmap.setRange(asNight(BORDER + 1_000), asNight(BORDER + 1_001))
    bitmap.setRange(asNight(BORDER - 1_000), asNight(BORDER - 999))
    bitmap.setRange(NIGHT_MAX, asNight(NIGHT_MAX + 1))
    bitmap.setRange(NIGHT_MIN, asNight(NIGHT_MIN + 1))
    expect(bitmap.nightsIn(NIGHT_MIN, asNight(NIGHT_MAX + 1))).toEqual([
      NIGHT_MIN,
      BORDER - 1_000,
      BORDER,
      BORDER + 1_000,
      NIGHT_MAX,
    ] as Night[])
  })

  test('accepts a cleaning block past the last accepted date, and rejects a night that only a bug can produce', () => {
    expect(setOf(NIGHT_MAX + 30).has(asNight(NIGHT_MAX + 30))).toBe(true)
    expect(() => setOf(-1)).toThrow('Cannot hold a night')
    expect(() => setOf(65_536)).toThrow('Cannot hold a night')
    expect(setOf(0, 65_535).count()).toBe(2)
  })

  test('questions outside the span do not grow it', () => {
    const bitmap = setOf(BORDER)
    expect(bitmap.has(asNight(-5))).toBe(false)
    expect(bitmap.has(asNight(1_000_000))).toBe(false)
    expect(bitmap.firstFreeFrom(asNight(1_000_000))).toBe(asNight(1_000_000))
    bitmap.clearRange(asNight(-5), asNight(1_000_000))
    expect(bitmap.isEmpty()).toBe(true)
  })
})

describe('empty ranges', () => {
  test('from >= to sets, clears and finds nothing', () => {
    const bitmap = setOf(BORDER, BORDER + 1, BORDER + 2)
    for (const [from, to] of [
      [BORDER, BORDER],
      [BORDER + 2, BORDER],
      [BORDER + 200, BORDER - 200],
    ] as const) {
      bitmap.setRange(asNight(from), asNight(to))
      bitmap.clearRange(asNight(from), asNight(to))
      expect(bitmap.anyIn(asNight(from), asNight(to))).toBe(false)
      expect(bitmap.firstIn(asNight(from), asNight(to))).toBeNull()
      expect(bitmap.nightsIn(asNight(from), asNight(to))).toEqual([])
      expect(unionNightsIn(bitmap, bitmap, asNight(from), asNight(to))).toEqual([])
      forEachRunInUnion(bitmap, bitmap, asNight(from), asNight(to), () => {
        throw new Error('visited a night of an empty range')
      })
    }
    expect(bitmap.count()).toBe(3)
  })
})
