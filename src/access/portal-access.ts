import { createHash, timingSafeEqual } from 'node:crypto'

const BEARER = /^bearer +([\x21-\x7e]+)$/i
const HEADER_CHARS_MAX = 1_024

/**
 * Returns a function that says whether a request carries one of the operator's tokens. It compares digests in constant time, and
 * always with all of them, so its timing reveals neither the tokens nor their lengths.
 */
export function portalAccess(tokens: readonly string[]): (authorization: string | null) => boolean {
  const wanted = tokens.map(digest)
  return (authorization) => {
    if (authorization === null || authorization.length > HEADER_CHARS_MAX) return false
    const given = BEARER.exec(authorization)?.[1]
    if (given === undefined) return false
    const found = digest(given)
    return wanted.reduce((isFound, each) => timingSafeEqual(found, each) || isFound, false)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
