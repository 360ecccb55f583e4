import { describe, expect, test } from 'bun:test'
import { requestIdOf } from '../../src/http/request.ts'

const made = (header: string | null) => requestIdOf(header, (prefix) => `${prefix}_new`)

describe("the caller's request id is taken when it is", () => {
  test.each([
    ['one character', 'a'],
    ['128 characters', 'x'.repeat(128)],
    ['a UUID', '0199a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5b'],
    ['a trace parent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    ['base64', 'q83vEjRWeJA+/w=='],
    ['dotted, with colons and underscores', 'svc.eu_1:4711'],
  ])('%s', (_, id) => {
    expect(made(id)).toBe(id)
  })
})

describe('a new one is made for', () => {
  test.each<[string, string | null]>([
    ['none', null],
    ['an empty one', ''],
    ['129 characters', 'x'.repeat(129)],
    ['a blank inside', 'a b'],
    ['two headers in one', 'a, b'],
    ['a line end', 'a\n'],
    ['a carriage return', 'a\r\nSet-Cookie: b=c'],
    ['a NUL', 'a\u0000'],
    ['a quote', 'a"b'],
    ['markup', '<script>'],
    ['a letter beyond ASCII', 'ä'],
  ])('%s', (_, id) => {
    expect(made(id)).toBe('req_new')
  })
})
