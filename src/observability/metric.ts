import type { HistogramReading } from '../lib/measures.ts'

type Labels = Readonly<Record<string, string | number>>

/**
 * What a metric is of the workers of one service together (summed-metrics.ts): their sum, the largest or smallest value where all
 * describe the same thing, or a series of each, with the label `worker`.
 */
type Across = 'sum' | 'max' | 'min' | 'each'

interface Declaration {
  readonly name: `nightledger_${string}`
  readonly help: string
  readonly labels?: readonly string[]
  /** Left out: `sum`. */
  readonly across?: Across
}

/** One metric, and how it is read from `V`. Names are in the field's terms, values in seconds and bytes. */
export type Metric<V> = Declaration &
  (
    | {
        /** Only grows; since the start of this process or of the sender. */
        readonly type: 'counter'
        readonly across?: 'sum' | 'each'
        read(stats: V): readonly Sample[]
      }
    | {
        /** As it is now. */
        readonly type: 'gauge'
        read(stats: V): readonly Sample[]
      }
    | {
        readonly type: 'histogram'
        readonly across?: 'sum' | 'each'
        read(stats: V): readonly Distribution[]
      }
  )

export interface Sample {
  readonly labels?: Labels
  readonly value: number
}

interface Distribution {
  readonly labels?: Labels
  readonly reading: HistogramReading
  /** What one unit of the reading is in the metric's unit; 0.001 for milliseconds reported in seconds. */
  readonly scale: number
}

/** A metric as one process has read it. It is plain data, which can be sent to another process. */
export interface MetricReading {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly across: Across
  readonly series: readonly Series[]
}

export interface Series {
  readonly labels: Labels
  /** Of a histogram, in the metric's unit: inclusive upper bounds, ascending. */
  readonly bounds?: readonly number[]
  /** Of a counter or a gauge one value; of a histogram its counts by bound, those above the last bound, and the sum. */
  readonly values: readonly number[]
}

/** Scales a reading in milliseconds to seconds. */
export const FROM_MS = 0.001

/** The sample of a metric without labels; none when its value is unknown. */
export function only(value: number | null | undefined): readonly Sample[] {
  return value == null ? [] : [{ value }]
}

/** One sample per name, under the label. */
export function byLabel(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function readMetrics<V>(metrics: readonly Metric<V>[], stats: V): MetricReading[] {
  return metrics.map((metric) => {
    const { name, help, type, across = 'sum' } = metric
    const series =
      metric.type === 'histogram'
        ? metric.read(stats).map(distributionOf)
        : metric.read(stats).map(({ labels = {}, value }) => ({ labels, values: [value] }))
    return { name, help, type, across, series }
  })
}

function distributionOf({ labels = {}, reading, scale }: Distribution): Series {
  // The digits of the bound, without those that multiplying binary fractions adds.
  const bounds = reading.bounds.map((bound) => Number((bound * scale).toPrecision(12)))
  return { labels, bounds, values: [...reading.counts, reading.sum * scale] }
}

/** The metrics page: the Prometheus text format 0.0.4. A metric without samples has its two comment lines only. */
export function metricsText(readings: readonly MetricReading[]): string {
  return `${readings.map((reading) => linesOf(reading).join('\n')).join('\n\n')}\n`
}

function linesOf({ name, help, type, series }: MetricReading): string[] {
  const lines = series.flatMap(({ labels, bounds, values }) =>
    bounds === undefined
      ? values.map((value) => lineOf(name, labels, value))
      : bucketsOf(name, labels, { bounds, values }),
  )
  return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...lines]
}

function bucketsOf(
  name: string,
  labels: Labels,
  { bounds, values }: { bounds: readonly number[]; values: readonly number[] },
): string[] {
  let cumulated = 0
  const buckets = values.slice(0, -1).map((count, place) => {
    cumulated += count
    return lineOf(`${name}_bucket`, { le: bounds[place] ?? '+Inf', ...labels }, cumulated)
  })
  const sum = lineOf(`${name}_sum`, labels, values.at(-1) ?? 0)
  return [...buckets, sum, lineOf(`${name}_count`, labels, cumulated)]
}

function lineOf(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(
    ([label, value]) => `${label}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
  )
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${valueText(value)}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function valueText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}
