/**
 * Entity tags (RFC 9110, sections 8.8.3 and 13.1): made, and read from `If-None-Match` and `If-Match`.
 *
 * A tag is a hash of what an answer is made from, never of the answer: which one it is, and the versions of everything it
 * depends on. Versions count from the start of the process, so the hash has a seed that is drawn at every start: a tag of an
 * earlier process, and with it one of a history that was given up, is never valid. It also hides how busy other agencies are.
 *
 * X1: anybody may send these headers, without a key too; they are read in linear time.
 */

export class EntityTags {
  readonly #seed: bigint

  /** @param seed 64 bits, drawn at random for each process */
  constructor(seed: bigint) {
    this.#seed = seed
  }

  /**
   * The tag of an answer, with its quotes.
   * @param source the route, everything that the caller asked, and the versions of what it is answered from, so that no two
   *   different answers have the same text
   */
  of(source: string): string {
    return `"${this.partOf(source)}"`
  }

  /** A part of a tag that has something else in it too: letters and digits, without quotes. As for `of` otherwise. */
  partOf(source: string): string {
    return Bun.hash.wyhash(source, this.#seed).toString(36)
  }
}

export type IfMatch =
  | { readonly kind: 'any' }
  /** With their quotes, without `W/`. */
  | { readonly kind: 'tags'; readonly tags: readonly string[] }
  | { readonly kind: 'malformed' }

// A round takes the blanks before its comma and before its tag, never those after it: read in two ways, they cost exponential time.
const LIST =
  /^(?:[ \t]*,)*[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"(?:[ \t]*,(?:[ \t]*(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")?)*[ \t]*$/
const TAGS = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/**
 * Reads `If-Match`. A missing header is the same as `*` (docs/partner-additions.md#5-book-at-the-price-that-was-shown).
 * @param header null when it is missing; several headers come joined with a comma
 */
export function ifMatchOf(header: string | null): IfMatch {
  if (header === null || header.trim() === '*') return { kind: 'any' }
  if (!LIST.test(header)) return { kind: 'malformed' }
  return { kind: 'tags', tags: [...header.matchAll(TAGS)].map(([tag]) => withoutWeakness(tag)) }
}

/**
 * Whether `If-None-Match` holds the tag, so that the caller has the answer already
 * (docs/partner-additions.md#1-conditional-reads). A malformed header holds none.
 */
export function holdsTag(header: string | null, tag: string): boolean {
  if (header === null) return false
  // What nearly every client sends.
  if (header === tag) return true
  const held = ifMatchOf(header)
  return held.kind === 'any' || (held.kind === 'tags' && held.tags.includes(tag))
}

/** Proxies that compress an answer mark its tag as weak. */
function withoutWeakness(tag: string): string {
  return tag.startsWith('W/') ? tag.slice(2) : tag
}
