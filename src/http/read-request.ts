import type { TSchema } from '@sinclair/typebox'
import { type Operation, pathParameters } from './operation.ts'
import { invalid, invalidField, type Problem } from './problems.ts'
import { decodeStrictly, queryReader, targetOf } from './request.ts'
import { type FieldError, validator } from './validator.ts'

const ID = /^[A-Za-z0-9_-]{1,64}$/

/** Whether an id could be one of ours: nothing else is looked up or stored. */
export function isIdShaped(id: string): boolean {
  return ID.test(id)
}

/** Parameters in the path, decoded, by their names. */
export type PathValues = Readonly<Record<string, string>>

type ReadTarget =
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

/**
 * Reading a JSON body so strictly that whatever gets past it can be stored and written again as it is: UTF-8 without
 * faults, no NUL, no lone surrogates, no number beyond doubles, bounded in size and depth.
 */

export const BODY_BYTES_MAX = 65_536
export const BODY_DEPTH_MAX = 32

/** `value` is undefined when there is no body. */
export type ReadBody =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly problem: Problem }

const NO_BODY: ReadBody = { kind: 'read', value: undefined }
/** 413, with the code that malformed bodies have. */
export const TOO_LARGE = refused('body', `must be at most ${BODY_BYTES_MAX} bytes`, 413)
const NOT_JSON_TYPE = refused('Content-Type', 'must be application/json encoded as UTF-8')
const NOT_UTF8 = refused('body', 'must be valid UTF-8')
const COMPRESSED = refused('Content-Encoding', 'must be left out: a body is sent as it is')
const NOT_JSON = refused('body', 'must be a single JSON value')
const TOO_DEEP = refused('body', `must not be nested more than ${BODY_DEPTH_MAX} levels deep`)
const CUT_SHORT = refused('body', 'must be complete: the connection closed before all of it arrived')

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Never rejects: a fault in a body is a value. */
export function readJson(request: Request): Promise<ReadBody> {
  return useJson(request, (read) => read)
}

/**
 * Reads the body and calls `use` with it: one promise fewer than to chain it, for every request with a body. Rejects only if `use`
 * does. With a declared length the stream is never used, which would double the cost.
 */
export function useJson<T>(request: Request, use: (read: ReadBody) => T | Promise<T>): Promise<T> {
  const declared = request.headers.get('content-length')
  if (declared === null) return readUndeclared(request).then(use)
  if (Number(declared) > BODY_BYTES_MAX) return Promise.resolve(use(TOO_LARGE))
  return request.arrayBuffer().then(
    (buffer) => use(readBytes(buffer, request)),
    () => use(CUT_SHORT),
  )
}

/** Chunks, or no body at all: no more is kept than is allowed. */
async function readUndeclared(request: Request): Promise<ReadBody> {
  if (request.body === null) return NO_BODY
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of request.body) {
      size += chunk.byteLength
      if (size > BODY_BYTES_MAX) return TOO_LARGE
      chunks.push(chunk)
    }
  } catch {
    return CUT_SHORT
  }
  return readBytes(Buffer.concat(chunks), request)
}

function readBytes(bytes: ArrayBuffer | Uint8Array, request: Request): ReadBody {
  if (bytes.byteLength === 0) return NO_BODY
  if (!isJsonType(request.headers.get('content-type'))) return NOT_JSON_TYPE
  const text = decode(bytes)
  if (text !== null) return parseJson(text)
  return request.headers.has('content-encoding') ? COMPRESSED : NOT_UTF8
}

/** The same checks for text that is already read. @param text decoded from valid UTF-8 */
export function parseJson(text: string): ReadBody {
  const shape = shapeOf(text)
  if (shape === 'deep') return TOO_DEEP
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return NOT_JSON
  }
  if (shape === 'plain') return { kind: 'read', value }
  const fault = faultIn(value, '')
  if (fault !== null) return refused(fault.field === '' ? 'body' : fault.field, fault.message)
  return { kind: 'read', value }
}

function refused(field: string, rest: string, status = 400): Extract<ReadBody, { kind: 'refused' }> {
  return { kind: 'refused', problem: invalidField(field, rest, { status }) }
}

