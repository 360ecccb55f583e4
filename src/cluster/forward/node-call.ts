/** One attempt to have a request answered by another node. */

import { NOT_OWNER_STATUS } from '../../http/problem-of.ts'
import { targetOf } from '../../http/request.ts'
import { parseNodeUrl } from '../cluster-keys.ts'
import type { NodeAddress } from '../shard-owners.ts'
import { DOUBT_HEADER, HOP_REFUSED_HEADER, OWNER_HEADER, SERVED_BY_HEADER } from './hop.ts'
import type { Body } from './kept-body.ts'
import { type CallOutcome, UNKNOWN } from './owner-calls.ts'

interface NodeCall {
  readonly method: string
  /** Of the request; only its path and query are used. */
  readonly url: string
  readonly headers: Headers
  /** Null: the method has none. */
  readonly body: Body | null
  /** Ends the call, and the body of its answer. */
  readonly signal: AbortSignal
}

/** Of this connection, not of the request (RFC 9110, section 7.6.1); and what `fetch` says itself. */
const NOT_FORWARDED = [
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'proxy-connection',
  'transfer-encoding',
  'content-length',
  'expect',
]
/** Bun's own answer, before the request is anybody's: with what is added to it, a header that just fitted does not fit any more. */
const HEADERS_TOO_LARGE = 431
/** Of the other connection, and what is between nodes. */
const NOT_RETURNED = ['connection', 'keep-alive', 'transfer-encoding', 'date', OWNER_HEADER]

/** The headers that a request is forwarded with: those that it came with. The hop is added for each call. */
export function forwardedHeaders(request: Request, requestId: string): Headers {
  const headers = new Headers(request.headers)
  for (const name of NOT_FORWARDED) headers.delete(name)
  headers.set('X-Request-Id', requestId)
  // Otherwise `fetch` would accept encodings that the client does not.
  if (!headers.has('accept-encoding')) headers.set('Accept-Encoding', 'identity')
  return headers
}

/** How a request reaches another node: as `fetch` does. */
export type NodeFetch = (url: string, init: NodeFetchInit) => Promise<Response>

export interface NodeFetchInit extends Omit<NodeCall, 'url'> {
  readonly redirect: 'manual'
  readonly decompress: false
}

/** Never rejects. */
export async function callNode(node: NodeAddress, { url, ...call }: NodeCall, fetch: NodeFetch): Promise<CallOutcome> {
  try {
    const { path, query } = targetOf(url)
    const target = `${node.url}${path}${query === '' ? '' : `?${query}`}`
    const answer = await fetch(target, { ...call, redirect: 'manual', decompress: false })
    const { status, headers, body } = answer
    // Of a connection that is lost already, the body cannot even be cancelled.
    const discard = () => void body?.cancel().catch(() => {})
    if (headers.has(HOP_REFUSED_HEADER)) {
      discard()
      return { kind: 'refused' }
    }
    if (status === NOT_OWNER_STATUS || (status !== HEADERS_TOO_LARGE && !headers.has(SERVED_BY_HEADER))) {
      discard()
      return { kind: 'not_owner', owner: ownerIn(headers), isDoubtful: headers.has(DOUBT_HEADER) }
    }
    const kept = new Headers(headers)
    for (const name of NOT_RETURNED) kept.delete(name)
    const isStream = body !== null && !headers.has('content-length') && call.method !== 'HEAD'
    // Of a known length: all of it is here before any of it is sent on, so that an answer that breaks off can be asked for again.
    const sent = isStream ? body : body === null ? null : await answer.arrayBuffer()
    return { kind: 'answered', response: new Response(sent, { status, headers: kept }), isStream }
  } catch {
    return UNKNOWN
  }
}

function ownerIn(headers: Headers): NodeAddress | null {
  const [id = '', text = ''] = headers.get(OWNER_HEADER)?.split(' ') ?? []
  const url = parseNodeUrl(text)
  return url === null ? null : { id, url }
}
