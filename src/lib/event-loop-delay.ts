import type { Clock } from './clock.ts'
import { Histogram, type HistogramReading } from './histogram.ts'

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