/** `application/json`, alone or with `charset=utf-8`; other parameters have no meaning and are ignored. */
function isJsonType(contentType: string | null): boolean {
  if (contentType === 'application/json') return true
  if (contentType === null) return false
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim())
  if (type !== 'application/json') return false
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))
  return charset === undefined || /^charset="?utf-?8"?$/.test(charset)
}

function decode(bytes: ArrayBuffer | Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const UPPER_E = 0x45
const LOWER_E = 0x65
/** The upper five bits of a surrogate. */
const SURROGATE = 0xd800
const SURROGATE_MASK = 0xf800

/**
 * One look at the text before it is parsed. `deep`: too deep, counted here so that no parser has to descend. `plain`: whatever it
 * is parsed to can be stored. JSON allows no control characters, so NUL needs an escape; a number beyond doubles needs an exponent
 * or hundreds of digits. Most bodies are plain, and to look through their values would cost as much as to parse them
 * (docs/decisions.md#speed).
 */
function shapeOf(text: string): 'plain' | 'deep' | 'other' {
  let isPlain = true
  let depth = 0
  let inString = false
  /** Characters that may be part of a number. */
  let outside = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === QUOTE) inString = false
      else if (code === BACKSLASH) {
        isPlain = false
        i += 1
      } else if ((code & SURROGATE_MASK) === SURROGATE) isPlain = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1
      if (depth > BODY_DEPTH_MAX) return 'deep'
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1
    else {
      outside += 1
      if (code === UPPER_E || (code === LOWER_E && isDigit(text.charCodeAt(i - 1)))) isPlain = false
    }
  }
  return isPlain && outside < DIGITS_MAX ? 'plain' : 'other'
}

/** Digits of the largest double. */
const DIGITS_MAX = 309

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** The part of a parsed value that cannot be stored, with its path; null if there is none. Recursion is bounded by `shapeOf`. */
function faultIn(value: unknown, path: string): FieldError | null {
  if (typeof value === 'string') return textFault(value, path)
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { field: path, message: 'must be a number that fits in a 64-bit float' }
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = faultIn(value[i], `${path}[${i}]`)
      if (fault !== null) return fault
    }
    return null
  }
  for (const name in value) {
    const fault =
      textFault(name, path) ?? faultIn((value as Record<string, unknown>)[name], path === '' ? name : `${path}.${name}`)
    if (fault !== null) return fault
  }
  return null
}

function textFault(value: string, path: string): FieldError | null {
  if (value.includes('\0')) return { field: path, message: 'must not contain the character U+0000' }
  return value.isWellFormed() ? null : { field: path, message: 'must not contain unpaired surrogates' }
}

const MISSING: ReadBody = { kind: 'refused', problem: invalidField('body', 'is required and must be a JSON object') }

/** Reads a request's JSON body and uses it. Rejects only if `use` does. */
type BodyReader = <T>(request: Request, use: (body: ReadBody) => T | Promise<T>) => Promise<T>

/** Makes the reader of an operation's JSON body. An optional body that is missing reads as `{}`. */
export function bodyReader(
  schema: TSchema,
  { isBodyOptional = false, bodyWithin }: Pick<Operation, 'isBodyOptional' | 'bodyWithin'>,
): BodyReader {
  const shape = validator(schema, 'body')
  const accept = (read: ReadBody): ReadBody => {
    if (read.kind === 'refused') return read
    const given = bodyWithin === undefined ? read.value : within(read.value, bodyWithin)
    const value = given === undefined && isBodyOptional ? {} : given
    if (value === undefined) return MISSING
    if (!shape.passes(value)) return { kind: 'refused', problem: invalid(shape.faultsOf(value)) }
    return value === read.value ? read : { kind: 'read', value }
  }
  return (request, use) => useJson(request, (read) => use(accept(read)))
}

/** What GET answers has nothing else beside the member but `defaults`: more of it is not what GET has answered, and refused as it is. */
function within(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return value
  const isAnswer = Object.keys(value).every((member) => member === name || member === 'defaults')
  return isAnswer ? (value as Record<string, unknown>)[name] : value
}
