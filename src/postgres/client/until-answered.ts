import { type Clock, sleep } from '../../lib/clock.ts'
import { mayPass } from './database-error.ts'

export interface Patience {
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
export async function untilAnswered<T>(ask: () => Promise<T>, patience: Patience): Promise<T> {
  const { clock, withinMs, pauseMs } = patience
  const since = clock.monotonicMs()
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!mayPass(error) || patience.isOver() || clock.monotonicMs() - since >= withinMs) throw error
      patience.onFailure(error)
      await sleep(clock, pauseMs)
    }
  }
}
