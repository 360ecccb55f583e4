import type { SeededRandom } from '../../src/lib/seeded-random.ts'
import type { Document } from './conformity.ts'

interface GeneratedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array<ArrayBuffer> | null
}

/* biome-ignore-start lint/suspicious/noExplicitAny: schemas are walked as they come */

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\udfff\ud800',
  '\ufffd',
  '😀'.repeat(50),
  'a'.repeat(121),
  'a'.repeat(2_001),
  "'; drop table booking; --",
  '%',
  '\\',
  '_%_',
  '../../etc/passwd',
  '$&{jndi:ldap://x}',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e999999',
  '0x10',
  '2027-02-30',
  '2027-13-01',
  '0000-00-00',
  '9999-12-31',
  '2027-03-01T00:00:00Z',
  '２０２７-03-01',
  '\u202e\u200b',
  'é'.repeat(255),
]
const HOSTILE_VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  -0,
  1.5,
  21,
  2_161,
  1e308,
  9_007_199_254_740_992,
  [],
  {},
  [[]],
  { a: null },
]
const HOSTILE_TAGS = [
  '',
  '*',
  '"',
  'x',
  '"x"',
  'W/"x"',
  'w/"x"',
  '"x", *',
  '"x""y"',
  ',',
  '"é"',
  '"a b"',
  `"${'x'.repeat(500)}"`,
]
const RAW_BODIES = [
  '',
  '{',
  '[',
  'null',
  '"x"',
  '{}{}',
  '[1,]',
  '1e999999',
  '{"unit":1e999999}',
  `${'['.repeat(40)}${']'.repeat(40)}`,
]
const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-16',
  'application/xml',
  'x',
]

/**
 * Parameters of a query that are given together, and not with those of another form. By path template: a document cannot say that.
 */
const FORMS: Record<string, readonly (readonly string[])[]> = {
  '/partner/v1/search': [
    ['arrival', 'departure'],
    ['from', 'to', 'nights'],
  ],
}

/** Draws requests from an OpenAPI document: valid, nearly valid, hostile. */
export class RequestGenerator {
  readonly #document: Document
  readonly #random: SeededRandom
  /** Values that exist, by parameter or member name: without them nearly all would end in 404. */
  readonly #known: Record<string, () => readonly string[]>
  readonly #operations: { method: string; template: string; operation: any }[]

