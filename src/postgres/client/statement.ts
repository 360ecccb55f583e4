/**
 * A statement as postgres.js makes it. `handler`, `resolve` and `reject` are internals of postgres.js: package.json pins its version
 * exactly.
 */
import type { Clock } from '../../lib/clock.ts'
import { DeadlineError } from '../../lib/deadline.ts'

/** What postgres.js makes of a tagged template: `handler` is called once, when it is first awaited. */
export interface Statement {
  handler: (statement: Statement) => void
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}

/** Whether it is one: fragments, arrays and other helpers are made by the same call. */
export function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && 'handler' in made && 'resolve' in made && 'reject' in made
}

/**
 * Rejects with DeadlineError after this long, ms. Settling a statement twice has no effect, so the later one of deadline and answer is
 * ignored.
 */
export function limitWait(statement: Statement, { deadlineMs, clock }: { deadlineMs: number; clock: Clock }): void {
  const { resolve, reject } = statement
  const cancel = clock.after(deadlineMs, () => reject(new DeadlineError(deadlineMs)))
  statement.resolve = (result) => {
    cancel()
    resolve(result)
  }
  statement.reject = (error) => {
    cancel()
    reject(error)
  }
}

/** The error of a statement that was not sent, or whose answer does not count. */
export function refusal(code: string, why: string): Error {
  return Object.assign(new Error(`Cannot ask the database: ${why}`), { code })
}
