import { describe, expect, test } from 'bun:test'
import { AssertionError, assert, unreachable } from '../../src/lib/assert.ts'

describe('assert', () => {
  test('passes if true and throws the message if false', () => {
    assert(1, 'unused')
    for (const value of [false, 0, '', null, undefined, Number.NaN]) {
      expect(() => assert(value, 'Cannot flush: a flush is in flight')).toThrow(AssertionError)
    }
    expect(() => assert(false, 'Cannot flush: a flush is in flight')).toThrow('Cannot flush: a flush is in flight')
  })

  test('unreachable names the value that no case was written for', () => {
    expect(() => unreachable({ kind: 'new' } as never)).toThrow('unexpected value {"kind":"new"}')
    expect(() => unreachable(undefined as never)).toThrow('unexpected value undefined')
    expect(() => unreachable(1n as never)).toThrow('unexpected value 1')
  })
})
