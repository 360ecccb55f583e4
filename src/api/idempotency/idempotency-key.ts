import { sha256Hex } from '../../lib/sha256-hex.ts'

export type IdempotencyKey =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'malformed'; readonly message: string }

const KEY_CHARS_MAX = 255

/** A string of RFC 8941, section 3.3.3: printable ASCII in double quotes, `\"` and `\\` its only escapes. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** Visible ASCII. A quote in it is more likely half of a quoted key than meant. */
const BARE = /^[\x21\x23-\x7e]+$/

/**
 * Reads an `Idempotency-Key` header (docs/design.md#additive-headers): quoted or bare, 1 to 255 characters without the quotes
 * and escapes. `"abc"` and `abc` are the same key.
 * @param header null when it is missing; several headers come joined with a comma and a space, which no key may contain
 */
export function idempotencyKeyOf(header: string | null): IdempotencyKey {
  if (header === null) return { kind: 'none' }
  const text = header.trim()
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1')
  const key = quoted ?? (BARE.test(text) ? text : null)
  if (key === null) return malformed('a string in double quotes, or visible ASCII characters without quotes')
  if (key.length === 0) return malformed('at least 1 character long')
  if (key.length > KEY_CHARS_MAX) return malformed(`at most ${KEY_CHARS_MAX} characters long`)
  return { kind: 'key', key }
}

function malformed(wanted: string): IdempotencyKey {
  return { kind: 'malformed', message: `Idempotency-Key must be ${wanted}` }
}

/**
 * What distinguishes requests with the same key: SHA-256, lower-case hex, of method, path and body.
 * @param path as it was called, not its template: cancelling another booking is another request
 * @param body its canonical JSON text, or what the caller sent; empty when there is none
 */
export function requestHashOf(method: string, path: string, body: string): string {
  // Neither a method nor a path contains a space or a line end, so no two requests give the same text.
  return sha256Hex(`${method} ${path}\n${body}`)
}
