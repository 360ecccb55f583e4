/** Mutations that change nothing a caller, an operator or the log could see, by file: the line before and after, and why. */
const EQUIVALENT: Record<string, readonly { before: string; after: string; why: string }[] | undefined> = {}

export function isEquivalent(file: string, { before, after }: { before: string; after: string }): boolean {
  return EQUIVALENT[file]?.some((known) => known.before === before && known.after === after) === true
}
