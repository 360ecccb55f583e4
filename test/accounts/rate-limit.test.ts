import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { KeyCounters, RateLimiter } from '../../src/accounts/rate-limit.ts'
import { HOUR_MS } from '../../src/lib/clock.ts'
import { FakeClock } from '../support/fake-clock.ts'

function limiterAt(clock = new FakeClock()) {
  return { clock, limiter: new RateLimiter(clock) }
}

function passed(limiter: RateLimiter, { requests, limit }: { requests: number; limit: number }): number {
  let allowed = 0
  for (let i = 0; i < requests; i++) if (limiter.take('key_a', limit).allowed) allowed += 1
  return allowed
}

/** A manual clock, with fractions of a millisecond. */
class HandClock extends FakeClock {
  wall = Date.UTC(2027, 0, 1)
  monotonic = 0
  override now = () => this.wall
  override monotonicMs = () => this.monotonic
}

describe('a rolling minute', () => {
  test('of 600 concurrent requests exactly as many pass as the budget allows', () => {
    const { limiter } = limiterAt()
    expect(passed(limiter, { requests: 600, limit: 60 })).toBe(60)
  })

  test('a request counts for 60,000 ms: at 59,999 ms no other passes, at 60,000 ms one does', async () => {
    const { clock, limiter } = limiterAt()
    await clock.advance(1_000)
    passed(limiter, { requests: 60, limit: 60 })
    await clock.advance(59_999)
    expect(passed(limiter, { requests: 1, limit: 60 })).toBe(0)
    await clock.advance(1)
    expect(passed(limiter, { requests: 600, limit: 60 })).toBe(60)
  })

  test('a burst at the end of one minute leaves nothing for the beginning of the next', async () => {
    const { clock, limiter } = limiterAt()
    await clock.advance(59_990)
    expect(passed(limiter, { requests: 100, limit: 60 })).toBe(60)
    await clock.advance(20)
    expect(passed(limiter, { requests: 100, limit: 60 })).toBe(0)
  })

  test('several requests at once pass together or not at all; a refusal says when all of them would pass', async () => {
    const { clock, limiter } = limiterAt()
    for (let i = 0; i < 3; i++) {
      limiter.take('key_a', 5)
      await clock.advance(10_000)
    }
    expect(limiter.take('key_a', 5, null, 4)).toMatchObject({ allowed: false, remaining: 2, retryAfterS: 40 })
    expect(limiter.take('key_a', 5, null, 2)).toMatchObject({ allowed: true, remaining: 0, retryAfterS: 30 })
    await clock.advance(30_000)
    expect(limiter.take('key_a', 5)).toMatchObject({ allowed: true, remaining: 0 })
  })

  test('capacity returns one by one, as it was used', async () => {
    const { clock, limiter } = limiterAt()
    for (let i = 0; i < 3; i++) {
      limiter.take('key_a', 3)
      await clock.advance(10_000)
    }
    await clock.advance(29_999)
    const seen: boolean[] = []
    for (let i = 0; i < 3; i++) {
      seen.push(limiter.take('key_a', 3).allowed)
      await clock.advance(1)
      seen.push(limiter.take('key_a', 3).allowed, limiter.take('key_a', 3).allowed)
      await clock.advance(9_999)
    }
    expect(seen).toEqual([false, true, false, false, true, false, false, true, false])
  })

  test('refused requests do not count', async () => {
    const { clock, limiter } = limiterAt()
    limiter.take('key_a', 1)
    for (let i = 0; i < 59; i++) {
      await clock.advance(1_000)
      limiter.take('key_a', 1)
    }
    await clock.advance(1_000)
    expect(limiter.take('key_a', 1).allowed).toBe(true)
  })

  test('keys do not share a budget', () => {
    const { limiter } = limiterAt()
    expect(limiter.take('key_a', 1).allowed).toBe(true)
    expect(limiter.take('key_b', 1).allowed).toBe(true)
    expect(limiter.take('key_a', 1).allowed).toBe(false)
  })

  test('a jump of the wall clock does not affect the budget', () => {
    const { clock, limiter } = limiterAt()
    passed(limiter, { requests: 60, limit: 60 })
    clock.jumpWall(HOUR_MS)
    expect(limiter.take('key_a', 60).allowed).toBe(false)
    clock.jumpWall(-7_200_000)
    expect(limiter.take('key_a', 60).allowed).toBe(false)
  })
})

