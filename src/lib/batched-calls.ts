import { type Clock, systemClock } from './clock.ts'

/** A batch that takes longer does not hold up the next one. */
const SLOW_MS = 50
/** Batches under way at the same time, if they are slow. */
const PARALLEL_MAX = 4

/**
 * Calls that are made together: those that come while a batch is under way wait, and share the next one. So what is called is busy once,
 * however many callers there are, and nobody waits for others to come.
 */
export class BatchedCalls<Q, A> {
  readonly #run: (batch: readonly Q[]) => Promise<readonly A[]>
  readonly #atOnce: number
  readonly #clock: Pick<Clock, 'after'>
  readonly #open = new Set<Promise<void>>()
  #waiting: Waiting<Q, A>[] = []
  #isRunning = false

  /**
   * @param run answers a batch, each in its place. If it rejects, all calls of the batch reject with the same
   * @param atOnce calls in one batch, at most
   */
  constructor(
    run: (batch: readonly Q[]) => Promise<readonly A[]>,
    atOnce: number,
    clock: Pick<Clock, 'after'> = systemClock,
  ) {
    this.#run = run
    this.#atOnce = atOnce
    this.#clock = clock
  }

  /** Calls that wait for a batch under way. */
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
      const batch = this.#settle(this.#waiting.splice(0, this.#atOnce))
      this.#open.add(batch)
      await this.#endOf(batch)
    }
    this.#isRunning = false
  }

  /** Never rejects. */
  async #settle(batch: readonly Waiting<Q, A>[]): Promise<void> {
    try {
      const answers = await this.#run(batch.map(({ asked }) => asked))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as A)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  /** Resolves when the batch has ended, or when it takes so long that the next one should not wait for it. */
  async #endOf(batch: Promise<void>): Promise<void> {
    const ended = batch.then(() => void this.#open.delete(batch))
    if (this.#open.size >= PARALLEL_MAX) return Promise.race([...this.#open])
    const { promise: slow, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(SLOW_MS, resolve)
    await Promise.race([ended, slow])
    cancel()
  }
}

interface Waiting<Q, A> {
  readonly asked: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}
