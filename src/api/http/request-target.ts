/** A request's URL, split as text: constructing a `URL` would be the largest cost of a fast answer. */
export interface RequestTarget {
  /** Still percent-encoded. */
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
}

const SLASH = 0x2f

/** @param url as `Request` has it: absolute, or the path alone (HTTP/1.0 without `Host`) */
export function targetOf(url: string): RequestTarget {
  // No scheme is shorter than `http://`, and no host is empty.
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf('/', 8)
  const mark = url.indexOf('?', start)
  if (mark === -1) return { path: url.slice(start), query: '' }
  return { path: url.slice(start, mark), query: url.slice(mark + 1) }
}
