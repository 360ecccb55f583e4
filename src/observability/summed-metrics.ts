/**
 * The metrics of the workers of one service as one page.
 *
 * - T2 A counter and a histogram of a service never fall while it runs: what a worker has counted stays in the sum when the worker ends, and
 *   when it counts from 0 again. A gauge is of the workers that run.
 */
import { type Metric, type MetricReading, metricsText, only, readMetrics, type Series } from './metric.ts'

interface WorkersStats {
  /** Workers that run now. */
  readonly running: number
  /** How often a worker that ended unexpectedly was started again. */
  readonly restarts: number
}

/** Of the process that starts the workers. */
export const WORKER_METRICS: readonly Metric<WorkersStats>[] = [
  {
    name: 'nightledger_workers',
    type: 'gauge',
    help: 'Worker processes that are running.',
    read: ({ running }) => only(running),
  },
  {
    name: 'nightledger_worker_restarts_total',
    type: 'counter',
    help: 'Times a worker process exited unexpectedly and was restarted.',
    read: ({ restarts }) => only(restarts),
  },
]

type Family = Omit<MetricReading, 'series'>

/** A series of one worker. */
interface WorkerSeries {
  readonly labels: Series['labels']
  readonly bounds: Series['bounds']
  /** Counted by processes that have ended; null for a gauge, and before one has. */
  before: readonly number[] | null
  /** Of the process that runs. */
  current: readonly number[]
}

/** By family and labels. */
type WorkerState = Map<string, Map<string, WorkerSeries>>

export class SummedMetrics {
  /** In the order in which they were first reported. */
  readonly #families = new Map<string, Family>()
  readonly #workers = new Map<number, WorkerState>()

  /**
   * What a worker has read just now. A counter that it leaves out stays as it is; a gauge that it leaves out is unknown.
   * @param worker which of the workers: one that takes the place of another has the same number, or the label would have ever more values (T1)
   */
  report(worker: number, readings: readonly MetricReading[]): void {
    const state = this.#workers.get(worker) ?? new Map()
    this.#workers.set(worker, state)
    for (const { series, ...family } of readings) {
      this.#families.set(family.name, family)
      const known: ReadonlyMap<string, WorkerSeries> = state.get(family.name) ?? new Map()
      const next = new Map(family.type === 'gauge' ? [] : known)
      for (const { labels, bounds, values } of series) {
        const key = JSON.stringify(labels)
        const before = known.get(key)
        const kept = before === undefined || family.type === 'gauge' ? null : keptOf(before, values)
        next.set(key, { labels, bounds, before: kept, current: values })
      }
      state.set(family.name, next)
    }
  }

  /** The process of a worker has ended: what it had counted stays, its gauges go. */
  ended(worker: number): void {
    const state = this.#workers.get(worker) ?? new Map()
    for (const [name, series] of state) {
      if (this.#families.get(name)?.type === 'gauge') state.delete(name)
      else for (const one of series.values()) end(one)
    }
  }

  /** The page, in the order of the workers' own. */
  text(workers: WorkersStats): string {
    const summed = [...this.#families.values()].map((family) => ({ ...family, series: this.#seriesOf(family) }))
    return metricsText([...summed, ...readMetrics(WORKER_METRICS, workers)])
  }

  #seriesOf({ name, across }: Family): Series[] {
    const combined = new Map<string, Series>()
    for (const [worker, state] of this.#workers)
      for (const [key, { labels, bounds, before, current }] of state.get(name) ?? []) {
        const place = across === 'each' ? `${worker} ${key}` : key
        const values = before === null ? current : combine('sum', before, current)
        const others = combined.get(place)
        combined.set(place, {
          labels: across === 'each' ? { ...labels, worker } : labels,
          ...(bounds === undefined ? {} : { bounds }),
          values: others === undefined || across === 'each' ? values : combine(across, others.values, values),
        })
      }
    return [...combined.values()]
  }
}

/** What was counted before the process that counts now: more, if it counts from 0 again, as after a restart of the webhook sender. */
function keptOf(known: WorkerSeries, values: readonly number[]): readonly number[] | null {
  if (known.current.some((value, i) => value > (values[i] ?? 0))) end(known)
  return known.before
}

function end(series: WorkerSeries): void {
  series.before = series.before === null ? series.current : combine('sum', series.before, series.current)
  series.current = series.current.map(() => 0)
}

const COMBINED = {
  sum: (a: number, b: number) => a + b,
  max: Math.max,
  min: Math.min,
} as const

function combine(across: keyof typeof COMBINED, a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, i) => COMBINED[across](value, b[i] ?? value))
}
