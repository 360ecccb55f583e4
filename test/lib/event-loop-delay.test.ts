import { expect, test } from 'bun:test'
import type { Clock } from '../../src/lib/clock.ts'
import { EventLoopDelay } from '../../src/lib/measures.ts'
import { FakeClock } from '../support/fake-clock.ts'

test('a loop that is free is sampled ten times a second, with no delay', async () => {
  const clock = new FakeClock()
  const delay = new EventLoopDelay(clock)
  delay.start()
  await clock.advance(1_000)
  const { counts, sum } = delay.read()
  expect([counts[0], counts.reduce((all, count) => all + count), sum]).toEqual([10, 10, 0])
})

test('a loop that was busy for 300 ms is counted as 300 ms late, and sampled on', () => {
  let now = 0
  let fire = () => {}
  const clock: Clock = {
    now: () => 0,
    monotonicMs: () => now,
    after: (_, task) => {
      fire = task
      return () => {}
    },
  }
  const delay = new EventLoopDelay(clock)
  delay.start()
  now = 400
  fire()
  now = 500
  fire()
  const { bounds, counts, sum } = delay.read()
  expect(sum).toBe(300)
  expect([counts[bounds.indexOf(500)], counts[0]]).toEqual([1, 1])
})