  constructor(document: Document, random: SeededRandom, known: Record<string, () => readonly string[]>) {
    this.#document = document
    this.#random = random
    this.#known = known
    this.#operations = Object.entries<any>(document.paths).flatMap(([template, methods]) =>
      Object.entries<any>(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        template,
        operation,
      })),
    )
  }

  next(): GeneratedRequest {
    const random = this.#random
    const { method, template, operation } = random.pick(this.#operations)
    /** How often a value is hostile: mostly never, sometimes here and there, sometimes all over. */
    const malice = random.pick([0, 0, 0, 0.15, 0.6])
    const parameters = (operation.parameters ?? []).map((parameter: any) => this.#resolved(parameter))
    let path = template
    const query: string[] = []
    const forms = random.chance(0.2) ? [] : (FORMS[template] ?? [])
    const form = forms.length === 0 ? [] : random.pick([...forms])
    for (const parameter of parameters) {
      const { name, schema } = parameter
      if (!form.includes(name) && forms.flat().includes(name)) continue
      const required = parameter.required || form.includes(name)
      if (parameter.in === 'path')
        path = path.replace(
          `{${name}}`,
          this.#encoded(this.#text(this.#pathName(template, name), schema, malice), malice),
        )
      if (parameter.in === 'query' && (required ? !random.chance(malice / 4) : random.chance(0.4))) {
        const known = `query ${template} ${name}`
        const value = this.#text(this.#known[known] === undefined ? name : known, schema, malice)
        query.push(`${name}=${this.#encoded(value, malice)}`)
      }
    }
    if (random.chance(malice / 4) && query.length > 0) query.push(random.pick(query))
    if (random.chance(malice / 4)) query.push(random.pick(['%', 'x=%zz', '__proto__=1', 'a[]=1', '&&', 'x=%00']))
    const headers: Record<string, string> = {}
    if (random.chance(0.2)) headers['idempotency-key'] = random.pick(['k1', 'k2', '"k3"', 'k'.repeat(255), 'a b', '"'])
    for (const { name } of parameters)
      if (name === 'If-None-Match' || name === 'If-Match') {
        const known = this.#known[name]?.() ?? []
        if (random.chance(0.4))
          headers[name] = random.pick([...HOSTILE_TAGS, ...known, ...known.map((tag) => `"x", W/${tag}`)])
      }
    const body = this.#body(operation, headers, malice)
    return { method, path: query.length === 0 ? path : `${path}?${query.join('&')}`, headers, body }
  }

  /** Values of a parameter are known for one path, or for all. */
  #pathName(template: string, name: string): string {
    return this.#known[`path ${template}`] === undefined ? name : `path ${template}`
  }

  #body(operation: any, headers: Record<string, string>, malice: number): GeneratedRequest['body'] {
    const random = this.#random
    if (operation.requestBody === undefined) return null
    if (!operation.requestBody.required && random.chance(0.3)) return null
    headers['content-type'] = random.chance(malice / 4) ? random.pick(TYPES) : 'application/json'
    if (random.chance(malice / 4)) return random.pick(RAW_BODIES)
    const text =
      JSON.stringify(this.#value('body', operation.requestBody.content['application/json'].schema, malice)) ?? ''
    if (!random.chance(malice / 4)) return text
    const damaged = new TextEncoder().encode(text)
    if (damaged.length > 0) damaged[random.int(0, damaged.length - 1)] = random.int(0, 255)
    return damaged
  }

  #value(name: string, given: any, malice: number): unknown {
    const random = this.#random
    const schema = this.#resolved(given)
    if (name !== 'body' && random.chance(malice / 2))
      return random.chance(0.5) ? random.pick(HOSTILE_VALUES) : random.pick(HOSTILE_TEXTS)
    if (schema.anyOf !== undefined) return this.#value(name, random.pick<any>(schema.anyOf), malice)
    switch (schema.type) {
      case 'object': {
        const object: Record<string, unknown> = {}
        const required: string[] = schema.required ?? []
        for (const [member, each] of Object.entries<any>(schema.properties ?? {}))
          if (required.includes(member) ? !random.chance(malice / 6) : random.chance(0.35))
            object[member] = this.#value(member, each, malice)
        if (random.chance(malice / 2))
          object[random.pick(['totalAmount', '__proto__', 'constructor', 'x', ''])] = random.pick(HOSTILE_VALUES)
        return object
      }
      case 'null':
        return null
      case 'boolean':
        return random.chance(0.5)
      case 'integer':
      case 'number':
        return this.#integer(schema)
      default:
        return this.#text(name, schema, 0)
    }
  }

  #text(name: string, schema: any, malice: number): string {
    const random = this.#random
    if (random.chance(malice / 2)) return random.pick(HOSTILE_TEXTS)
    const known = this.#known[name]?.() ?? []
    if (known.length > 0 && !random.chance(0.05)) return random.pick(known)
    if (schema.enum !== undefined) return random.pick(schema.enum)
    if (schema.type === 'integer') return String(this.#integer(schema))
    if (schema.format === 'date') return new Date(Date.UTC(2027, 0, random.int(1, 500))).toISOString().slice(0, 10)
    if (schema.format === 'email') return `guest${random.int(1, 50)}@example.com`
    const length = random.int(schema.minLength ?? 0, Math.min(schema.maxLength ?? 12, random.chance(0.1) ? 3_000 : 12))
    return Array.from({ length }, () => random.pick([...'abcXYZ 09-_.é😀'])).join('')
  }

  #integer({ minimum = -5, maximum = 1_000 }: { minimum?: number; maximum?: number }): number {
    const random = this.#random
    return random.chance(0.2) ? random.pick([minimum, maximum]) : random.int(minimum, Math.min(maximum, minimum + 50))
  }

  #encoded(value: string, malice: number): string {
    if (this.#random.chance(malice / 6))
      return this.#random.pick(['%', '%zz', '%ff', '%00', '%ed%a0%80', 'a%2fb', '..', ''])
    return encodeURIComponent(value.toWellFormed())
  }

  #resolved(schema: any): any {
    if (schema?.$ref === undefined) return schema
    return String(schema.$ref)
      .split('/')
      .slice(1)
      .reduce((found, part) => found[part], this.#document)
  }
}
/* biome-ignore-end lint/suspicious/noExplicitAny: see above */
