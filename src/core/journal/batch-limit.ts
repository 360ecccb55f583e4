/** A batch that took less than this lets the limit grow again. */
const QUICK_APPEND_MS = 500

/** How many records a batch may have: fewer after batches were too slow for the database. */
export class BatchLimit {
  readonly #configured: number
  readonly #divisor: number
  #max: number

  /** @param divisor what is left of a batch that was too slow: a half, or less where each attempt costs seconds for everybody else */
  constructor(configured: number, { divisor = 2 }: { divisor?: number } = {}) {
    this.#configured = configured
    this.#divisor = divisor
    this.#max = configured
  }

  get max(): number {
    return this.#max
  }

  /** A batch of this size was cancelled at its timeout. */
  noteTooSlow(size: number): void {
    this.#max = Math.max(1, Math.floor(size / this.#divisor))
  }

  /** A batch became durable. The limit grows by an eighth at a time, while the database is quick. */
  noteDurable(size: number, ms: number): void {
    if (size < this.#max || ms >= QUICK_APPEND_MS) return
    this.#max = Math.min(this.#configured, this.#max + Math.ceil(this.#max / 8))
  }
}
