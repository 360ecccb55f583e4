import { describe, expect, test } from 'bun:test'
import { CLUSTER_METRICS } from '../../src/cluster/cluster-metrics.ts'
import { ALL_METRICS } from '../../src/observability/all-metrics.ts'
import { WORKER_METRICS } from '../../src/observability/summed-metrics.ts'

const METRICS = [...ALL_METRICS, ...CLUSTER_METRICS, ...WORKER_METRICS]

/** As Prometheus asks for it (naming): base units, and `_total` on counters alone. */
describe('every metric', () => {
  test.each(METRICS.map((metric) => [metric.name, metric] as const))('%s is named as its kind is', (name, metric) => {
    expect(name).toMatch(/^nightledger_[a-z]+(_[a-z]+)*$/)
    expect(name.endsWith('_total')).toBe(metric.type === 'counter')
    expect(name).not.toMatch(/_(ms|millis|milliseconds|minutes|kb|mb|percent)(_|$)/)
  })

  test('says what it is, in a sentence', () => {
    expect(METRICS.filter(({ help }) => !/^[A-Z].*\.$/.test(help)).map(({ name }) => name)).toEqual([])
  })

  test('has a name of its own', () => {
    expect(new Set(METRICS.map(({ name }) => name)).size).toBe(METRICS.length)
  })

  test('has only labels with few values: none that names an agency, a unit, a key or a request', () => {
    const labels = new Set(METRICS.flatMap(({ labels = [] }) => labels))
    expect([...labels].sort()).toEqual([
      'action',
      'bun',
      'commit',
      'kind',
      'method',
      'mode',
      'outcome',
      'place',
      'pool',
      'process',
      'reason',
      'role',
      'route',
      'state',
      'status',
      'surface',
      'version',
    ])
  })
})
