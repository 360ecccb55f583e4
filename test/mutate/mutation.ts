/** One way of breaking the program: the text from `start` to `end` of `file` becomes `replacement`. `line` counts from 1. */
export type Mutation = {
  readonly file: string
  readonly line: number
  readonly start: number
  readonly end: number
  readonly replacement: string
  readonly kind: MutationKind
}

/**
 * `condition`: negated. `bound`: moved by one. `operator`: exchanged. `statement`, `await`: left out.
 */
export type MutationKind = 'condition' | 'bound' | 'operator' | 'statement' | 'await'

/** The text of the file with the mutation applied. */
export function mutated(text: string, { start, end, replacement }: Mutation): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

/** The changed lines, before and after, without their indentation: how a person recognizes a mutation. */
export function describeMutation(text: string, mutation: Mutation): { before: string; after: string } {
  const from = text.lastIndexOf('\n', mutation.start - 1) + 1
  const lineEnd = text.indexOf('\n', mutation.end)
  const until = lineEnd === -1 ? text.length : lineEnd
  return {
    before: oneLine(text.slice(from, until)),
    after: oneLine(text.slice(from, mutation.start) + mutation.replacement + text.slice(mutation.end, until)),
  }
}

function oneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ')
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
