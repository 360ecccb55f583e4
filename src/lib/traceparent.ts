/**
 * W3C Trace Context: the `traceparent` header, which links the logs and traces of several services. Only valid headers of version 00 are read;
 * others count as absent. `tracestate` is not read: vendors' data would have to be stored with each entry for its webhooks.
 */

/** A trace id and the id of the span that the request came from; neither is all zeros. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
/** Where the id of the span and the flags begin. */
const SPAN_AT = 36
const FLAGS_AT = 53

interface WithHeaders {
  readonly headers: Pick<Headers, 'get'>
}

/** The request's traceparent, with no flag except `sampled`; null: missing or invalid. */
export function traceparentIn({ headers }: WithHeaders): string | null {
  const header = headers.get('traceparent')
  if (header === null || !TRACEPARENT.test(header)) return null
  return `${header.slice(0, FLAGS_AT)}0${Number.parseInt(header.slice(FLAGS_AT), 16) & 1}`
}

/** 32 hexadecimal digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, SPAN_AT - 1)
}

/** 16 hexadecimal digits. */
export function spanIdOf(traceparent: string): string {
  return traceparent.slice(SPAN_AT, FLAGS_AT - 1)
}

export function isSampled(traceparent: string): boolean {
  return traceparent.endsWith('1')
}

/** The same trace, from a new span. */
export function childOf(traceparent: string): string {
  return `${traceparent.slice(0, SPAN_AT)}${randomHex(8)}${traceparent.slice(FLAGS_AT - 1)}`
}

export function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex()
}

/** `traceId` of a log line or an error body: absent for a request without a trace. */
export function traceIdIn(request: WithHeaders): { readonly traceId?: string } {
  const traceparent = traceparentIn(request)
  return traceparent === null ? {} : { traceId: traceIdOf(traceparent) }
}
