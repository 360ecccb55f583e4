import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { monthOf, storageMonth } from '../../../src/core/journal/shard.ts'

describe('the month of an entry', () => {
  test('is the month of its time, UTC', () => {
    expect(monthOf(Date.UTC(2027, 0, 31, 23, 59, 59, 999))).toBe('2027-01-01')
    expect(monthOf(Date.UTC(2027, 1, 1))).toBe('2027-02-01')
  })

  for (const [what, at, stored] of [
    ['its own while the clock runs forward', Date.UTC(2027, 4, 9), '2027-05-01'],
    ['that of the entry before it when the clock has jumped back', Date.UTC(2027, 2, 9), '2027-04-01'],
    ['the newest that has a partition when the clock has jumped ahead', Date.UTC(2031, 0, 1), '2027-06-01'],
  ] as const) {
    test(`is ${what}`, () => {
      expect(storageMonth(at, { last: '2027-04-01', newest: '2027-06-01' })).toBe(stored)
    })
  }

  test('never falls and never exceeds the newest, whatever the clock does', () => {
    const instants = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) })
    const property = fc.property(fc.array(instants), instants, (times, newestAt) => {
      const newest = monthOf(newestAt)
      let last = monthOf(Math.min(newestAt, ...times))
      for (const at of times) {
        const month = storageMonth(at, { last, newest })
        expect(month >= last && month <= newest).toBe(true)
        last = month
      }
    })
    fc.assert(property)
  })
})
