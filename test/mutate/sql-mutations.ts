import { lineAt, type Mutation, type MutationKind } from './mutation.ts'

/** What is exchanged in SQL. A match must not be part of a longer operator. */
const EXCHANGES: readonly [pattern: RegExp, kind: MutationKind, replacement: string][] = [
  [/(?<![<>=:!@-])<(?![<>=@])/g, 'bound', '<='],
  [/(?<![<@])<=/g, 'bound', '<'],
  [/(?<![<>=@-])>(?![<>=])/g, 'bound', '>='],
  [/(?<![<>@-])>=/g, 'bound', '>'],
  [/(?<=\s)=(?=\s)/g, 'operator', '<>'],
  [/(?<=\s)<>(?=\s)/g, 'operator', '='],
  [/(?<=\s)\+(?=\s)/g, 'operator', '-'],
  [/(?<=\s)-(?=\s)/g, 'operator', '+'],
  [/\band\b/g, 'operator', 'or'],
  [/\bor\b(?! replace)/g, 'operator', 'and'],
  [/\bis null\b/g, 'condition', 'is not null'],
  [/\bis not null\b/g, 'condition', 'is null'],
  [/\bnot exists\b/g, 'condition', 'exists'],
  [/(?<!not |if )\bexists\b/g, 'condition', 'not exists'],
  [/\bdesc\b/g, 'operator', 'asc'],
]
/** A plpgsql statement on lines of its own, which can be left out whole. */
const STATEMENT = /^[ \t]*(?:perform|raise|update|insert|delete|return next)\b[^;]*;/gm

/**
 * Every mutation of a text of SQL; some do not parse, which shows when the schema is made.
 * @param from only what lies between `from` and `until` is mutated
 */
export function sqlMutations(file: string, text: string, [from, until] = [0, text.length]): Mutation[] {
  const code = blanked(text)
  const found: Mutation[] = []
  const add = (kind: MutationKind, start: number, end: number, replacement: string) => {
    if (start >= from && end <= until) found.push({ file, line: lineAt(text, start), start, end, replacement, kind })
  }
  for (const [pattern, kind, replacement] of EXCHANGES)
    for (const { 0: match, index } of code.matchAll(pattern)) {
      // The `and` of `between` belongs to it, and what `set` assigns is no comparison.
      if (match === 'and' && /\bbetween\s+\S+\s*$/.test(code.slice(Math.max(0, index - 80), index))) continue
      add(kind, index, index + match.length, replacement)
    }
  for (const { 0: match, index } of code.matchAll(STATEMENT)) {
    const start = index + match.length - match.trimStart().length
    add('statement', start, index + match.length, 'null;')
  }
  return found
}

/**
 * The mutations of a file of `sql/`: of the bodies of those functions that no later file defines again.
 * @param laterFiles texts of the files that are applied after it
 */
export function schemaMutations(file: string, text: string, laterFiles: readonly string[]): Mutation[] {
  return functionBodies(text)
    .filter(({ name }) => !laterFiles.some((later) => functionBodies(later).some((body) => body.name === name)))
    .flatMap(({ start, end }) => sqlMutations(file, text, [start, end]))
}

export type FunctionBody = { readonly name: string; readonly start: number; readonly end: number }

/** The functions that a text creates, with what stands between their `$$`. */
export function functionBodies(text: string): FunctionBody[] {
  return [...text.matchAll(/^create (?:or replace )?function (\w+)[\s\S]*?\$\$([\s\S]*?)\$\$/gm)].map((match) => {
    const end = match.index + match[0].length - 2
    return { name: match[1] ?? '', start: end - (match[2] ?? '').length, end }
  })
}

/** The text with comments and strings blanked out, each character in its place. */
function blanked(text: string): string {
  return text.replace(/--.*$|'(?:[^']|'')*'/gm, (match) => ' '.repeat(match.length))
}
