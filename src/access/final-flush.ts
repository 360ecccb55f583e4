import { type Clock, sleep } from '../lib/clock.ts'
import { DeadlineError } from '../lib/deadline.ts'

/** Counters in memory that must be stored before the process exits. */
export interface Counters {
  /** Writes for the last time. Can be called again after it has rejected. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/**
 * Writes the counters before the process exits. If the database is unavailable, it retries for at most `withinMs`, so
 * that counters do not delay the shutdown any longer.
 * @returns one error for each counter that was not written
 */
export async function finalFlush(counters: readonly Counters[], clock: Clock, withinMs: number): Promise<unknown[]> {
  const until = clock.monotonicMs() + withinMs
  const { promise: overdue, resolve } = Promise.withResolvers<unknown>()
  const cancelTimeout = clock.after(withinMs, () => resolve(new DeadlineError(withinMs)))
  const failures = await Promise.all(counters.map((one) => Promise.race([stopOf(one, clock, until), overdue])))
  cancelTimeout()
  return failures.filter((failure) => failure !== null)
}

/** Null when the counters were written. Never rejects, because nothing may be left to handle the rejection. */
async function stopOf(counters: Counters, clock: Clock, until: number): Promise<unknown> {
  for (;;) {
    try {
      await counters.stop()
      return null
    } catch (error) {
      if (clock.monotonicMs() + RETRY_MS >= until) return error
    }
    await sleep(clock, RETRY_MS)
  }
}
