/** Values that break careless parsers, and valid ones to put them among. */
import type { Document } from './conformity.ts'

/**
 * Each makes a text of about so many characters. What takes exponential time shows with 48 of them already; what takes quadratic time with
 * 16,000.
 */
export const HOSTILE: Readonly<Record<string, (chars: number) => string>> = {
  'tags between commas and blanks': (chars) => `"a"${',  '.repeat((chars - 4) / 3)}x`,
  'weak tags': (chars) => `${'W/"a" ,\t'.repeat(chars / 8)}x`,
  'blanks inside': (chars) => `a${' '.repeat(chars - 2)}a`,
  'blanks after a scheme': (chars) => `Bearer${' '.repeat(chars - 7)},`,
  commas: (chars) => ','.repeat(chars),
  semicolons: (chars) => 'a=b; '.repeat(chars / 5),
  quotes: (chars) => '"'.repeat(chars),
  backslashes: (chars) => `"${'\\'.repeat(chars - 1)}`,
  percents: (chars) => '%'.repeat(chars),
  'encoded letters': (chars) => '%41'.repeat(chars / 3),
  dots: (chars) => `a${'.'.repeat(chars - 2)}a`,
  slashes: (chars) => `a${'/'.repeat(chars - 2)}a`,
  colons: (chars) => ':'.repeat(chars),
  addresses: (chars) => '::1, '.repeat(chars / 5),
  equals: (chars) => `=?base64?${'='.repeat(chars - 9)}`,
  ampersands: (chars) => 'a=1&'.repeat(chars / 4),
  dashes: (chars) => '2027-01-'.repeat(chars / 8),
  digits: (chars) => '9'.repeat(chars),
  exponents: (chars) => `1${'e9'.repeat(chars / 2)}`,
  letters: (chars) => 'a'.repeat(chars),
  'ats of an email': (chars) => `${'a@a.'.repeat(chars / 4)}@`,
  qualities: (chars) => 'text/html;q=0.1,'.repeat(chars / 16),
  brackets: (chars) => '['.repeat(chars),
  'combining marks': (chars) => `e${'\u0301'.repeat(chars - 1)}`,
  'nought characters': (chars) => '\0'.repeat(chars),
  surrogates: (chars) => '\u{1F600}\u200d'.repeat(chars / 3),
}

/** Bodies of JSON, or nearly, of so many characters. */
export const HOSTILE_BODIES: Readonly<Record<string, (chars: number) => string>> = {
  'arrays in arrays': (chars) => '['.repeat(chars),
  'objects in objects': (chars) => '{"a":'.repeat(chars / 5),
  'closed arrays': (chars) => `${'['.repeat(chars / 2)}${']'.repeat(chars / 2)}`,
  digits: (chars) => `{"nights":${'9'.repeat(chars - 11)}}`,
  'a fraction': (chars) => `{"nights":0.${'0'.repeat(chars - 13)}1}`,
  'an exponent': (chars) => `{"nights":1e${'9'.repeat(chars - 13)}}`,
  escapes: (chars) => `{"unit":"${'\\u0000'.repeat((chars - 12) / 6)}"}`,
  'escaped quotes': (chars) => `{"unit":"${'\\"'.repeat((chars - 12) / 2)}"}`,
  backslashes: (chars) => `{"unit":"${'\\'.repeat(chars - 9)}`,
  blanks: (chars) => `{${' '.repeat(chars - 2)}}`,
  'many members': (chars) => `{${Array.from({ length: chars / 12 }, (_, i) => `"a${i}":0`).join(',')}}`,
  'the same member': (chars) => `{${'"unit":0,'.repeat(chars / 9)}"unit":0}`,
  'many elements': (chars) => `{"units":[${'0,'.repeat((chars - 14) / 2)}0]}`,
  'members without a value': (chars) => `{${'"a":'.repeat(chars / 4)}`,
}

/* biome-ignore-start lint/suspicious/noExplicitAny: schemas are walked as they come */

/** A place for a text in a body: the members that lead there; a number is the first element of an array. */
type Place = readonly (string | number)[]

export class Schemas {
  readonly #document: Document
  readonly #known: Readonly<Record<string, unknown>>

  /** @param known values by the name of a member or parameter, for those that must exist */
  constructor(document: Document, known: Readonly<Record<string, unknown>>) {
    this.#document = document
    this.#known = known
  }

  resolved(schema: any): any {
    if (schema?.$ref === undefined) return schema
    const parts: string[] = String(schema.$ref).split('/').slice(1)
    return parts.reduce((found, part) => found[part], this.#document)
  }

  /** A value that the schema accepts, with every member. */
  valueOf(given: any, name = ''): any {
    const known = this.#known[name]
    if (known !== undefined) return known
    const schema = this.resolved(given)
    if (schema.const !== undefined) return schema.const
    if (schema.enum !== undefined) return schema.enum[0]
    if (schema.anyOf !== undefined) return this.valueOf(schema.anyOf[0], name)
    if (schema.type === 'object') {
      const members = Object.entries<any>(schema.properties ?? {})
      return Object.fromEntries(members.map(([member, each]) => [member, this.valueOf(each, member)]))
    }
    if (schema.type === 'array') return schema.items === undefined ? [] : [this.valueOf(schema.items)]
    if (schema.type === 'integer' || schema.type === 'number') return Math.max(schema.minimum ?? 1, 1)
    if (schema.type === 'boolean') return true
    if (schema.type === 'null') return null
    return schema.format === 'date' ? '2027-01-01' : 'a'.repeat(Math.max(schema.minLength ?? 1, 1))
  }

  /** Every place of a body where something other than an object or an array stands. */
  placesOf(given: any): Place[] {
    const schema = this.resolved(given)
    const { anyOf = [], properties = {}, items } = schema
    const below = [
      ...anyOf.flatMap((each: any) => this.placesOf(each)),
      ...Object.entries<any>(properties).flatMap(([name, each]) =>
        this.placesOf(each).map((place) => [name, ...place]),
      ),
      ...(items === undefined ? [] : this.placesOf(items).map((place) => [0, ...place])),
    ]
    if (below.length === 0) return [[]]
    return [...new Map(below.map((place: Place) => [JSON.stringify(place), place])).values()]
  }
}

/** A copy of `body` with `value` in a place of it. */
export function withValue(body: any, place: Place, value: unknown): unknown {
  const [first, ...rest] = place
  if (first === undefined) return value
  const inner = withValue(body?.[first], rest, value)
  return typeof first === 'number' ? [inner] : { ...body, [first]: inner }
}
/* biome-ignore-end lint/suspicious/noExplicitAny: see above */
