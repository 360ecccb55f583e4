import { expect, test } from 'bun:test'
import { SharedValues } from '../../../src/core/journal/fields.ts'

test('equal values become the first of them; those with members in another order do not', () => {
  const values = new SharedValues<object>(10)
  const first = values.shared({ a: 1, b: 2 })
  expect(values.shared({ a: 1, b: 2 })).toBe(first)
  expect(Object.keys(values.shared({ b: 2, a: 1 }))).toEqual(['b', 'a'])
})

test('no more values are kept than allowed', () => {
  const values = new SharedValues<readonly number[]>(2)
  const first = values.shared([1])
  values.shared([2])
  values.shared([3])
  const again = [1]
  expect(values.shared(again)).toBe(again)
  expect(first).toEqual([1])
})
