import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'

/** One request and its answer, as the test saw them. */
export interface SeenExchange {
  readonly method: string
  /** As it was called, with the query. */
  readonly path: string
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

/* biome-ignore-start lint/suspicious/noExplicitAny: an OpenAPI document is walked as it comes */
export type Document = any

/** Says what of an answer the OpenAPI document does not allow. */
export class Conformity {
  readonly #document: Document
  readonly #ajv: Ajv2020
  readonly #validators = new Map<string, ValidateFunction>()

  constructor(document: Document) {
    this.#document = document
    this.#ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats(this.#ajv)
    this.#ajv.addSchema(document, 'openapi')
  }

  /** The document's path template for a path, null when it has none. */
  templateOf(path: string): string | null {
    const segments = (path.split('?')[0] ?? '').split('/')
    const templates = Object.keys(this.#document.paths)
    const fits = (template: string) => {
      const parts = template.split('/')
      return parts.length === segments.length && parts.every((part, i) => part.startsWith('{') || part === segments[i])
    }
    if (templates.includes(path)) return path
    // Of several, the one with the fewest parameters (OpenAPI 3.1, Paths Object).
    const parameters = (template: string) => template.split('{').length
    return templates.filter(fits).toSorted((a, b) => parameters(a) - parameters(b))[0] ?? null
  }

  faultsIn(exchange: SeenExchange): string[] {
    const { method, path, status, headers, body } = exchange
    const template = this.templateOf(path)
    const operation = template === null ? undefined : this.#document.paths[template][method.toLowerCase()]
    const where = `${method} ${path} → ${status}`
    if (!headers.get('x-request-id')) return [`${where}: no X-Request-Id`]
    // A route that is not in the document has one answer only.
    if (operation === undefined)
      return status === 404 || method === 'OPTIONS' || method === 'HEAD' ? [] : [`${where}: not in the document`]
    const response = operation.responses[status]
    if (response === undefined) return [`${where}: the document has no such status`]
    const missing = Object.keys(response.headers ?? {})
      .filter((name) => name !== 'Idempotency-Replayed' && name !== 'X-Mode' && !headers.has(name))
      .filter((name) => !(name === 'Retry-After' && status === 500))
      .map((name) => `${where}: no header ${name}`)
    if (response.content === undefined) return body === null ? missing : [...missing, `${where}: a body`]
    const types = Object.keys(response.content)
    const mediaType = types.includes('application/json') ? 'application/json' : (types[0] ?? '')
    const validate = this.#validatorOf(template ?? '', method.toLowerCase(), status, mediaType)
    if (validate(body)) return missing
    return [
      ...missing,
      ...(validate.errors ?? []).map((e) => `${where}: ${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`),
    ]
  }

  #validatorOf(template: string, method: string, status: number, mediaType: string): ValidateFunction {
    const pointer = ['paths', template, method, 'responses', String(status), 'content', mediaType, 'schema']
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/')
    const known = this.#validators.get(pointer)
    if (known !== undefined) return known
    const validate = this.#ajv.compile({ $ref: `openapi#/${pointer}` })
    this.#validators.set(pointer, validate)
    return validate
  }
}
/* biome-ignore-end lint/suspicious/noExplicitAny: see above */

/** A list had to wait for longer than a list may: not a fault of the service, should the machine be that busy. */
export function isOfBusyMachine(problem: string): boolean {
  return /"title":"Cannot read the list: (this agency has too many list requests|it took longer)/.test(problem)
}
