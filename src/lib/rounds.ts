import type { Clock } from './clock.ts'

interface RoundsOptions {
  readonly clock: Clock
  /** A long one looks at `isStopped` between its steps. */
  run(): Promise<unknown>
  /** From `start` to the first round; 0: it begins in the call. */
  readonly firstMs: number
  /** From the end of a round to the beginning of the next. */
  readonly everyMs: number
  /** The same after a round that failed; left out: `everyMs`. */
  readonly failedMs?: number
  /** Called with what a round rejects with. The next one is run all the same. */
  onFailure(error: unknown): void
}

/** Work that is done again and again, one round at a time. */
export class Rounds {
  readonly #options: RoundsOptions
  #cancel = () => {}
  #round: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(options: RoundsOptions) {
    this.#options = options
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  start(): void {
    const { firstMs } = this.#options
    if (firstMs === 0) this.#round = this.#run()
    else this.#runIn(firstMs)
  }

  /** No round begins any more. Waits for the one that runs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#round
  }

  #runIn(ms: number): void {
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#round = this.#run()
    })
  }

  async #run(): Promise<void> {
    const { run, everyMs, failedMs = everyMs, onFailure } = this.#options
    let pauseMs = everyMs
    try {
      await run()
    } catch (error) {
      onFailure(error)
      pauseMs = failedMs
    }
    if (!this.#isStopped) this.#runIn(pauseMs)
  }
}
