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
