/**
 * What one node tells another with a forwarded request, in one header: the proof that it knows CLUSTER_SECRET, the shard that the
 * request belongs to, the listener that it came in by, and the address at the other end of that connection. Whoever does not know the
 * secret can send the header, but not the proof.
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

/** Writes and reads the header for the nodes that know the same secret. */
export class Hops {
  readonly #proof: string
  readonly #proofBytes: Buffer

  /** @param secret CLUSTER_SECRET */
  constructor(secret: string) {
    this.#proof = createHmac('sha256', secret).update('nightledger hop 1').digest('hex')
    this.#proofBytes = Buffer.from(this.#proof)
  }

  text({ shard, listener, peer }: Hop): string {
    return `${this.#proof} ${shard} ${listener} ${peer ?? NO_PEER}`
  }

  /** Null: whoever wrote it is not a node of this cluster. Compares in constant time. */
  read(header: string): Hop | null {
    const [proof = '', shardText = '', listener = '', peer = ''] = header.split(' ')
    const given = Buffer.from(proof)
    if (given.length !== this.#proofBytes.length || !timingSafeEqual(given, this.#proofBytes)) return null
    const shard = /^\d{1,3}$/.test(shardText) ? Number(shardText) : SHARDS
    if (shard >= SHARDS || !LISTENERS.has(listener)) return null
    return { shard, listener: listener as ListenerName, peer: peer === NO_PEER ? null : peer }
  }
}
