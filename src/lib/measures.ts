import type { Clock } from './clock.ts'

/** What a histogram has counted since it was made. */
export interface HistogramReading {
  /** Upper bounds, inclusive, ascending. */
  readonly bounds: readonly number[]
  /** Values by the first bound that holds them, and at the end those above the last: each is counted once. */
  readonly counts: readonly number[]
  readonly sum: number
}

/** Counts values by their size in a fixed array: to count one costs a few nanoseconds and allocates nothing. */
export class Histogram {
  readonly #bounds: Float64Array
  readonly #counts: Float64Array
  #sum = 0

  /** @param bounds upper bounds, inclusive, ascending; tried in this order */
  constructor(bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds)
    this.#counts = new Float64Array(bounds.length + 1)
  }

  count(value: number): void {
    const bounds = this.#bounds
    let place = 0
    while (place < bounds.length && value > (bounds[place] ?? 0)) place += 1
    this.#counts[place] = (this.#counts[place] ?? 0) + 1
    this.#sum += value
  }

  read(): HistogramReading {
    return { bounds: [...this.#bounds], counts: [...this.#counts], sum: this.#sum }
  }
}

/**
 * Which members of batches go alone, and which of them are known to be at fault.
 *
 * - J8 Batches shrink wherever one statement does many things, down to the one at fault: after a statement about several members was
 *   cancelled, each of them goes alone until it gets through, and one that was cancelled alone holds up no other.
 */
export class HeldUp<Member> {
  /** Of batches that were cancelled: one of them is at fault, and it is not known which. */
  readonly #suspects = new Set<Member>()
  /** Cancelled alone; the least recently tried one first. */
  readonly #atFault = new Set<Member>()

  /** Nobody goes alone. */
  get isEmpty(): boolean {
    return this.#suspects.size === 0 && this.#atFault.size === 0
  }

  get suspects(): readonly Member[] {
    return [...this.#suspects]
  }

  /** The least recently tried one first. */
  get atFault(): readonly Member[] {
    return [...this.#atFault]
  }

  /** A statement about these was cancelled. */
  note(members: readonly Member[]): void {
    const [only] = members
    if (only !== undefined && members.length === 1) {
      this.#suspects.delete(only)
      this.#atFault.delete(only)
      this.#atFault.add(only)
    } else for (const member of members) if (!this.#atFault.has(member)) this.#suspects.add(member)
  }

  /** A statement about these got through. */
  clear(members: Iterable<Member>): void {
    for (const member of members) {
      this.#suspects.delete(member)
      this.#atFault.delete(member)
    }
  }

  goesAlone(member: Member): boolean {
    return this.#suspects.has(member) || this.#atFault.has(member)
  }

  isAtFault(member: Member): boolean {
    return this.#atFault.has(member)
  }
}

/** Seldom enough to cost nothing, often enough that whatever blocks the loop for long is met. */
const SAMPLE_EVERY_MS = 100

const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000] as const

/** How late timers fire, measured ten times a second: how long the event loop was busy with something else. */
export class EventLoopDelay {
  readonly #clock: Clock
  readonly #histogram = new Histogram(BOUNDS_MS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** To be called once: it samples until the process ends. */
  start(): void {
    const dueMs = this.#clock.monotonicMs() + SAMPLE_EVERY_MS
    this.#clock.after(SAMPLE_EVERY_MS, () => {
      this.#histogram.count(Math.max(0, this.#clock.monotonicMs() - dueMs))
      this.start()
    })
  }

  /** Milliseconds. */
  read(): HistogramReading {
    return this.#histogram.read()
  }
}
