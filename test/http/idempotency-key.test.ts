import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { idempotencyKeyOf, requestHashOf } from '../../src/http/idempotent-writes.ts'

describe('an Idempotency-Key', () => {
  test('that is missing is none', () => {
    expect(idempotencyKeyOf(null)).toEqual({ kind: 'none' })
  })

  test.each<[string, string, string]>([
    ['bare', '8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['quoted', '"8e03978e-40d5"', '8e03978e-40d5'],
    ['quoted, with blanks inside', '"order 4711, twice"', 'order 4711, twice'],
    ['quoted, with escapes', String.raw`"a\"b\\c"`, String.raw`a"b\c`],
    ['bare, with a backslash that escapes nothing', String.raw`a\b`, String.raw`a\b`],
    ['with blanks around it', '  abc\t', 'abc'],
    ['of 1 character', 'a', 'a'],
    ['of 255 characters', 'k'.repeat(255), 'k'.repeat(255)],
    ['of 255 characters, quoted', `"${'k'.repeat(255)}"`, 'k'.repeat(255)],
    ['of 255 characters, each escaped', `"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
  ])('%s is read', (_, header, key) => {
    expect(idempotencyKeyOf(header)).toEqual({ kind: 'key', key })
  })

  test.each<[string, string]>([
    ['empty', ''],
    ['only blanks', '   '],
    ['quoted and empty', '""'],
    ['of 256 characters', 'k'.repeat(256)],
    ['of 256 characters, quoted', `"${'k'.repeat(256)}"`],
    ['without its end quote', '"abc'],
    ['without its first quote', 'abc"'],
    ['a lone quote', '"'],
    ['with a quote inside', 'a"b'],
    ['whose end quote is escaped', String.raw`"abc\"`],
    ['with an escape that is none', String.raw`"a\nb"`],
    ['with parameters', '"abc";a=1'],
    ['two headers in one', 'abc, def'],
    ['two quoted headers in one', '"abc", "def"'],
    ['bare with a blank', 'order 4711'],
    ['with a letter beyond ASCII', 'schlüssel'],
    ['quoted with a letter beyond ASCII', '"schlüssel"'],
    ['with a control character', 'a\u0007b'],
    ['quoted with a line end', '"a\nb"'],
    ['ending in a line end inside quotes', '"ab"\n"'],
  ])('%s is malformed, and the answer says so', (_, header) => {
    expect(idempotencyKeyOf(header)).toEqual({
      kind: 'malformed',
      message: expect.stringMatching(/^Idempotency-Key must be /),
    })
  })

  test('is the same quoted and bare', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!#-~]{1,255}$/), (key) => {
        const quoted = `"${key.replaceAll('\\', '\\\\')}"`
        expect(idempotencyKeyOf(quoted)).toEqual(idempotencyKeyOf(key))
      }),
    )
  })
})

describe('the hash of a request', () => {
  const hash = requestHashOf('POST', '/partner/v1/bookings', '{"a":1}')

  test('is 64 hex digits, and the same for the same request', () => {
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(requestHashOf('POST', '/partner/v1/bookings', '{"a":1}')).toBe(hash)
  })
  test.each([
    ['method', 'PUT', '/partner/v1/bookings', '{"a":1}'],
    ['path', 'POST', '/partner/v1/bookings/bkg_1/cancel', '{"a":1}'],
    ['body', 'POST', '/partner/v1/bookings', '{"a":2}'],
  ])('changes with the %s', (_, method, path, body) => {
    expect(requestHashOf(method, path, body)).not.toBe(hash)
  })
})
