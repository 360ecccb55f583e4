import { expect, test } from 'bun:test'
import { Histogram } from '../../src/lib/measures.ts'

test('a value is counted under the first bound that holds it: a bound holds itself', () => {
  const histogram = new Histogram([1, 10, 100])
  for (const value of [0, 1, 1.001, 10, 99, 100]) histogram.count(value)
  expect(histogram.read()).toEqual({ bounds: [1, 10, 100], counts: [2, 2, 2, 0], sum: 211.001 })
})

test('a value above the last bound is counted too', () => {
  const histogram = new Histogram([1])
  histogram.count(5_000)
  expect(histogram.read()).toEqual({ bounds: [1], counts: [0, 1], sum: 5_000 })
})

test('a reading stays as it was', () => {
  const histogram = new Histogram([1])
  const before = histogram.read()
  histogram.count(0)
  expect(before.counts).toEqual([0, 0])
})
