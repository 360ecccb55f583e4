/**
 * What one node tells another with a forwarded request, in one header: the proof that it knows CLUSTER_SECRET, the shard that the
 * request belongs to, the listener that it came in by, and the address at the other end of that connection. Whoever does not know the
 * secret can send the header, but not the proof. Whoever has seen one can repeat it for the same method, path, query and values alone.
 *
 * - C8 A request makes one hop at most: one that came with a valid header is never forwarded again.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { SHARDS } from '../../core/journal/shard.ts'

export const HOP_HEADER = 'X-Nightledger-Hop'
/** On every answer of a node: who made it. An answer to a forwarded request without it comes from a process that does not serve. */
export const SERVED_BY_HEADER = 'X-Served-By'
/** On a 421 between nodes: the id and URL of the owner as the refusing node knows it. */
export const OWNER_HEADER = 'X-Nightledger-Owner'

export type ListenerName = 'public' | 'admin'

export interface Hop {
  readonly shard: number
  readonly listener: ListenerName
  /** The address at the other end of the connection that the request came in by; null when that was closed. */
  readonly peer: string | null
}

const LISTENERS: ReadonlySet<string> = new Set<ListenerName>(['public', 'admin'])
const NO_PEER = '-'

/** The request that a header is written for. */
export interface HopRequest {
  readonly method: string
  /** Absolute. The nodes have different hosts: only what comes after the host counts. */
  readonly url: string
}

/** Writes and reads the header for the nodes that know the same secret. */
export class Hops {
  readonly #secret: string

  /** @param secret CLUSTER_SECRET */
  constructor(secret: string) {
    this.#secret = secret
  }

  text({ shard, listener, peer }: Hop, request: HopRequest): string {
    const values = `${shard} ${listener} ${peer ?? NO_PEER}`
    return `${this.#proof(values, request).toString('hex')} ${values}`
  }

  /** Null: whoever wrote it is not a node of this cluster, or wrote it for another request. Compares in constant time. */
  read(header: string, request: HopRequest): Hop | null {
    const [proof = '', shardText = '', listener = '', peer = ''] = header.split(' ')
    const given = Buffer.from(proof, 'hex')
    const expected = this.#proof(`${shardText} ${listener} ${peer}`, request)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    const shard = /^\d{1,3}$/.test(shardText) ? Number(shardText) : SHARDS
    if (shard >= SHARDS || !LISTENERS.has(listener)) return null
    return { shard, listener: listener as ListenerName, peer: peer === NO_PEER ? null : peer }
  }

  #proof(values: string, { method, url }: HopRequest): Buffer {
    const { pathname, search } = new URL(url)
    return createHmac('sha256', this.#secret)
      .update(`nightledger hop 2\n${values}\n${method} ${pathname}${search}`)
      .digest()
  }
}