describe('a decision', () => {
  test('counts down, and says in wall-clock seconds, rounded up, when the oldest request leaves', async () => {
    const clock = new FakeClock(Date.UTC(2027, 0, 1) + 400)
    const { limiter } = limiterAt(clock)
    const resetAtS = Date.UTC(2027, 0, 1) / 1_000 + 61
    expect(limiter.take('key_a', 2)).toEqual({ allowed: true, limit: 2, remaining: 1, resetAtS, retryAfterS: 0 })
    await clock.advance(5_500)
    expect(limiter.take('key_a', 2)).toEqual({ allowed: true, limit: 2, remaining: 0, resetAtS, retryAfterS: 55 })
    expect(limiter.take('key_a', 2)).toEqual({ allowed: false, limit: 2, remaining: 0, resetAtS, retryAfterS: 55 })
  })

  test('asks for a wait of 60 s at first and 1 s at last', async () => {
    const { clock, limiter } = limiterAt()
    limiter.take('key_a', 1)
    expect(limiter.take('key_a', 1).retryAfterS).toBe(60)
    await clock.advance(59_999)
    expect(limiter.take('key_a', 1).retryAfterS).toBe(1)
  })
})

describe('a plan that changes', () => {
  test('to a higher limit lets more pass immediately', () => {
    const { limiter } = limiterAt()
    passed(limiter, { requests: 10, limit: 2 })
    expect(passed(limiter, { requests: 10, limit: 5 })).toBe(3)
  })

  test('to a lower limit asks for a wait until enough requests have left, not only the oldest', async () => {
    const { clock, limiter } = limiterAt()
    for (let i = 0; i < 5; i++) {
      limiter.take('key_a', 5)
      await clock.advance(1_000)
    }
    const refused = limiter.take('key_a', 2)
    expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfterS: 58 })
    await clock.advance(57_999)
    expect(limiter.take('key_a', 2).allowed).toBe(false)
    await clock.advance(1)
    expect(limiter.take('key_a', 2).allowed).toBe(true)
  })
})

describe('memory', () => {
  test('an idle key is gone within two minutes, an active one keeps its count', async () => {
    const { clock, limiter } = limiterAt()
    for (let i = 0; i < 1_000; i++) limiter.take(`key_${i}`, 60)
    for (let i = 0; i < 24; i++) {
      await clock.advance(5_001)
      limiter.take('key_busy', 60)
    }
    expect(limiter.keyCount).toBe(1)
    expect(limiter.take('key_busy', 60).remaining).toBe(60 - 13)
  })

  test.each([59_997.5, 59_998.5, 59_999.5, 60_000.5])(
    'a key used at %d ms is not forgotten within its minute',
    (used) => {
      const clock = new HandClock()
      const limiter = new RateLimiter(clock)
      const takeAt = (ms: number, keyId: string): boolean => {
        clock.monotonic = ms
        return limiter.take(keyId, 1).allowed
      }
      expect(takeAt(used, 'key_a')).toBe(true)
      const leaves = Math.ceil(used) + 60_000
      for (let ms = Math.ceil(used); ms < leaves; ms++) takeAt(ms, 'key_busy')
      expect(takeAt(leaves - 0.5, 'key_a')).toBe(false)
      expect(takeAt(leaves, 'key_a')).toBe(true)
    },
  )

  test('10,000,000 a minute are counted exactly, with one entry per millisecond', async () => {
    const { clock, limiter } = limiterAt()
    const limit = 10_000_000
    for (let ms = 0; ms < 1_000; ms++) {
      passed(limiter, { requests: 100, limit })
      await clock.advance(1)
    }
    expect(limiter.take('key_a', limit).remaining).toBe(limit - 100_001)
    await clock.advance(59_000)
    expect(limiter.take('key_a', limit).remaining).toBe(limit - 99_902)
  })
})

