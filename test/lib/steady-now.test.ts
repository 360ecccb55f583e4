import { expect, test } from 'bun:test'
import { DAY_MS, steadyNow } from '../../src/lib/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('goes with the wall clock, but never ahead of the time that has passed', async () => {
  const clock = new FakeClock(1_000_000)
  const now = steadyNow(clock)
  await clock.advance(5_000)
  expect(now()).toBe(1_005_000)
  clock.jumpWall(DAY_MS)
  expect(now()).toBe(1_005_000)
  await clock.advance(5_000)
  expect(now()).toBe(1_010_000)
  clock.jumpWall(-DAY_MS)
  expect(now()).toBe(1_010_000)
  clock.jumpWall(-1_000)
  expect(now()).toBe(1_009_000)
})
