/**
 * Calls that are made together: those that come while one is under way wait, and share the next one. So what is called is busy once,
 * however many callers there are, and nobody waits for others to come.
 */
export class BatchedCalls<Q, A> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly A[]>
  readonly #atOnce: number
  #waiting: Waiting<Q, A>[] = []
  #isRunning = false

  /**
   * @param run answers a batch, each in its place. If it rejects, all calls of the batch reject with the same
   * @param atOnce calls in one batch, at most
   */
  constructor(run: (batch: readonly Q[]) => Promise<readonly A[]>, atOnce: number) {
    this.#run = run
    this.#atOnce = atOnce
  }

  /** Calls that wait for the batch under way. */
  get waiting(): number {
    return this.#waiting.length
  }

  call(asked: Q): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>()
    this.#waiting.push({ asked, resolve, reject })
    if (!this.#isRunning) void this.#runAll()
    return promise
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true
    // Those of the same turn share the first batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#atOnce)
      try {
        const answers = await this.#run(batch.map(({ asked }) => asked))
        for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as A)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }
}

interface Waiting<Q, A> {
  readonly asked: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}
