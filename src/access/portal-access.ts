import { createHash, timingSafeEqual } from 'node:crypto'

const BEARER = /^bearer +([\x21-\x7e]+)$/i
const HEADER_CHARS_MAX = 1_024

/**
 * Returns a function that says whether a request carries the portal's token. It compares digests in constant time, so
 * its timing reveals neither the token nor its length.
 */
export function portalAccess(token: string): (authorization: string | null) => boolean {
  const wanted = digest(token)
  return (authorization) => {
    if (authorization === null || authorization.length > HEADER_CHARS_MAX) return false
    const given = BEARER.exec(authorization)?.[1]
    return given !== undefined && timingSafeEqual(digest(given), wanted)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
