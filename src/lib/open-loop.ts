/**
 * The bookkeeping of an open loop: requests are scheduled independently of the responses, as if by independent clients. Latency is measured
 * from the scheduled time, even if a request was sent later because every connection was busy. A closed loop omits that wait: it sends
 * nothing while the server stalls (coordinated omission). All times are nanoseconds.
 */

import { Latencies } from './latencies.ts'
import { SeededRandom } from './seeded-random.ts'

/** Times at which requests are due: a Poisson process, reproducible by its seed. */
export class Arrivals {
  readonly #random: SeededRandom
  readonly #gapNs: number
  #atNs = 0

  constructor({ perSecond, seed }: { perSecond: number; seed: number }) {
    this.#random = new SeededRandom(seed)
    this.#gapNs = 1e9 / perSecond
  }

  /** Since the start; later than all before. */
  next(): number {
    this.#atNs -= Math.log(1 - this.#random.next()) * this.#gapNs
    return this.#atNs
  }
}

/** What is measured: requests that are due from `fromNs` until before `untilNs`. */
interface Window {
  readonly fromNs: number
  readonly untilNs: number
}

export interface OpenFigures {
  readonly requests: number
  /** Requests of the window without a response at the end; their latency is at least the time until then. */
  readonly unanswered: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** How late the generator itself was: from when a request was due until it was to be sent, had a connection been free. */
  readonly lateP99Ms: number
  readonly lateMaxMs: number
}

export class OpenLoop {
  readonly #arrivals: Pick<Arrivals, 'next'>
  readonly #window: Window
  readonly #latencies = new Latencies()
  readonly #lateness = new Latencies()
  /** Due, and not sent: the oldest first, from `#first` on. */
  #waiting: number[] = []
  #first = 0
  readonly #inFlight = new Set<number>()
  #dueNs: number

  constructor(arrivals: Pick<Arrivals, 'next'>, window: Window) {
    this.#arrivals = arrivals
    this.#window = window
    this.#dueNs = arrivals.next()
  }

  /** When the next request will be due. */
  get dueNs(): number {
    return this.#dueNs
  }

  /** Sent and not answered, or waiting to be sent. */
  get open(): number {
    return this.#inFlight.size + this.#waiting.length - this.#first
  }

  /** Whether one more request is due now. To be called until none is: each of them can be sent from now on. */
  advance(nowNs: number): boolean {
    const dueNs = this.#dueNs
    if (dueNs > nowNs || dueNs >= this.#window.untilNs) return false
    if (this.#isCounted(dueNs)) this.#lateness.add(nowNs - dueNs)
    this.#waiting.push(dueNs)
    this.#dueNs = this.#arrivals.next()
    return true
  }

  /** A connection is free. @returns when the request that it is to send was due; null: none is waiting */
  send(): number | null {
    const dueNs = this.#waiting[this.#first]
    if (dueNs === undefined) return null
    this.#first += 1
    if (this.#first > 10_000) {
      this.#waiting = this.#waiting.slice(this.#first)
      this.#first = 0
    }
    this.#inFlight.add(dueNs)
    return dueNs
  }

  answered(dueNs: number, nowNs: number): void {
    this.#inFlight.delete(dueNs)
    if (this.#isCounted(dueNs)) this.#latencies.add(nowNs - dueNs)
  }

  /** Excludes a request's latency. */
  failed(dueNs: number): void {
    this.#inFlight.delete(dueNs)
  }

  /** When the requests of the window that have no answer were due. */
  unanswered(): number[] {
    return [...this.#inFlight, ...this.#waiting.slice(this.#first)].filter((dueNs) => this.#isCounted(dueNs))
  }

  /** To be called once, last. */
  end(nowNs: number): OpenFigures {
    const unanswered = this.unanswered()
    for (const dueNs of unanswered) this.#latencies.add(nowNs - dueNs)
    const { size: requests } = this.#latencies
    const [p50Ms, p99Ms, p999Ms] = this.#latencies.percentiles([0.5, 0.99, 0.999])
    const [lateP99Ms, lateMaxMs] = this.#lateness.percentiles([0.99, 1])
    return { requests, unanswered: unanswered.length, p50Ms, p99Ms, p999Ms, lateP99Ms, lateMaxMs }
  }

  #isCounted(dueNs: number): boolean {
    return dueNs >= this.#window.fromNs && dueNs < this.#window.untilNs
  }
}
