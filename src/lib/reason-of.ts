/** The beginnings of the hints for programmers that Bun appends to errors of `fetch`. */
const HINTS = ['Is the computer able to access', 'For more information, pass `verbose'] as const

/** The message of an error, for display. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const at = Math.min(...HINTS.map((hint) => message.indexOf(hint)).filter((found) => found > 0))
  return at === Number.POSITIVE_INFINITY ? message : message.slice(0, at).replace(/\.? $/, '')
}
