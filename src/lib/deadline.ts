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
export function withDeadline<T>(promise: PromiseLike<T>, deadlineMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(deadlineMs)), deadlineMs)
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
