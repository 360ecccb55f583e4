import type { HistogramReading } from '../lib/measures.ts'

type Labels = Readonly<Record<string, string | number>>

/** One metric, and how it is read from `V`. Names are in the field's terms, values in seconds and bytes. */
export type Metric<V> = {
  readonly name: `nightledger_${string}`
  readonly help: string
  readonly labels?: readonly string[]
} & (
  | {
      /** Only grows; since the start of this process or of the sender. */
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

interface Distribution {
  readonly labels?: Labels
  readonly reading: HistogramReading
  /** What one unit of the reading is in the metric's unit; 0.001 for milliseconds reported in seconds. */
  readonly scale: number
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

/** The metrics page: the Prometheus text format 0.0.4. A metric without samples has its two comment lines only. */
export function metricsText<V>(metrics: readonly Metric<V>[], stats: V): string {
  return `${metrics.map((metric) => linesOf(metric, stats).join('\n')).join('\n\n')}\n`
}

function linesOf<V>(metric: Metric<V>, stats: V): string[] {
  const { name, help, type } = metric
  const series = metric.type === 'histogram' ? bucketsOf(metric, stats) : samplesOf(metric, stats)
  return [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`, ...series]
}

function samplesOf<V>(metric: Extract<Metric<V>, { type: 'counter' | 'gauge' }>, stats: V): string[] {
  return metric.read(stats).map(({ labels, value }) => lineOf(metric.name, labels, value))
}

function bucketsOf<V>(metric: Extract<Metric<V>, { type: 'histogram' }>, stats: V): string[] {
  return metric.read(stats).flatMap(({ labels, reading, scale }) => {
    let cumulated = 0
    const buckets = reading.counts.map((count, place) => {
      cumulated += count
      const bound = reading.bounds[place]
      // The digits of the bound, without those that multiplying binary fractions adds.
      const le = bound === undefined ? '+Inf' : Number((bound * scale).toPrecision(12))
      return lineOf(`${metric.name}_bucket`, { le, ...labels }, cumulated)
    })
    const sum = lineOf(`${metric.name}_sum`, labels, reading.sum * scale)
    return [...buckets, sum, lineOf(`${metric.name}_count`, labels, cumulated)]
  })
}

function lineOf(name: string, labels: Labels = {}, value: number): string {
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
