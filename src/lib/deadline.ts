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

/** A SQLSTATE, or what postgres.js and sockets have in its place. Not Bun's own `ERR_…`: those are of our code. */
const DATABASE_CODE = /^(?:[0-9A-Z]{5}|CONNECT_TIMEOUT|CONNECTION_[A-Z_]+|E[A-Z]+|EAI_AGAIN)$/

/** Whether what a statement rejected with says something of the database, and nothing of our code. */
export function isDatabaseFailure(error: unknown): boolean {
  if (error instanceof DeadlineError) return true
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && DATABASE_CODE.test(error.code)
}

/**
 * Whether the server cancelled the statement, because a lock (55P03) or all of its work (57014) took too long: it had no effect, and a
 * smaller one may get through.
 */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '57014')
}

/**
 * Whether a statement took longer than it may, as the server (57014) or the client says, whichever was first. Only the former proves that it
 * had no effect.
 */
export function isTooSlow(error: unknown): boolean {
  return error instanceof DeadlineError || (error instanceof Error && 'code' in error && error.code === '57014')
}
