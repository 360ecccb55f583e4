import { describe, expect, test } from 'bun:test'
import { type BenchResult, Figures, isLate, warningsOf } from '../../../src/cli/bench/figures.ts'

const MS = 1e6
const WIRES = { availability: 'GET /availability', quote: 'POST /quote' }
const OK = { kind: 'answered', outcome: '200' } as const

/** `latencies` of one operation, one due each 10 ms. */
function measured(latencies: readonly number[]): ReturnType<Figures['end']> {
  const figures = new Figures(WIRES)
  for (const [i, ms] of latencies.entries()) {
    const dueNs = i * 10 * MS
    figures.due(dueNs)
    figures.ended('availability', { dueNs, nowNs: dueNs + ms * MS }, OK)
  }
  return figures.end()
}
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

describe('percentiles', () => {
  test('are exact, and left out where there are too few requests for them', () => {
    expect(measured(upTo(1_000)).total).toMatchObject({
      p50Ms: 501,
      p90Ms: 901,
      p99Ms: 991,
      p999Ms: 1_000,
      maxMs: 1_000,
    })
    expect(measured(upTo(999)).total).toMatchObject({ p99Ms: 990, p999Ms: null, maxMs: 999 })
    expect(measured(upTo(99)).total).toMatchObject({ p90Ms: 90, p99Ms: null, maxMs: 99 })
    expect(measured([5]).total).toMatchObject({ p50Ms: 5, p90Ms: null, maxMs: 5 })
    expect(measured([]).total).toMatchObject({ p50Ms: null, maxMs: null, measured: 0, curve: [] })
  })

  test('make a curve that rises and ends before the share that no request stands for', () => {
    const { curve } = measured(upTo(1_000)).total
    expect(curve[0]).toEqual([0, 1])
    expect(curve.at(-1)?.[0]).toBeLessThanOrEqual(0.999)
    expect(curve.every(([, ms], i) => ms >= (curve[i - 1]?.[1] ?? 0))).toBe(true)
  })
})

describe('what counts', () => {
  test('a failed request has no latency, and is counted by its code', () => {
    const figures = new Figures(WIRES)
    const at = { dueNs: 0, nowNs: 90 * MS }
    figures.ended('quote', at, { kind: 'failed', outcome: '500 INTERNAL' })
    figures.ended('quote', { dueNs: 0, nowNs: 3 * MS }, { kind: 'answered', outcome: '422 MIN_STAY' })
    const { total, operations, timeline } = figures.end()
    expect(total).toMatchObject({ measured: 1, failed: 1, maxMs: 3 })
    expect(operations[1]?.outcomes).toEqual({ '422 MIN_STAY': 1, '500 INTERNAL': 1 })
    expect(operations[0]).toMatchObject({ operation: 'availability', measured: 0 })
    expect(timeline[0]).toMatchObject({ answered: 1, failed: 1, p99Ms: 3 })
  })

  test('a request that is never answered or never sent has waited until then at least', () => {
    const figures = new Figures(WIRES)
    figures.ended('quote', { dueNs: 0, nowNs: 10_000 * MS }, { kind: 'unanswered' })
    figures.unsent({ dueNs: 1_000 * MS, nowNs: 13_000 * MS })
    const { total, unsent } = figures.end()
    expect(total).toMatchObject({
      measured: 2,
      failed: 2,
      maxMs: 12_000,
      outcomes: { 'no answer': 1, 'never sent': 1 },
    })
    expect(unsent).toBe(1)
  })

  test('a latency belongs to the second in which the request was due, an answer to the one in which it came', () => {
    const figures = new Figures(WIRES)
    figures.due(0)
    figures.ended('quote', { dueNs: 0, nowNs: 2_500 * MS }, OK)
    expect(figures.end().timeline).toMatchObject([
      { second: 0, due: 1, answered: 0, p50Ms: 2_500 },
      { second: 1, due: 0, answered: 0, p50Ms: null },
      { second: 2, due: 0, answered: 1, p50Ms: null },
    ])
  })
})

describe('warnings', () => {
  const figures = (latencies: readonly number[], generator: Partial<BenchResult['generator']> = {}) => ({
    ...measured(latencies),
    generator: { lateP99Ms: 0.1, lateMaxMs: 1, waited: 0, ...generator },
    end: null,
    plan: { perSecond: 50, durationS: 30, connections: 32, mix: 'reads', requestsMax: 1_800 } as const,
    cleanup: null,
    leftOut: [],
  })

  test('there are none when nothing is wrong', () => {
    expect(warningsOf(figures(upTo(200)))).toEqual([])
  })

  test('say that a late generator cannot be trusted, unless the answers took so long that it does not matter', () => {
    const quick = figures(
      Array.from({ length: 200 }, () => 3),
      { lateP99Ms: 2 },
    )
    expect(isLate(quick)).toBe(true)
    expect(warningsOf(quick)[0]).toContain('Do not trust these figures: the load generator itself was 2.0 ms late')
    expect(
      isLate(
        figures(
          Array.from({ length: 200 }, () => 30),
          { lateP99Ms: 2 },
        ),
      ),
    ).toBe(false)
    expect(isLate(figures([3], { lateP99Ms: 0.9 }))).toBe(false)
    // A stall of the service does not excuse it.
    expect(isLate(figures([...upTo(190).map(() => 3), ...upTo(10).map(() => 900)], { lateP99Ms: 12 }))).toBe(true)
  })

  test('name what ended the run, failures, waits, missing scopes, and the bookings that are left', () => {
    const warnings = warningsOf({
      ...figures(upTo(200), { waited: 9 }),
      end: { reason: 'interrupted', message: 'The run was interrupted before its end.' },
      cleanup: { booked: 12, cancelled: 0, left: upTo(12).map((n) => `bkg_${n}`) },
      leftOut: ['quote (read:rates)'],
    })
    expect(warnings).toEqual([
      'The run was interrupted before its end.',
      expect.stringMatching(/^12 bookings in the sandbox could not be cancelled: bkg_1; .*bkg_10; …\. Cancel them/),
      expect.stringContaining('9 requests had to wait for one of the 32 connections'),
      expect.stringContaining('quote (read:rates)'),
    ])
    const unsent = new Figures(WIRES)
    unsent.unsent({ dueNs: 0, nowNs: 5 * MS })
    expect(warningsOf({ ...figures([]), ...unsent.end() })).toEqual([
      expect.stringContaining('1 request failed or had no answer'),
      expect.stringContaining('the service does not keep up'),
    ])
  })
})
