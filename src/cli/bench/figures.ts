/** The results of a load test: latencies from each request's scheduled time, and responses by code. */
import { Latencies } from '../../lib/latencies.ts'
import type { Cleanup } from './load.ts'
import type { KeyLimits, LoadPlan } from './plan.ts'

/** Null if there are too few requests: a hundred do not show the slowest one in a thousand. */
interface Percentiles {
  readonly p50Ms: number | null
  readonly p90Ms: number | null
  readonly p99Ms: number | null
  readonly p999Ms: number | null
  readonly maxMs: number | null
}

export interface OperationFigures extends Percentiles {
  readonly operation: string
  /** The method and path of its requests. */
  readonly wire: string
  /** Requests whose latency counts: with a documented response, including refusals by a rule (409, 422), or unanswered. */
  readonly measured: number
  readonly failed: number
  /** Number of requests by outcome: `200`, `409 BOOKING_CONFLICT`, `no answer`. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Latency in milliseconds by the share of requests that are no slower. */
  readonly curve: readonly (readonly [share: number, ms: number])[]
}

interface SecondFigures {
  readonly second: number
  readonly due: number
  readonly answered: number
  readonly failed: number
  readonly p50Ms: number | null
  /** With fewer than a hundred requests, the slowest one. */
  readonly p99Ms: number | null
}

interface GeneratorFigures {
  readonly lateP99Ms: number
  readonly lateMaxMs: number
  /** Requests that were due while every connection was waiting for an answer. */
  readonly waited: number
}

/** Why a run ended early. */
export interface EarlyEnd {
  readonly reason: 'interrupted' | 'rate_limited' | 'refused' | 'no_stays'
  readonly message: string
}

export interface RunFigures {
  readonly seconds: number
  readonly total: Omit<OperationFigures, 'operation' | 'wire'>
  readonly operations: readonly OperationFigures[]
  readonly timeline: readonly SecondFigures[]
  readonly generator: GeneratorFigures
  readonly unsent: number
  readonly end: EarlyEnd | null
}

/** Sequential round trips of the cheapest request before the load: the network and the proxies. */
export interface Floor {
  readonly wire: string
  readonly requests: number
  readonly minMs: number
  readonly p50Ms: number
  readonly maxMs: number
}

/** What `--json` prints and the report shows. */
export interface BenchResult extends RunFigures {
  readonly startedAt: string
  readonly url: string
  readonly agency: string
  readonly isSandbox: boolean
  /** Of the service; null if unknown. */
  readonly serviceVersion: string | null
  /** Of this program, which generates the load. */
  readonly version: string
  readonly plan: LoadPlan
  readonly limits: KeyLimits
  readonly leftOut: readonly string[]
  readonly floor: Floor
  readonly cleanup: Cleanup | null
  readonly warnings: readonly string[]
}

const NONE: Percentiles = { p50Ms: null, p90Ms: null, p99Ms: null, p999Ms: null, maxMs: null }
/** Shares at which a curve is drawn: 0, 0.5, 0.75, 0.875, … with seven points for each halving. */
const CURVE = Array.from({ length: 100 }, (_, i) => 1 - 2 ** (-i / 7))

class Sample {
  readonly outcomes = new Map<string, number>()
  failed = 0
  readonly #latencies = new Latencies()

  count(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  add(ns: number): void {
    this.#latencies.add(ns)
  }

  /** To be called last. */
  figures(): Omit<OperationFigures, 'operation' | 'wire'> {
    const { size: measured } = this.#latencies
    const outcomes = Object.fromEntries([...this.outcomes].toSorted(([a], [b]) => a.localeCompare(b)))
    if (measured === 0) return { ...NONE, measured, failed: this.failed, outcomes, curve: [] }
    const shares = CURVE.filter((share) => (1 - share) * measured >= 1)
    const [p50, p90, p99, p999, max] = this.#latencies.percentiles([0.5, 0.9, 0.99, 0.999, 1])
    const known = (ms: number, share: number) => ((1 - share) * measured >= 1 - 1e-9 ? rounded(ms) : null)
    const curve = this.#latencies.percentiles(shares).map((ms, i) => [shares[i] as number, rounded(ms)] as const)
    return {
      ...{ p50Ms: rounded(p50), p90Ms: known(p90, 0.9), p99Ms: known(p99, 0.99), p999Ms: known(p999, 0.999) },
      ...{ maxMs: rounded(max), measured, failed: this.failed, outcomes, curve },
    }
  }
}

interface Second {
  due: number
  answered: number
  failed: number
  readonly latencies: Latencies
}

/** The outcome of a request, for its figures. */
export type Ending =
  /** A documented response: its latency counts. */
  | { readonly kind: 'answered'; readonly outcome: string }
  /** Its latency does not count: failing may be faster than working. */
  | { readonly kind: 'failed'; readonly outcome: string }
  /** No response yet: its latency is at least the time until now. */
  | { readonly kind: 'unanswered' }

export class Figures {
  readonly #total = new Sample()
  readonly #operations = new Map<string, Sample>()
  readonly #seconds: Second[] = []
  #unsent = 0

