/** A plain body is not looked through: no value that cannot be stored may come out of one. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseJson } from '../../src/http/read-request.ts'

test.each([
  ['a number with an exponent that is too large', '{"a":1e999}'],
  ['a capital one', '{"a":1E999}'],
  ['one after a fraction', '{"a":[1.5e400]}'],
  ['a number of 310 digits', `{"a":${'9'.repeat(310)}}`],
  ['one with a sign and blanks around it', `[ -${'9'.repeat(309)} ]`],
  ['an escaped NUL', '{"a":"\\u0000"}'],
  ['an escaped NUL in a name', '{"\\u0000":1}'],
  ['an escaped lone surrogate', '{"a":"\\ud800"}'],
  ['a lone surrogate as it is', '{"a":"\ud800"}'],
  ['one in a name', '{"\udfff":1}'],
])('%s is refused', (_, text) => {
  expect(parseJson(text).kind).toBe('refused')
})

test.each([
  ['exponents that fit', '{"a":1e3,"b":-2.5E-3}', { a: 1_000, b: -0.0025 }],
  ['words with the letter e', '{"a":true,"b":false,"c":"1e999"}', { a: true, b: false, c: '1e999' }],
  ['long texts of digits', `{"a":"${'9'.repeat(400)}"}`, { a: '9'.repeat(400) }],
  ['characters beyond the first plane', '{"a":"😀 €"}', { a: '😀 €' }],
])('%s are read', (_, text, value) => {
  expect(parseJson(text)).toEqual({ kind: 'read', value })
})

test('whatever is read has finite numbers and texts that can be stored', () => {
  const parts = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    ':',
    ',',
    '1',
    '9',
    'e',
    'E',
    '.',
    '-',
    '\\u0000',
    '\\ud800',
    '\ud800',
    'a',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 30 }), (text) => {
      const read = parseJson(text.join(''))
      if (read.kind === 'read') expect(isStorable(read.value)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})

function isStorable(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([name, each]) => isStorable(name) && isStorable(each))
}
