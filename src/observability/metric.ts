import { Counter, Gauge, Histogram, type MetricObjectWithValues, type MetricValueWithName, Registry } from 'prom-client'
import type { HistogramReading } from '../lib/histogram.ts'

export type Labels = Readonly<Record<string, string | number>>

/** One metric, and how it is read from `V`. Names are in the field's terms, values in seconds and bytes. */
export type Metric<V> = {
  readonly name: `nightledger_${string}`
  readonly help: string
  readonly labels?: readonly string[]
} & (
  | {
      /** Only grows; since this process, or the sender's, began. */
      readonly type: 'counter'
      read(stats: V): readonly Sample[]
    }
  | {
      /** As it is now. */
      readonly type: 'gauge'
      read(stats: V): readonly Sample[]
    }
  | {
      readonly type: 'histogram'
      read(stats: V): readonly Distribution[]
    }
)

export interface Sample {
  readonly labels?: Labels
  readonly value: number
}

export interface Distribution {
  readonly labels?: Labels
  readonly reading: HistogramReading
  /** What one unit of the reading is in the metric's unit; 0.001 for milliseconds told in seconds. */
  readonly scale: number
}

/** The sample of a metric without labels; none when nothing is known of it. */
export function only(value: number | null | undefined): readonly Sample[] {
  return value == null ? [] : [{ value }]
}

/** One sample per name, under the label. */
export function byLabel(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/**
 * The metrics page: the Prometheus text format 0.0.4. Counting is not prom-client's part, as it hashes labels for each value; it is
 * given what was counted when somebody asks.
 */
export function metricsText<V>(metrics: readonly Metric<V>[], stats: V): Promise<string> {
  const registry = new Registry()
  for (const metric of metrics) add(registry, metric, stats)
  return registry.metrics()
}

export const METRICS_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

function add<V>(registry: Registry, metric: Metric<V>, stats: V): void {
  const { name, help, labels = [] } = metric
  const config = { name, help, labelNames: [...labels], registers: [registry] }
  if (metric.type === 'histogram') {
    new CountedHistogram(config, metric.read(stats))
    return
  }
  const samples = metric.read(stats)
  const told = metric.type === 'counter' ? new Counter(config) : new Gauge(config)
  // Without labels prom-client begins with 0, which would be a claim.
  if (samples.length === 0) told.remove({})
  for (const { labels = {}, value } of samples) told.inc({ ...labels }, value)
}

type HistogramValues = MetricObjectWithValues<MetricValueWithName<string>>

/** A histogram whose values were counted elsewhere. */
class CountedHistogram extends Histogram<string> {
  readonly #distributions: readonly Distribution[]

  constructor(config: ConstructorParameters<typeof Histogram<string>>[0], distributions: readonly Distribution[]) {
    super(config)
    this.#distributions = distributions
  }

  override async get(): Promise<HistogramValues> {
    const { name, help } = this as unknown as { name: string; help: string }
    const values = this.#distributions.flatMap((distribution) => valuesOf(name, distribution))
    // The cast: prom-client's own type of `type` is an enum that it does not export as a value.
    return { name, help, type: 'histogram', aggregator: 'sum', values } as unknown as HistogramValues
  }

  /** What prom-client 15 asks first. */
  getForPromString(): Promise<HistogramValues> {
    return this.get()
  }
}

function valuesOf(name: string, { labels = {}, reading, scale }: Distribution) {
  let cumulated = 0
  const buckets = reading.counts.map((count, place) => {
    cumulated += count
    const bound = reading.bounds[place]
    const le = bound === undefined ? '+Inf' : Number((bound * scale).toPrecision(12))
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: cumulated }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: reading.sum * scale },
    { metricName: `${name}_count`, labels, value: cumulated },
  ]
}
