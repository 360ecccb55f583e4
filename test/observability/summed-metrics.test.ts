import { describe, expect, test } from 'bun:test'
import { Histogram } from '../../src/lib/measures.ts'
import { SeededRandom } from '../../src/lib/seeded-random.ts'
import {
  byLabel,
  type Metric,
  type MetricReading,
  metricsText,
  only,
  readMetrics,
} from '../../src/observability/metric.ts'
import { SummedMetrics } from '../../src/observability/summed-metrics.ts'
import { Scrape } from '../support/scrape.ts'

interface Stats {
  readonly answers: Readonly<Record<string, number>>
  readonly latencies: Histogram
  readonly cpuS: number
  readonly open: number
  readonly memory: number
  readonly oldestS: number | null
  readonly isUp: boolean
}

const METRICS: readonly Metric<Stats>[] = [
  {
    name: 'nightledger_answers_total',
    type: 'counter',
    help: 'Answers.',
    labels: ['status'],
    read: ({ answers }) => byLabel('status', answers),
  },
  {
    name: 'nightledger_latency_seconds',
    type: 'histogram',
    help: 'Latency.',
    read: ({ latencies }) => [{ reading: latencies.read(), scale: 0.001 }],
  },
  { name: 'nightledger_cpu_seconds_total', type: 'counter', help: 'x', across: 'each', read: ({ cpuS }) => only(cpuS) },
  { name: 'nightledger_open', type: 'gauge', help: 'Open.', read: ({ open }) => only(open) },
  { name: 'nightledger_memory_bytes', type: 'gauge', help: 'x', across: 'each', read: ({ memory }) => only(memory) },
  { name: 'nightledger_oldest_seconds', type: 'gauge', help: 'x', across: 'max', read: ({ oldestS }) => only(oldestS) },
  { name: 'nightledger_up', type: 'gauge', help: 'Up.', across: 'min', read: ({ isUp }) => only(isUp ? 1 : 0) },
]

function stats(change: Partial<Stats> = {}): Stats {
  const none = { answers: {}, latencies: new Histogram([1, 10]), cpuS: 0, open: 0, memory: 0, oldestS: 0, isUp: true }
  return { ...none, ...change }
}

/** As it arrives from another process. */
function sent(change: Partial<Stats> = {}): MetricReading[] {
  return JSON.parse(JSON.stringify(readMetrics(METRICS, stats(change))))
}

function pageOf(metrics: SummedMetrics): Scrape {
  return new Scrape(metrics.text({ running: 2, restarts: 1 }))
}

function histogramOf(...values: number[]): Histogram {
  const histogram = new Histogram([1, 10])
  for (const value of values) histogram.count(value)
  return histogram
}

describe('of several workers, the page', () => {
  test('has the sum, the largest, the smallest or each value, as the metric declares', () => {
    const metrics = new SummedMetrics()
    metrics.report(0, sent({ answers: { 200: 3, 404: 1 }, cpuS: 1.5, open: 2, memory: 100, oldestS: 7 }))
    metrics.report(1, sent({ answers: { 200: 4 }, cpuS: 2.5, open: 3, memory: 50, oldestS: 5, isUp: false }))
    const page = pageOf(metrics)
    expect(page.value('nightledger_answers_total', { status: '200' })).toBe(7)
    expect(page.value('nightledger_answers_total', { status: '404' })).toBe(1)
    expect(page.value('nightledger_open')).toBe(5)
    expect(page.value('nightledger_oldest_seconds')).toBe(7)
    expect(page.value('nightledger_up')).toBe(0)
    expect(page.samplesOf('nightledger_up')).toHaveLength(1)
    for (const [worker, cpuS, memory] of [
      ['0', 1.5, 100],
      ['1', 2.5, 50],
    ] as const) {
      expect(page.value('nightledger_cpu_seconds_total', { worker })).toBe(cpuS)
      expect(page.value('nightledger_memory_bytes', { worker })).toBe(memory)
    }
  })

  test('adds histograms bucket by bucket', () => {
    const metrics = new SummedMetrics()
    metrics.report(0, sent({ latencies: histogramOf(0.5, 4) }))
    metrics.report(1, sent({ latencies: histogramOf(4, 200) }))
    const page = pageOf(metrics)
    const buckets = ['0.001', '0.01', '+Inf'].map((le) => page.value('nightledger_latency_seconds_bucket', { le }))
    expect(buckets).toEqual([1, 3, 4])
    expect(page.value('nightledger_latency_seconds_sum')).toBeCloseTo(0.2085)
    expect(page.countOf('nightledger_latency_seconds')).toBe(4)
  })

  test('leaves out a value that no worker knows', () => {
    const metrics = new SummedMetrics()
    metrics.report(0, sent({ oldestS: 3 }))
    metrics.report(0, sent({ oldestS: null }))
    expect(pageOf(metrics).samplesOf('nightledger_oldest_seconds')).toEqual([])
  })

  test('says how many workers run, and how often one was restarted', () => {
    const page = pageOf(new SummedMetrics())
    expect(page.value('nightledger_workers')).toBe(2)
    expect(page.value('nightledger_worker_restarts_total')).toBe(1)
  })
})

