import { type Clock, sleep } from '../lib/clock.ts'

const BEAT_EVERY_MS = 1_000

/** Tells the processes that wait for their turn that this one is alive, once a second. */
export class Heartbeat {
  #isStopped = false

  /**
   * @param options.beat returns false when another process has taken over
   * @param options.onReplaced called once, then; an idle process learns of the fence this way
   */
  constructor(options: { beat: () => Promise<boolean>; onReplaced: () => void; clock: Clock }) {
    void this.#run(options)
  }

  /** No heartbeat begins any more. */
  stop(): void {
    this.#isStopped = true
  }

  async #run({
    beat,
    onReplaced,
    clock,
  }: {
    beat: () => Promise<boolean>
    onReplaced: () => void
    clock: Clock
  }): Promise<void> {
    while (!this.#isStopped) {
      await sleep(clock, BEAT_EVERY_MS)
      if (this.#isStopped) return
      // While the database is away, nobody can take over either.
      const isOurs = await beat().catch(() => true)
      if (isOurs) continue
      if (!this.#isStopped) onReplaced()
      return
    }
  }
}
