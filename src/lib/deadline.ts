import { type Clock, systemClock } from './clock.ts'

/** What was awaited did not settle in time. It may still happen: the outcome is unknown, not failed. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError'
  constructor(readonly deadlineMs: number) {
    super(`Cannot wait any longer: ${deadlineMs} ms have passed`)
  }
}

/**
 * Settles as `promise` does, or rejects after `deadlineMs`. The promise itself is not stopped; a rejection that comes
 * after the deadline is swallowed here, so that it never surfaces as an unhandled one.
 * @throws DeadlineError when the deadline passes first
 */
export function withDeadline<T>(promise: PromiseLike<T>, deadlineMs: number, clock: Clock = systemClock): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(deadlineMs, () => reject(new DeadlineError(deadlineMs)))
    promise.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error) => {
        cancel()
        reject(error)
      },
    )
  })
}
