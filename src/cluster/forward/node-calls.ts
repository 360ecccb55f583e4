/** Requests to other nodes, by HTTP. */
import { requestIdOf } from '../../http/request.ts'
import type { IdSource } from '../../lib/ids.ts'
import { HOP_HEADER, type Hop, type Hops, SERVED_BY_HEADER } from './hop.ts'
import { callNode, forwardedHeaders, type NodeFetch } from './node-call.ts'
import { ownerBound, ShardWatch } from './owner-bound.ts'
import {
  type CallContext,
  isPartnerRoute,
  isSafe,
  isWait,
  type OwnedRequest,
  type OwnerCalls,
  type SendToOwner,
  withoutWait,
} from './owner-calls.ts'

interface NodeCallsOptions extends CallContext {
  readonly hops: Hops
  readonly fetch: NodeFetch
  readonly newId: IdSource
}

export class NodeCalls implements OwnerCalls {
  readonly #options: NodeCallsOptions
  readonly #watch: ShardWatch

  constructor(options: NodeCallsOptions) {
    this.#options = options
    this.#watch = new ShardWatch(options.owners)
  }

  sender({ listener, request, shard, route }: OwnedRequest): SendToOwner {
    const { hops, newId, owners, clock, leaving, fetch } = this.#options
    const isRead = isSafe(request)
    const hop: Hop = { shard, listener: listener.name, peer: isPartnerRoute(route) ? null : listener.peerOf(request) }
    const requestId = requestIdOf(request.headers.get('x-request-id'), newId)
    const { method } = request
    const waits = isWait(request)
    const client = request.signal
    const bound = { owners, clock, leaving, isRead, isWait: waits, watch: this.#watch, shard, client }
    return (node, body, onEnd) => {
      const url = waits && leaving.aborted ? withoutWait(request.url) : request.url
      const headers = forwardedHeaders(request, requestId)
      headers.set(HOP_HEADER, hops.text(hop, { method, url }))
      const call = (signal: AbortSignal) => callNode(node, { method, url, headers, body, signal }, fetch)
      return listener.withoutIdleTimeout(request, () => ownerBound({ ...bound, node, onEnd }, call))
    }
  }

  hopOf(request: Request): Hop | 'forged' | null {
    const text = request.headers.get(HOP_HEADER)
    if (text === null) return null
    request.headers.delete(HOP_HEADER)
    return this.#options.hops.read(text, request) ?? 'forged'
  }

  /** With the node that has made it, which another node that forwards it leaves as it is. */
  signed(response: Response): Response {
    if (!response.headers.has(SERVED_BY_HEADER)) response.headers.set(SERVED_BY_HEADER, this.#options.owners.self.id)
    return response
  }
}