describe('against a list of timestamps', () => {
  type Step = { waitMs: number; requests: number; limit: number; key: string }
  const step = fc.record({
    waitMs: fc.oneof(
      fc.constantFrom(0, 1, 999, 1_000, 29_999, 30_000, 59_999, 60_000, 60_001, 120_002),
      fc.nat({ max: 5_000 }),
      fc.double({ min: 0, max: 61_000, noNaN: true }),
    ),
    requests: fc.integer({ min: 1, max: 12 }),
    limit: fc.oneof(
      { weight: 3, arbitrary: fc.constant(20) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 40 }) },
    ),
    key: fc.constantFrom('key_a', 'key_b'),
  })

  /**
   * Slow and simple: a list of all admitted requests, searched each time. Exact to the millisecond, never in the
   * caller's favor.
   */
  class NaiveLimiter {
    readonly #passed: { key: string; at: number }[] = []

    take(key: string, limit: number, precise: number) {
      const leaving = this.#passed
        .filter((request) => request.key === key && Math.floor(precise) - request.at < 60_000)
        .map(({ at }) => at + 60_000)
      const allowed = leaving.length < limit
      if (allowed) {
        this.#passed.push({ key, at: Math.ceil(precise) })
        leaving.push(Math.ceil(precise) + 60_000)
      }
      const free = limit - leaving.length
      const freeAt = free > 0 ? Math.floor(precise) : (leaving[-free] ?? Number.NaN)
      return {
        allowed,
        limit,
        remaining: Math.max(0, free),
        resetsAfterMs: (leaving[0] ?? Number.NaN) - Math.floor(precise),
        retryAfterS: Math.ceil((freeAt - Math.floor(precise)) / 1_000),
      }
    }
  }

  test('every decision is the same, for any arrivals, keys and limits', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps: Step[]) => {
        const clock = new HandClock()
        const limiter = new RateLimiter(clock)
        const naive = new NaiveLimiter()
        for (const { waitMs, requests, limit, key } of steps) {
          clock.monotonic += waitMs
          clock.wall += Math.round(waitMs)
          for (let i = 0; i < requests; i++) {
            const { resetsAfterMs, ...expected } = naive.take(key, limit, clock.monotonic)
            const resetAtS = Math.ceil((clock.wall + resetsAfterMs) / 1_000)
            expect(limiter.take(key, limit)).toEqual({ ...expected, resetAtS })
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  test('no window of 60 s admits more than the limit, and one request passes after Retry-After seconds', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps: Step[]) => {
        const clock = new HandClock()
        const limiter = new RateLimiter(clock)
        const passed: number[] = []
        for (const { waitMs, requests } of steps) {
          clock.monotonic += waitMs
          for (let i = 0; i < requests; i++) {
            const { allowed, retryAfterS } = limiter.take('key_a', 7)
            if (allowed) passed.push(clock.monotonic)
            else if (i === requests - 1) {
              clock.monotonic += retryAfterS * 1_000
              expect(limiter.take('key_a', 7).allowed).toBe(true)
              passed.push(clock.monotonic)
            }
          }
        }
        for (let i = 7; i < passed.length; i++) {
          expect((passed[i] ?? 0) - (passed[i - 7] ?? 0)).toBeGreaterThanOrEqual(60_000)
        }
      }),
      { numRuns: 500 },
    )
  })
})

test('what is kept with a key is looked up again when the limiter has put its counts away', async () => {
  const { clock, limiter } = limiterAt()
  const kept = new KeyCounters('agc_a')
  limiter.take('key_a', 2, kept)
  // Used by others alone, twice: the counts of key_a are gone.
  for (let n = 0; n < 2; n++) {
    await clock.advance(61_000)
    limiter.take('key_b', 2)
  }
  expect(limiter.take('key_a', 2, kept).allowed).toBe(true)
  expect(limiter.take('key_a', 2).allowed).toBe(true)
  expect(limiter.take('key_a', 2, kept).allowed).toBe(false)
})