test('the page of one worker is its own page, but for the label worker and the metrics of the workers', () => {
  const own = stats({ answers: { 200: 3, 500: 0 }, latencies: histogramOf(0.5, 40), cpuS: 2, open: 1, memory: 9 })
  const metrics = new SummedMetrics()
  metrics.report(0, readMetrics(METRICS, own))
  const [page = ''] = metrics.text({ running: 1, restarts: 0 }).split('\n\n# HELP nightledger_workers')
  expect(page.replaceAll('{worker="0"}', '')).toBe(metricsText(readMetrics(METRICS, own)).trimEnd())
})

describe('a worker that has ended', () => {
  test('leaves what it has counted and takes its gauges with it', () => {
    const metrics = new SummedMetrics()
    metrics.report(0, sent({ answers: { 200: 1 }, open: 1, memory: 10 }))
    metrics.report(
      1,
      sent({ answers: { 200: 5 }, cpuS: 3, latencies: histogramOf(4), open: 2, memory: 20, isUp: false }),
    )
    metrics.ended(1)
    const page = pageOf(metrics)
    expect(page.value('nightledger_answers_total', { status: '200' })).toBe(6)
    expect(page.value('nightledger_cpu_seconds_total', { worker: '1' })).toBe(3)
    expect(page.countOf('nightledger_latency_seconds')).toBe(1)
    expect(page.value('nightledger_open')).toBe(1)
    expect(page.value('nightledger_up')).toBe(1)
    expect(page.samplesOf('nightledger_memory_bytes').map(({ labels }) => labels)).toEqual([{ worker: '0' }])
  })

  test('and never reported changes nothing', () => {
    const metrics = new SummedMetrics()
    metrics.ended(0)
    expect(pageOf(metrics).families.map(({ name }) => name)).toEqual([
      'nightledger_workers',
      'nightledger_worker_restarts_total',
    ])
  })
})

/** What has been counted: by one process, or by all of them. */
class Counting {
  answers: Record<string, number> = {}
  latencies = histogramOf()
  cpuS = 0

  count(random: SeededRandom, truth: Counting): void {
    const [status, latency] = [random.pick(['200', '409', '500']), random.pick([0.5, 4, 200])]
    for (const each of [this, truth]) {
      each.answers[status] = (each.answers[status] ?? 0) + 1
      each.latencies.count(latency)
      each.cpuS += 0.25
    }
  }
}

test.each(Array.from({ length: 8 }, (_, seed) => seed))(
  'no counter and no bucket ever falls, whichever workers end and whenever they are asked: seed %d',
  (seed) => {
    const random = new SeededRandom(seed)
    const metrics = new SummedMetrics()
    const truth = new Counting()
    const workers = Array.from({ length: 3 }, () => new Counting())
    let before = pageOf(metrics)
    for (let step = 0; step < 100; step++) {
      const worker = random.below(workers.length)
      const counting = workers[worker] as Counting
      for (let i = random.below(4); i > 0; i--) counting.count(random, truth)
      metrics.report(worker, sent({ ...counting }))
      if (random.chance(0.1)) {
        metrics.ended(worker)
        workers[worker] = new Counting()
      }
      const page = pageOf(metrics)
      for (const { type, samples } of before.families)
        for (const { name, labels, value } of type === 'gauge' ? [] : samples)
          expect(page.value(name, labels)).toBeGreaterThanOrEqual(value)
      before = page
    }
    for (const [status, count] of Object.entries(truth.answers))
      expect(before.value('nightledger_answers_total', { status })).toBe(count)
    expect(before.countOf('nightledger_latency_seconds')).toBe(
      truth.latencies.read().counts.reduce((sum, count) => sum + count, 0),
    )
    const cpuS = before.samplesOf('nightledger_cpu_seconds_total').reduce((sum, { value }) => sum + value, 0)
    expect(cpuS).toBe(truth.cpuS)
  },
)

test('what a worker counts from 0 again is added, and a counter that it leaves out stays', () => {
  const metrics = new SummedMetrics()
  const answered = () => pageOf(metrics).value('nightledger_answers_total', { status: '200' })
  metrics.report(0, sent({ answers: { 200: 10 } }))
  metrics.report(1, sent({ answers: { 200: 10 } }))
  metrics.report(1, sent({ answers: { 200: 2 } }))
  expect(answered()).toBe(22)
  metrics.report(1, sent({ answers: {} }))
  expect(answered()).toBe(22)
  metrics.report(1, sent({ answers: { 200: 3 } }))
  expect(answered()).toBe(23)
})
