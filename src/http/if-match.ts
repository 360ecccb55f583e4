type IfMatch =
  | { readonly kind: 'none' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'malformed'; readonly message: string }

/** One strong entity tag (RFC 9110, section 13.1.1) with a version in it. */
const VERSION = /^"([1-9]\d{0,8})"$/

const MALFORMED: IfMatch = {
  kind: 'malformed',
  message: 'If-Match must be the version of the booking in double quotes, such as "3"',
}

/**
 * Reads an `If-Match` header with the version that a change is based on (docs/design.md#portal-api).
 * @param header null when it is missing
 */
export function ifMatchOf(header: string | null): IfMatch {
  if (header === null) return { kind: 'none' }
  const version = VERSION.exec(header.trim())?.[1]
  return version === undefined ? MALFORMED : { kind: 'version', version: Number(version) }
}
