/** A batch that took less than this lets the limit grow again. */
const QUICK_APPEND_MS = 500

/** How many records a batch may have: fewer after batches were too slow for the database. */
export class BatchLimit {
  readonly #configured: number
  #max: number

  constructor(configured: number) {
    this.#configured = configured
    this.#max = configured
  }

  get max(): number {
    return this.#max
  }

  /** A batch of this size was cancelled at its timeout. */
  noteTooSlow(size: number): void {
    this.#max = Math.max(1, size >> 1)
  }

  /** A batch became durable. The limit grows by an eighth at a time, while the database is quick. */
  noteDurable(size: number, ms: number): void {
    if (size < this.#max || ms >= QUICK_APPEND_MS) return
    this.#max = Math.min(this.#configured, this.#max + Math.ceil(this.#max / 8))
  }
}
