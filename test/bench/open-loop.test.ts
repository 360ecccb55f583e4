/** What the benchmark of latencies at a fixed rate counts, without a server. */
import { describe, expect, test } from 'bun:test'
import { highestRate } from '../../bench/support/rate-search.ts'
import { Arrivals, OpenLoop } from '../../src/lib/open-loop.ts'

const MS = 1e6

/** Due once every millisecond, from the first one on. */
function everyMs(): { next(): number } {
  let n = 0
  return { next: () => n++ * MS }
}

interface Outcome {
  readonly loop: OpenLoop
  /** When each request was sent, by when it was due. Milliseconds. */
  readonly sent: Map<number, number>
}

/** One connection whose answers take no time, except while the server stalls. @param turnMs how often the generator looks at its clock */
function served({ untilMs = 100, fromMs = 0, stall = [0, 0], turnMs = 1 }): Outcome {
  const loop = new OpenLoop(everyMs(), { fromNs: fromMs * MS, untilNs: untilMs * MS })
  const sent = new Map<number, number>()
  const [stallMs = 0, answersMs = 0] = stall
  let busy: number | null = null
  for (let nowMs = 0; nowMs <= untilMs + 50; nowMs += turnMs) {
    while (loop.advance(nowMs * MS));
    while (true) {
      if (busy !== null && nowMs >= stallMs && nowMs < answersMs) break
      if (busy !== null) loop.answered(busy, nowMs * MS)
      busy = loop.send()
      if (busy === null) break
      sent.set(busy / MS, nowMs)
    }
  }
  return { loop, sent }
}

describe('a latency at a fixed rate', () => {
  test('begins when the request was due, so a stall of the server is in all the requests that it has delayed', () => {
    const { loop, sent } = served({ stall: [20, 40] })
    // Only the one in flight when the stall begins is sent then: in a closed loop, the other nineteen would not exist.
    expect(sent.get(20)).toBe(20)
    expect([21, 30, 39].map((dueMs) => sent.get(dueMs))).toEqual([40, 40, 40])
    const figures = loop.end(1_000 * MS)
    expect(figures).toMatchObject({ requests: 100, unanswered: 0, p50Ms: 0, p99Ms: 20 })
  })

  test('of a request that is never answered counts until the end of the run', () => {
    const figures = served({ stall: [90, 1_000] }).loop.end(200 * MS)
    expect(figures).toMatchObject({ requests: 100, unanswered: 10, p50Ms: 0, p99Ms: 110 })
  })

  test('counts by when the request was due: not in the warm-up, and also after the window has ended', () => {
    const figures = served({ fromMs: 50, stall: [95, 120] }).loop.end(1_000 * MS)
    expect(figures).toMatchObject({ requests: 50, unanswered: 0, p99Ms: 25 })
  })

  test('shows how late the generator was itself, whether or not a connection was free', () => {
    expect(served({ turnMs: 5 }).loop.end(200 * MS)).toMatchObject({ lateP99Ms: 4, lateMaxMs: 4, p99Ms: 4 })
    expect(served({ stall: [20, 40] }).loop.end(200 * MS)).toMatchObject({ lateP99Ms: 0, lateMaxMs: 0 })
  })

  test('does not show how late it was during the warm-up', () => {
    const loop = new OpenLoop(everyMs(), { fromNs: 50 * MS, untilNs: 100 * MS })
    for (const nowMs of [40, ...Array.from({ length: 50 }, (_, i) => 50 + i)]) while (loop.advance(nowMs * MS));
    expect(loop.end(100 * MS)).toMatchObject({ requests: 50, lateMaxMs: 0 })
  })

  test('is of requests that all are sent, in the order in which they were due, however many wait', () => {
    const { loop, sent } = served({ untilMs: 40_000, stall: [0, 30_000] })
    expect([...sent.keys()]).toEqual(Array.from({ length: 40_000 }, (_, dueMs) => dueMs))
    expect(loop.open).toBe(0)
  })
})

describe('arrivals', () => {
  const times = (seed: number, count: number, perSecond = 1_000) => {
    const arrivals = new Arrivals({ perSecond, seed })
    return Array.from({ length: count }, () => arrivals.next())
  }

  test('come at the rate that was asked for, and are the same for the same seed', () => {
    const last = times(7, 100_000).at(-1) ?? 0
    expect(last / 1e9).toBeCloseTo(100, 0)
    expect(times(7, 100)).toEqual(times(7, 100))
    expect(times(8, 100)).not.toEqual(times(7, 100))
  })

  test('are as of independent clients: about 1 − 1/e of the gaps are below the mean, and no time goes back', () => {
    const at = times(3, 50_000)
    const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0))
    expect(gaps.every((gap) => gap > 0)).toBe(true)
    expect(gaps.filter((gap) => gap < MS).length / gaps.length).toBeCloseTo(1 - 1 / Math.E, 2)
  })
})

describe('the highest rate', () => {
  const range = { low: 0, high: 1_000, steps: 10 }

  test.each([0.4, 300, 617, 999.9])('that holds is found to one in 500: %d', async (limit) => {
    const tried: number[] = []
    const found = await highestRate(range, async (rate) => {
      tried.push(rate)
      return rate <= limit
    })
    expect(found).toBeLessThanOrEqual(limit)
    expect(found).toBeGreaterThan(limit - 2)
    expect(tried).toHaveLength(range.steps)
  })

  test('is the highest of the range if that holds, found at once', async () => {
    const tried: number[] = []
    expect(await highestRate(range, async (rate) => tried.push(rate) > 0)).toBe(1_000)
    expect(tried).toEqual([1_000])
  })

  test('is the lowest of the range if none holds', async () => {
    expect(await highestRate(range, async () => false)).toBe(0)
  })

  test('is unknown when a step could not be measured', async () => {
    expect(await highestRate(range, async (rate) => (rate < 1_000 ? null : false))).toBeNull()
  })
})
