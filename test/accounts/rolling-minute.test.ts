import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { RollingMinute } from '../../src/accounts/rate-limit.ts'

test('counts what a list of the last 60,000 ms counts, however often the ring wraps and grows', () => {
  const gap = fc.oneof({ weight: 8, arbitrary: fc.nat({ max: 40 }) }, { weight: 2, arbitrary: fc.nat({ max: 8_000 }) })
  fc.assert(
    fc.property(fc.array(gap, { minLength: 200, maxLength: 600 }), (gaps) => {
      const minute = new RollingMinute()
      let list: number[] = []
      let now = 0
      for (const ms of gaps) {
        now += ms
        minute.forget(now)
        list = list.filter((at) => now - at < 60_000)
        minute.count(now)
        list.push(now)
        expect(minute.counted).toBe(list.length)
        for (const n of [1, list.length >> 1, list.length].filter((n) => n > 0)) {
          expect(minute.leavesAt(n)).toBe((list[n - 1] ?? Number.NaN) + 60_000)
        }
      }
    }),
    { numRuns: 50 },
  )
})

test('is empty after a minute without requests', () => {
  const minute = new RollingMinute()
  for (let ms = 0; ms < 1_000; ms++) minute.count(ms)
  minute.forget(60_998)
  expect(minute.counted).toBe(1)
  minute.forget(60_999)
  expect(minute.counted).toBe(0)
})

test('uses an entry per millisecond, not per request, and never more than a window has', () => {
  const minute = new RollingMinute()
  for (let i = 0; i < 100_000; i++) minute.count(Math.floor(i / 10_000))
  expect(minute.capacity).toBe(16)
  for (let ms = 10; ms < 200_000; ms++) {
    minute.forget(ms)
    minute.count(ms)
  }
  expect(minute.capacity).toBe(65_536)
})
