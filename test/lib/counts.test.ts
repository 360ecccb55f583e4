import { expect, test } from 'bun:test'
import { AssertionError } from '../../src/lib/assert.ts'
import { Counts } from '../../src/lib/counts.ts'

test('each key has its own count, and `total` is that of all', () => {
  const counts = new Counts<string>()
  expect([counts.add('a'), counts.add('a'), counts.add('b', 5), counts.add('a', -1)]).toEqual([1, 2, 5, 1])
  expect([counts.of('a'), counts.of('b'), counts.of('c'), counts.total]).toEqual([1, 5, 0, 6])
})

test('a key that is back at 0 counts from there', () => {
  const counts = new Counts<number | null>()
  counts.add(null, 2)
  expect(counts.add(null, -2)).toBe(0)
  expect([counts.of(null), counts.total]).toEqual([0, 0])
  expect(counts.add(null)).toBe(1)
})

test('no count goes below 0, and what is refused changes nothing', () => {
  const counts = new Counts<string>()
  counts.add('a')
  expect(() => counts.add('a', -2)).toThrow(AssertionError)
  expect(() => counts.add('b', -1)).toThrow('Cannot count -1: the key would have -1')
  expect([counts.of('a'), counts.of('b'), counts.total]).toEqual([1, 0, 1])
})
