import { expect, test } from 'bun:test'
import { ifMatchOf } from '../../src/http/if-match.ts'

test('If-Match is a version in double quotes', () => {
  expect(ifMatchOf(null)).toEqual({ kind: 'none' })
  expect(ifMatchOf('"1"')).toEqual({ kind: 'version', version: 1 })
  expect(ifMatchOf(' "999999999" ')).toEqual({ kind: 'version', version: 999_999_999 })
})

test.each(['', '3', '"0"', '"-1"', '"03"', '"1.0"', '"x"', '""', 'W/"3"', '"1", "2"', '*', '"9999999999"'])(
  'and nothing else: %s',
  (header) => {
    expect(ifMatchOf(header).kind).toBe('malformed')
  },
)
