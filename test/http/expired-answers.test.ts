import { describe, expect, test } from 'bun:test'
import { expiredAnswers } from '../../src/http/expired-answers.ts'
import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'

const START = Date.UTC(2027, 0, 2)

function openDeletion(counts: (number | Error)[]) {
  const clock = new FakeClock(START)
  const requests: { notAfter: number; limit: number }[] = []
  const failures: unknown[] = []
  const expired = expiredAnswers({
    clock,
    deleteExpired: async (what) => {
      requests.push(what)
      const next = counts.shift() ?? 0
      if (next instanceof Error) throw next
      return next
    },
    onFailure: (error) => failures.push(error),
  })
  return { clock, requests, failures, expired }
}

describe('expired answers', () => {
  test('are deleted at start and every 10 minutes: those that are 24 hours old', async () => {
    const { clock, requests, expired } = openDeletion([])
    expired.start()
    await clock.advance(599_999)
    expect(requests).toEqual([{ notAfter: START - DAY_MS, limit: 1_000 }])
    await clock.advance(1)
    expect(requests.map(({ notAfter }) => notAfter - START)).toEqual([-DAY_MS, 600_000 - DAY_MS])
  })

  test('are deleted 1,000 at a time until there are fewer', async () => {
    const { clock, requests, expired } = openDeletion([1_000, 1_000, 999])
    expired.start()
    await clock.advance(10_000)
    expect(requests).toHaveLength(3)
  })

  test('are no more because the clock is set forward', async () => {
    const { clock, requests, expired } = openDeletion([])
    expired.start()
    await clock.advance(1)
    clock.jumpWall(30 * HOUR_MS)
    await clock.advance(599_999)
    clock.jumpWall(-31 * HOUR_MS)
    await clock.advance(600_000)
    expect(requests.map(({ notAfter }) => notAfter + DAY_MS - START)).toEqual([0, 600_000, 1_200_000 - HOUR_MS])
  })

  test('that could not be deleted are reported and left for the next round', async () => {
    const { clock, requests, failures, expired } = openDeletion([new Error('no database')])
    expired.start()
    await clock.advance(600_000)
    expect(failures).toHaveLength(1)
    expect(requests).toHaveLength(2)
  })

  test('are left alone after stop', async () => {
    const { clock, requests, expired } = openDeletion([1_000, 1_000])
    expired.start()
    await settle()
    const stopped = expired.stop()
    await clock.advance(HOUR_MS)
    await stopped
    expect(requests).toHaveLength(1)
    expect(clock.nextTimerIn).toBeNull()
  })
})
