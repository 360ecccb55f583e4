/**
 * The address of a screen: `#/units/sea-view?tab=rates`. Position and filters live in it, so that an address can be bookmarked, sent
 * to a colleague, and gone back to.
 */

/** `path`: decoded segments, the first of which is the screen. */
export interface Route {
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Members that are null or undefined are left out of the address. */
export type QueryChange = Readonly<Record<string, string | number | boolean | null | undefined>>

/** @param hash as `location.hash` has it; what cannot be decoded is left as it is */
export function parseHash(hash: string): Route {
  const text = hash.replace(/^#?\/?/, '')
  const mark = text.indexOf('?')
  const path = mark === -1 ? text : text.slice(0, mark)
  const query = mark === -1 ? '' : text.slice(mark + 1)
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** @returns `#/units/sea-view?tab=rates`, to be used as an `href` */
export function hashOf(path: readonly string[] | string, query: QueryChange = {}): string {
  const segments = typeof path === 'string' ? [path] : path
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value))
  }
  const text = search.toString()
  return `#/${segments.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** The page of a list that is in the address, from 1. */
export function pageOf({ query }: Route): number {
  return Math.max(1, Number.parseInt(query['page'] ?? '1', 10) || 1)
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
