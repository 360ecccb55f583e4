import { describe, expect, test } from 'bun:test'
import { EntityTags, holdsTag, ifMatchOf } from '../../src/http/answer.ts'

const TAG = '"abc"'

describe('If-None-Match (RFC 9110, section 13.1.2)', () => {
  test.each([
    TAG,
    'W/"abc"',
    '*',
    ' * ',
    '"x", "abc"',
    '"x","abc","y"',
    '"x" , W/"abc"\t,"y"',
    // A list may have empty elements, and a tag a comma or a space that is not one.
    ', "abc",,',
    '"x,\u00e9", "abc"',
  ])('%s holds "abc"', (header) => {
    expect(holdsTag(header, TAG)).toBe(true)
  })
  test.each([
    null,
    '',
    'abc',
    '"ABC"',
    '"x"',
    '"x, "abc"',
    '"abc',
    'w/"abc"',
    'W/ "abc"',
    '"abc" "x"',
    '*, "abc"',
    '"x,"abc""',
    '"a b", "abc"',
  ])('%p does not', (header) => {
    expect(holdsTag(header, TAG)).toBe(false)
  })
})

describe('If-Match', () => {
  test('without the header, and with *, any tag passes', () => {
    expect([ifMatchOf(null), ifMatchOf('*'), ifMatchOf(' *')]).toEqual([
      { kind: 'any' },
      { kind: 'any' },
      { kind: 'any' },
    ])
  })
  test('a list of tags, without W/', () => {
    expect(ifMatchOf('W/"a", "b,c",')).toEqual({ kind: 'tags', tags: ['"a"', '"b,c"'] })
    expect(ifMatchOf('""')).toEqual({ kind: 'tags', tags: ['""'] })
  })
  test.each(['', ' ', ',', 'abc', '"a', '"a" "b"', '"a", *', '"a" b', '1', "'a'", 'w/"a"', '"a\u0001"'])(
    '%p is malformed',
    (header) => {
      expect(ifMatchOf(header)).toEqual({ kind: 'malformed' })
    },
  )
  test.each([
    ['tags without an end', `${'"a",'.repeat(200_000)}"`],
    ['commas and blanks before the first tag', `${',\t '.repeat(200_000)}x`],
    ['commas and blanks after it', `"a"${',  '.repeat(200_000)}x`],
    ['blanks on both sides of the commas', `"a"${' , \t'.repeat(200_000)}"`],
    ['blanks alone', `"a"${' '.repeat(600_000)}x`],
  ])('a long list of %s is read in linear time (X1)', (_, header) => {
    // Quadratic, it would take minutes; exponential, years.
    expect(ifMatchOf(header)).toEqual({ kind: 'malformed' })
    expect(holdsTag(header, TAG)).toBe(false)
  })
})

describe('tags', () => {
  test('are quoted text that a header may hold, the same for the same source', () => {
    const tags = new EntityTags(7n)
    expect(tags.of('units 1')).toMatch(/^"[0-9a-z]{1,13}"$/)
    expect(tags.of('units 1')).toBe(tags.of('units 1'))
    expect(holdsTag(tags.of('units 1'), tags.of('units 1'))).toBe(true)
  })
  test('differ by source and by process', () => {
    const made = new Set<string>()
    for (const seed of [1n, 2n, 2n ** 64n - 1n])
      for (let version = 0; version < 20_000; version++) made.add(new EntityTags(seed).of(`units ${version}`))
    expect(made.size).toBe(60_000)
  })
})
