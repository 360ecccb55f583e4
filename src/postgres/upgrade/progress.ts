/** What the copy says of itself: a step when it begins, and every few seconds how far it is. */

const EVERY_MS = 5_000

export type OnStep = (step: string) => void

/** Reports how far one part of the copy is. */
export class Progress {
  readonly #what: string
  readonly #onStep: OnStep
  readonly #total: number
  readonly #startedAt = performance.now()
  readonly #first: number
  #reportedAt = performance.now()

  /**
   * @param what is copied, as in "Copying …"
   * @param done how many of `total` rows an earlier run has copied
   */
  constructor(what: string, { total, done, onStep }: { total: number; done: number; onStep: OnStep }) {
    this.#what = what
    this.#onStep = onStep
    this.#total = total
    this.#first = done
  }

  /** @param done how many rows are copied so far, those of earlier runs included */
  report(done: number): void {
    const now = performance.now()
    if (now - this.#reportedAt < EVERY_MS) return
    this.#reportedAt = now
    const perSecond = (done - this.#first) / ((now - this.#startedAt) / 1000)
    const left = Math.max(0, this.#total - done)
    // The total is an estimate of the server's for rows that still come.
    const percent = Math.min(99, Math.floor((100 * done) / Math.max(1, this.#total)))
    const rate = `${Math.round(perSecond).toLocaleString('en')}/s`
    this.#onStep(
      `Copying ${this.#what}: ${percent} % (${done.toLocaleString('en')} of ${this.#total.toLocaleString('en')}), ${rate}, ${timeLeft(left / perSecond)} left`,
    )
  }
}

function timeLeft(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'unknown time'
  const whole = Math.ceil(seconds)
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} min`
}
