import type { Static, TObject } from '@sinclair/typebox'
import type { IdSource } from '../lib/ids.ts'
import { invalid, invalidField, type Problem } from './problems.ts'
import { validator } from './validator.ts'

/**
 * What is accepted as a caller's own request id: 1 to 128 letters, digits and `. _ : + / = -`, so that UUIDs, ULIDs,
 * trace ids and base64 pass. No space, quote, angle bracket or control character: the id is written into headers, logs,
 * error bodies and the audit trail as it is.
 */
const SANE = /^[A-Za-z0-9._:+/=-]{1,128}$/

/** The caller's `X-Request-Id` if it is acceptable, otherwise a new one (docs/design.md#additive-headers). `header`: null when absent. */
export function requestIdOf(header: string | null, newId: IdSource): string {
  return header !== null && SANE.test(header) ? header : newId('req')
}

/** A request's URL, split as text: constructing a `URL` would be the largest cost of a fast answer. */
interface RequestTarget {
  /** Still percent-encoded. */
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
}

const SLASH = 0x2f

/** @param url as `Request` has it: absolute, or the path alone (HTTP/1.0 without `Host`) */
export function targetOf(url: string): RequestTarget {
  // No scheme is shorter than `http://`, and no host is empty.
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf('/', 8)
  const mark = url.indexOf('?', start)
  if (mark === -1) return { path: url.slice(start), query: '' }
  return { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/** Query strings, read strictly: what is malformed is refused rather than guessed at. */

type ReadQuery<T> = { readonly kind: 'read'; readonly query: T } | Refused

interface Refused {
  readonly kind: 'refused'
  readonly problem: Problem
}

/** Makes the reader of one route's query. Parameters without a schema are ignored. */
export function queryReader<S extends TObject>(schema: S): (query: string) => ReadQuery<Static<S>> {
  const shape = validator(schema, 'query')
  const names: ReadonlySet<string> = new Set(Object.keys(schema.properties))
  const integers = Object.keys(schema.properties).filter((name) => schema.properties[name]?.['type'] === 'integer')
  const readPlainly = plainReader(Object.keys(schema.properties))
  return (text) => {
    const plain = readPlainly(text)
    const split = plain === null ? splitQuery(text, names) : plain
    if (split.kind === 'refused') return split
    const { query } = split
    for (const name of integers) query[name] = integerOrAsWritten(query[name])
    return shape.passes(query) ? { kind: 'read', query } : { kind: 'refused', problem: invalid(shape.faultsOf(query)) }
  }
}

/**
 * The fast path for what nearly every client sends: the parameters in the schema's order, from the first on, none twice, nothing
 * encoded and nothing else. Null: use the slow path, which gives the same result.
 */
function plainReader(names: readonly string[]): (text: string) => ReadQuery<Record<string, unknown>> | null {
  const prefixes = names.map((name) => `${name}=`)
  return (text) => {
    if (NEEDS_DECODING.test(text)) return null
    const query: Record<string, unknown> = {}
    let from = 0
    for (let i = 0; from < text.length; i++) {
      const prefix = prefixes[i]
      if (prefix === undefined || !text.startsWith(prefix, from)) return null
      const end = text.indexOf('&', from)
      query[names[i] as string] = text.slice(from + prefix.length, end === -1 ? text.length : end)
      from = end === -1 ? text.length : end + 1
    }
    return { kind: 'read', query }
  }
}

/** The parameters in `names`, percent-decoded. `text` comes without `?`. */
function splitQuery(text: string, names: ReadonlySet<string>): ReadQuery<Record<string, unknown>> {
  const query: Record<string, unknown> = {}
  // One scan of the whole: nearly every query is plain, and then no part needs decoding.
  const decode = NEEDS_DECODING.test(text) ? decodePart : asWritten
  let from = 0
  while (from < text.length) {
    const end = text.indexOf('&', from)
    const part = end === -1 ? text.slice(from) : text.slice(from, end)
    from = end === -1 ? text.length : end + 1
    const equals = part.indexOf('=')
    const name = decode(equals === -1 ? part : part.slice(0, equals))
    const value = equals === -1 ? '' : decode(part.slice(equals + 1))
    if (name === null || value === null)
      return refused(
        name !== null && names.has(name) ? name : 'query',
        'must be percent-encoded UTF-8 and must not contain U+0000',
      )
    if (!names.has(name)) continue
    if (Object.hasOwn(query, name)) return refused(name, 'must be given only once')
    query[name] = value
  }
  return { kind: 'read', query }
}

function refused(field: string, rest: string): Refused {
  return { kind: 'refused', problem: invalidField(field, rest) }
}

const INTEGER = /^(?:0|-?[1-9]\d*)$/

/** Text that is not an integer stays as it is: the schema refuses it, and says what is accepted. */
function integerOrAsWritten(value: unknown): unknown {
  return typeof value === 'string' && INTEGER.test(value) ? Number(value) : value
}

const NEEDS_DECODING = /[%+\0\ud800-\udfff]/

function asWritten(part: string): string {
  return part
}

function decodePart(part: string): string | null {
  return NEEDS_DECODING.test(part) ? decodeStrictly(part.replaceAll('+', ' ')) : part
}

/** Percent-decoding without guessing: null for a faulty encoding, bytes that are not UTF-8, NUL and lone surrogates. */
export function decodeStrictly(encoded: string): string | null {
  try {
    const decoded = decodeURIComponent(encoded)
    return decoded.includes('\0') || !decoded.isWellFormed() ? null : decoded
  } catch {
    return null
  }
}

/** Whether the query says `dryRun=true`. Whether it is a valid one is found out later: what is refused for its query changes nothing either. */
export function asksForDryRun({ url }: Pick<Request, 'url'>): boolean {
  return new URLSearchParams(targetOf(url).query).get('dryRun') === 'true'
}
