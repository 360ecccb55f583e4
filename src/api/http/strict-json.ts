/**
 * Reading a JSON body so strictly that whatever gets past it can be stored and written again as it is: UTF-8 without
 * faults, no NUL, no lone surrogates, no number beyond doubles, bounded in size and depth.
 */
import { invalidField, type Problem } from '../problems/problems.ts'
import type { FieldError } from '../schema/validator.ts'

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
const NOT_JSON = refused('body', 'must be a single JSON value')
const TOO_DEEP = refused('body', `must not be nested more than ${BODY_DEPTH_MAX} levels deep`)
const CUT_SHORT = refused('body', 'must be complete: the connection closed before all of it arrived')

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Never rejects: a fault in a body is a value. With a declared length the stream is never used, which would double the
 * cost.
 */
export function readJson(request: Request): Promise<ReadBody> {
  const declared = request.headers.get('content-length')
  if (declared === null) return readUndeclared(request)
  if (Number(declared) > BODY_BYTES_MAX) return Promise.resolve(TOO_LARGE)
  return request.arrayBuffer().then(
    (buffer) => readBytes(buffer, request),
    () => CUT_SHORT,
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
  return text === null ? NOT_UTF8 : parseJson(text)
}

/** The same checks for text that is already read. @param text decoded from valid UTF-8 */
export function parseJson(text: string): ReadBody {
  // Counted before parsing, so that no parser has to descend.
  if (isDeep(text)) return TOO_DEEP
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return NOT_JSON
  }
  // Bytes that are valid UTF-8, and JSON, have neither NUL nor lone surrogates unless they are escaped.
  const fault = faultIn(value, '', text.includes('\\'))
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

function isDeep(text: string): boolean {
  if (text.length <= BODY_DEPTH_MAX) return false
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === BACKSLASH) i += 1
      else if (code === QUOTE) inString = false
    } else if (code === QUOTE) inString = true
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1
      if (depth > BODY_DEPTH_MAX) return true
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1
  }
  return false
}

/**
 * The part of a parsed value that cannot be stored, with its path; null if there is none. Recursion is bounded by `isDeep`.
 * @param hasEscapes false: no text can be at fault
 */
function faultIn(value: unknown, path: string, hasEscapes: boolean): FieldError | null {
  if (typeof value === 'string') return hasEscapes ? textFault(value, path) : null
  if (typeof value === 'number')
    return Number.isFinite(value) ? null : { field: path, message: 'must be a number that fits in a 64-bit float' }
  if (typeof value !== 'object' || value === null) return null
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = faultIn(value[i], `${path}[${i}]`, hasEscapes)
      if (fault !== null) return fault
    }
    return null
  }
  for (const name in value) {
    const fault =
      (hasEscapes ? textFault(name, path) : null) ??
      faultIn((value as Record<string, unknown>)[name], path === '' ? name : `${path}.${name}`, hasEscapes)
    if (fault !== null) return fault
  }
  return null
}

function textFault(value: string, path: string): FieldError | null {
  if (value.includes('\0')) return { field: path, message: 'must not contain the character U+0000' }
  return value.isWellFormed() ? null : { field: path, message: 'must not contain unpaired surrogates' }
}
