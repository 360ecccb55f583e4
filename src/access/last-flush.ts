import { type Clock, sleep } from '../lib/clock.ts'
import { DeadlineError } from '../lib/deadline.ts'

/** Counters in memory that must be stored before the process exits. */
export interface Counters {
  /** Writes one last time. May be called again after it has rejected. */
  stop(): Promise<void>
}

const RETRY_MS = 100

/**
 * Writes the counters before the process exits. While the database is away, it retries for up to `withinMs`, so that counters
 * do not delay the stop any longer.
 * @returns one error for each counter that was not written
 */
export async function lastFlush(counters: readonly Counters[], clock: Clock, withinMs: number): Promise<unknown[]> {
  const until = clock.monotonicMs() + withinMs
  const { promise: overdue, resolve } = Promise.withResolvers<unknown>()
  const callOff = clock.after(withinMs, () => resolve(new DeadlineError(withinMs)))
  const failures = await Promise.all(counters.map((one) => Promise.race([stopOf(one, clock, until), overdue])))
  callOff()
  return failures.filter((failure) => failure !== null)
}

/** Null when it has written. Never rejects, because nothing may be left to handle it. */
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
