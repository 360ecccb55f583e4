import { expect, test } from 'bun:test'
import { type Metric, metricsText, only, readMetrics } from '../../src/observability/metric.ts'
import { Scrape } from '../support/scrape.ts'

function scraped<V>(metrics: readonly Metric<V>[], stats: V): Scrape {
  return new Scrape(metricsText(readMetrics(metrics, stats)))
}

test('a counter and a gauge tell what they are given, with their labels', () => {
  const metrics: Metric<{ sold: number; left: number }>[] = [
    {
      name: 'nightledger_sold_total',
      type: 'counter',
      help: 'Nights sold.',
      labels: ['kind', 'status'],
      read: ({ sold }) => [
        { labels: { kind: 'guest', status: 200 }, value: sold },
        { labels: { kind: 'owner', status: 200 }, value: 0 },
      ],
    },
    { name: 'nightledger_left', type: 'gauge', help: 'Nights left.', read: ({ left }) => only(left) },
  ]
  const page = scraped(metrics, { sold: 3, left: -1.5 })
  expect(page.families.map(({ name, help, type }) => [name, help, type])).toEqual([
    ['nightledger_sold_total', 'Nights sold.', 'counter'],
    ['nightledger_left', 'Nights left.', 'gauge'],
  ])
  expect(page.value('nightledger_sold_total', { kind: 'guest', status: '200' })).toBe(3)
  expect(page.text).toContain('nightledger_sold_total{kind="owner",status="200"} 0\n')
  expect(page.value('nightledger_left')).toBe(-1.5)
})

test('an unknown value is left out, not reported as 0', () => {
  const metrics: Metric<null>[] = [
    { name: 'nightledger_left', type: 'gauge', help: 'Nights left.', read: () => only(null) },
    { name: 'nightledger_sold_total', type: 'counter', help: 'Nights sold.', read: () => only(undefined) },
  ]
  const lines = metricsText(readMetrics(metrics, null))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  expect(lines).toEqual([])
})

test('a histogram cumulates, in the unit of the metric, with count and sum', () => {
  const metrics: Metric<null>[] = [
    {
      name: 'nightledger_wait_seconds',
      type: 'histogram',
      help: 'Waiting.',
      labels: ['route'],
      read: () => [
        {
          labels: { route: '/a' },
          reading: { bounds: [0.25, 7.5, 100], counts: [2, 3, 0, 1], sum: 500 },
          scale: 0.001,
        },
        { labels: { route: '/b' }, reading: { bounds: [0.25, 7.5, 100], counts: [0, 0, 0, 0], sum: 0 }, scale: 0.001 },
      ],
    },
  ]
  expect(
    metricsText(readMetrics(metrics, null))
      .split('\n')
      .filter((line) => line.includes('/a')),
  ).toEqual([
    'nightledger_wait_seconds_bucket{le="0.00025",route="/a"} 2',
    'nightledger_wait_seconds_bucket{le="0.0075",route="/a"} 5',
    'nightledger_wait_seconds_bucket{le="0.1",route="/a"} 5',
    'nightledger_wait_seconds_bucket{le="+Inf",route="/a"} 6',
    'nightledger_wait_seconds_sum{route="/a"} 0.5',
    'nightledger_wait_seconds_count{route="/a"} 6',
  ])
  expect(scraped(metrics, null).countOf('nightledger_wait_seconds', { route: '/b' })).toBe(0)
})

test('a label with quotes, backslashes and line ends is one label', () => {
  const version = 'a"b\\c\nd'
  const metrics: Metric<null>[] = [
    {
      name: 'nightledger_info',
      type: 'gauge',
      help: 'x',
      labels: ['version'],
      read: () => [{ labels: { version }, value: 1 }],
    },
  ]
  expect(metricsText(readMetrics(metrics, null))).toContain('nightledger_info{version="a\\"b\\\\c\\nd"} 1')
})

test('an infinite value, and one that is not a number, are written as Prometheus spells them', () => {
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 1e21]
  const metrics: Metric<null>[] = [
    { name: 'nightledger_odd', type: 'gauge', help: 'x', read: () => values.map((value) => ({ value })) },
  ]
  expect(metricsText(readMetrics(metrics, null)).match(/(?<=^nightledger_odd ).*/gm)).toEqual([
    '+Inf',
    '-Inf',
    'NaN',
    '1e+21',
  ])
})
