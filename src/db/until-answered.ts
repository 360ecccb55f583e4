import { type Clock, sleep } from '../lib/clock.ts'
import { classifyDatabaseError, type DatabaseErrorClass } from './database-error.ts'

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

/** What may pass: the server is away, busy, failing over to another, or out of space for now. */
const PASSING: ReadonlySet<DatabaseErrorClass> = new Set(['connection', 'retry', 'too_slow', 'unfit'])

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
      const mayPass = PASSING.has(classifyDatabaseError(error))
      if (!mayPass || patience.isOver() || clock.monotonicMs() - since >= withinMs) throw error
      patience.onFailure(error)
      await sleep(clock, pauseMs)
    }
  }
}