  constructor(private readonly wires: Readonly<Record<string, string>>) {
    for (const operation of Object.keys(wires)) this.#operations.set(operation, new Sample())
  }

  due(dueNs: number): void {
    this.#second(dueNs).due += 1
  }

  ended(operation: string, { dueNs, nowNs }: { dueNs: number; nowNs: number }, ending: Ending): void {
    const samples = [this.#total, this.#operations.get(operation) as Sample]
    for (const sample of samples) {
      sample.count(ending.kind === 'unanswered' ? NO_ANSWER : ending.outcome)
      if (ending.kind !== 'failed') sample.add(nowNs - dueNs)
      if (ending.kind !== 'answered') sample.failed += 1
    }
    if (ending.kind !== 'failed') this.#second(dueNs).latencies.add(nowNs - dueNs)
    if (ending.kind === 'answered') this.#second(nowNs).answered += 1
    else this.#second(nowNs).failed += 1
  }

  /** No connection was free until the end. */
  unsent({ dueNs, nowNs }: { dueNs: number; nowNs: number }): void {
    this.#unsent += 1
    this.#total.add(nowNs - dueNs)
    this.#total.count('never sent')
    this.#total.failed += 1
    this.#second(dueNs).latencies.add(nowNs - dueNs)
  }

  /** Of one second, so far. */
  secondAt(second: number): { readonly answered: number; readonly failed: number } {
    const { answered = 0, failed = 0 } = this.#seconds[second] ?? {}
    return { answered, failed }
  }

  /** To be called last. */
  end(): Pick<RunFigures, 'total' | 'operations' | 'timeline' | 'unsent'> {
    return {
      total: this.#total.figures(),
      operations: [...this.#operations].map(([operation, sample]) => ({
        operation,
        wire: this.wires[operation] ?? '',
        ...sample.figures(),
      })),
      timeline: this.#seconds.map(({ due, answered, failed, latencies }, second) => {
        const [p50Ms, p99Ms] = latencies.percentiles([0.5, 0.99])
        const isEmpty = latencies.size === 0
        return {
          ...{ second, due, answered, failed },
          p50Ms: isEmpty ? null : rounded(p50Ms),
          p99Ms: isEmpty ? null : rounded(p99Ms),
        }
      }),
      unsent: this.#unsent,
    }
  }

  #second(ns: number): Second {
    const index = Math.floor(ns / 1e9)
    while (this.#seconds.length <= index)
      this.#seconds.push({ due: 0, answered: 0, failed: 0, latencies: new Latencies() })
    return this.#seconds[index] as Second
  }
}

const NO_ANSWER = 'no answer'

function rounded(ms: number): number {
  return Number(ms.toFixed(3))
}

/**
 * A generator later than this for one request in a hundred measures itself, unless the median response takes as long and the p99 ten times as
 * long.
 */
const LATE_MS_MAX = 1
const LATE_SHARE_MAX = 0.1
/** Random arrivals come in bursts. */
const WAITED_SHARE_MAX = 0.01

/** What a reader must know before reading the figures, the most serious first. */
export function warningsOf(
  result: Pick<BenchResult, 'total' | 'generator' | 'end' | 'unsent' | 'plan' | 'cleanup' | 'leftOut'>,
): string[] {
  const { total, generator, end, unsent, plan, cleanup, leftOut } = result
  const warnings: string[] = []
  if (isLate(result))
    warnings.push(
      `Do not trust these figures: the load generator itself was ${generator.lateP99Ms.toFixed(1)} ms late for one request in a hundred. ` +
        'Its machine is too busy, or the rate is too high for it. Use another machine or a lower rate.',
    )
  if (end !== null) warnings.push(end.message)
  if (cleanup !== null && cleanup.left.length > 0)
    warnings.push(
      `${counted(cleanup.left.length, 'booking')} in the sandbox could not be cancelled: ${cleanup.left.slice(0, 10).join('; ')}` +
        `${cleanup.left.length > 10 ? '; …' : ''}. Cancel them, or reset the sandbox.`,
    )
  if (total.failed > 0)
    warnings.push(
      `${counted(total.failed, 'request')} failed or had no answer: see the outcomes by code. The latencies of failed requests are not counted.`,
    )
  if (unsent > 0)
    warnings.push(
      `${counted(unsent, 'request')} never sent, because all ${plan.connections} connections were waiting for answers until the end: the ` +
        'service does not keep up with this rate.',
    )
  else if (generator.waited > WAITED_SHARE_MAX * total.measured)
    warnings.push(
      `${counted(generator.waited, 'request')} had to wait for one of the ${plan.connections} connections; the wait is part of their latency.`,
    )
  if (leftOut.length > 0) warnings.push(`Not part of this run, because the key lacks the scope: ${leftOut.join(', ')}.`)
  return warnings
}

export function isLate({ total, generator }: Pick<BenchResult, 'total' | 'generator'>): boolean {
  const slowMs = total.p99Ms ?? total.maxMs ?? 0
  return generator.lateP99Ms > Math.max(LATE_MS_MAX, Math.min(total.p50Ms ?? 0, LATE_SHARE_MAX * slowMs))
}

function counted(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}
