import { type Clock, sleep } from '../lib/clock.ts'
import { mayPass } from './database-error.ts'

export interface Patience {
  readonly clock: Clock
  /** No new attempt after so long, ms. */
  readonly withinMs: number
  /** Pause between two attempts, ms. */
  readonly pauseMs: number
  /** True: no new attempt. */
  isOver(): boolean
  /** An attempt failed, and another one follows. */
  onFailure(error: unknown): void
}

/**
 * Asks again for as long as the database is away or busy: for work whose failure would leave nobody who serves. `ask` has a
 * deadline of its own and may be repeated.
 * @throws what the last attempt threw; at once when asking again would not help
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
