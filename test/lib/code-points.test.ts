import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compareCodePoints, foldCase } from '../../src/lib/code-points.ts'

describe('compareCodePoints', () => {
  test('orders by code point, not by UTF-16 unit', () => {
    // U+FB01 comes before U+1F600, whose first UTF-16 unit is smaller.
    expect(['😀', 'ﬁ', 'z', 'Z', 'é', 'za', ''].toSorted(compareCodePoints)).toEqual([
      '',
      'Z',
      'z',
      'za',
      'é',
      'ﬁ',
      '😀',
    ])
  })
  test('is the order of the lists of code points', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(Math.sign(ofLists([...a], [...b])))
      }),
    )
  })
})

function ofLists(a: string[], b: string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i]?.codePointAt(0) ?? 0) - (b[i]?.codePointAt(0) ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

test('foldCase makes texts equal that differ only in case', () => {
  for (const [a, b] of [
    ['LISBON', 'lisbon'],
    ['Gießen', 'GIESSEN'],
    ['Αθήνας', 'ΑΘΉΝΑΣ'],
    ['São Paulo', 'SÃO PAULO'],
  ] as const)
    expect(foldCase(a)).toBe(foldCase(b))
  expect(foldCase('Sao Paulo')).not.toBe(foldCase('São Paulo'))
})
