import { type Clock, sleep } from '../lib/clock.ts'
import { DeadlineError } from '../lib/deadline.ts'

/** Counters in memory whose owner is about to end. */
export interface Counters {
  /** Writes a last time. May be called again after it has rejected. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/**
 * Writes what was counted before the process ends. A database that is away is asked again and again, but not for longer
 * than `withinMs`: a stop is not held up for counters.
 * @returns why counters were not written, an error for each of them
 */
export async function lastFlush(counters: readonly Counters[], clock: Clock, withinMs: number): Promise<unknown[]> {
  const until = clock.monotonicMs() + withinMs
  const { promise: overdue, resolve } = Promise.withResolvers<unknown>()
  const callOff = clock.after(withinMs, () => resolve(new DeadlineError(withinMs)))
  const failures = await Promise.all(counters.map((one) => Promise.race([stopOf(one, clock, until), overdue])))
  callOff()
  return failures.filter((failure) => failure !== null)
}

/** Null when it has written. Never rejects: nobody may be left to see it. */
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
