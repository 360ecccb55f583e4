import { type Clock, sleep } from '../../lib/clock.ts'
import { isTransient } from './database-error.ts'

export interface RetryOptions {
  readonly clock: Clock
  /** No new attempt starts after this time, ms. */
  readonly withinMs: number
  /** Pause between two attempts, ms. */
  readonly pauseMs: number
  /** True: no new attempt. */
  isOver(): boolean
  /** An attempt failed, and another one follows. */
  onFailure(error: unknown): void
}

/**
 * Retries while the database is away or busy: for work whose failure would leave no process that serves. `ask` has its own
 * deadline and may be repeated.
 * @throws what the last attempt threw; at once if retrying would not help
 */
export async function retryUntilAnswered<T>(ask: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { clock, withinMs, pauseMs } = options
  const since = clock.monotonicMs()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isTransient(error) || options.isOver() || clock.monotonicMs() - since >= withinMs) throw error
      options.onFailure(error)
      await sleep(clock, pauseMs)
    }
  }
}
