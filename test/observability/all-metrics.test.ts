import { describe, expect, test } from 'bun:test'
import { ALL_METRICS } from '../../src/observability/all-metrics.ts'

/** As Prometheus asks for it (naming): base units, and `_total` on counters alone. */
describe('every metric', () => {
  test.each(ALL_METRICS.map((metric) => [metric.name, metric] as const))(
    '%s is named as its kind is',
    (name, metric) => {
      expect(name).toMatch(/^nightledger_[a-z]+(_[a-z]+)*$/)
      expect(name.endsWith('_total')).toBe(metric.type === 'counter')
      expect(name).not.toMatch(/_(ms|millis|milliseconds|minutes|kb|mb|percent)(_|$)/)
    },
  )

  test('says what it is, in a sentence', () => {
    expect(ALL_METRICS.filter(({ help }) => !/^[A-Z].*\.$/.test(help)).map(({ name }) => name)).toEqual([])
  })

  test('has a name of its own', () => {
    expect(new Set(ALL_METRICS.map(({ name }) => name)).size).toBe(ALL_METRICS.length)
  })

  test('has only labels with few values: none that names an agency, a unit, a key or a request', () => {
    const labels = new Set(ALL_METRICS.flatMap(({ labels = [] }) => labels))
    expect([...labels].sort()).toEqual([
      'action',
      'bun',
      'method',
      'mode',
      'outcome',
      'place',
      'pool',
      'reason',
      'route',
      'state',
      'status',
      'surface',
      'version',
    ])
  })
})
