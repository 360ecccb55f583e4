import { decodeStrictly, queryReader } from '../http/query-string.ts'
import { targetOf } from '../http/request-target.ts'
import { type Operation, pathParameters } from '../operation.ts'
import { invalidField, type Problem } from '../problems/problems.ts'

/** Parameters in the path, decoded, by their names. */
export type PathValues = Readonly<Record<string, string>>

export type ReadTarget =
  | { readonly kind: 'read'; readonly path: PathValues; readonly query: unknown }
  /** `path`: the parameters before the one at fault. */
  | { readonly kind: 'refused'; readonly path: PathValues; readonly problem: Problem }

export const NO_PATH: PathValues = {}
const NOTHING: ReadTarget = { kind: 'read', path: NO_PATH, query: {} }

/** Makes the strict reader of an operation's path parameters and query. Without either, the URL is not looked at. */
export function targetReader({ path: template, query: schema }: Operation): (url: string) => ReadTarget {
  const parameters = pathParameters(template)
  if (parameters.length === 0 && schema === undefined) return () => NOTHING
  const readQuery = schema === undefined ? null : queryReader(schema)
  return (url) => {
    const target = targetOf(url)
    let path = NO_PATH
    if (parameters.length > 0) {
      const values: Record<string, string> = {}
      const segments = target.path.split('/')
      for (const { name, segment } of parameters) {
        const value = decodeStrictly(segments[segment] ?? '')
        if (value === null) return { kind: 'refused', path: values, problem: malformed(name) }
        values[name] = value
      }
      path = values
    }
    if (readQuery === null) return { kind: 'read', path, query: {} }
    const read = readQuery(target.query)
    return read.kind === 'refused'
      ? { kind: 'refused', path, problem: read.problem }
      : { kind: 'read', path, query: read.query }
  }
}

function malformed(name: string): Problem {
  return invalidField(name, 'must be percent-encoded UTF-8 and must not contain U+0000')
}
