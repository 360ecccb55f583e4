/** A broken invariant: a bug in this program. Never caught; the process ends. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/**
 * Holds an invariant. Messages say the action, then the state: `Cannot flush: a flush is in flight`.
 * @throws AssertionError when the condition does not hold
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

/** Closes a `switch` over a union: the compiler refuses a member without a case, and so does the running program. */
export function unreachable(value: never): never {
  throw new AssertionError(`Cannot continue: unexpected value ${describe(value)}`)
}

function describe(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
  }
}
