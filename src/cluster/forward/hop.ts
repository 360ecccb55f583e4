/**
 * What one node tells another with a forwarded request, in one header: the proof that it knows CLUSTER_SECRET, the shard that the
 * request belongs to, the listener that it came in by, and the address at the other end of that connection. Whoever does not know the
 * secret can send the header, but not the proof. Whoever has seen one can repeat it for the same method, path, query and values alone.
 *
 * - C8 A request makes one hop at most: one that came with a valid header is never forwarded again, and one that came with any other is
 *   refused at once.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { SHARDS } from '../../core/journal/shard.ts'
import { targetOf } from '../../http/request.ts'

export const HOP_HEADER = 'X-Nightledger-Hop'
/** On the refusal of a header without a valid proof: so that a node does not take it for the owner's answer to its client. */
export const HOP_REFUSED_HEADER = 'X-Nightledger-Hop-Refused'
/** On every answer of a node: who made it. An answer to a forwarded request without it comes from a process that does not serve. */
export const SERVED_BY_HEADER = 'X-Served-By'
/** On a 421 between nodes: the id and URL of the owner as the refusing node knows it. */
export const OWNER_HEADER = 'X-Nightledger-Owner'

/** On a 421 between nodes: what was asked for may have been done before the shard was lost. */
export const DOUBT_HEADER = 'X-Nightledger-Outcome'

export type ListenerName = 'public' | 'admin'

export interface Hop {
  readonly shard: number
  readonly listener: ListenerName
  /** The address at the other end of the connection that the request came in by; null when that was closed. */
  readonly peer: string | null
}

const LISTENERS: ReadonlySet<string> = new Set<ListenerName>(['public', 'admin'])

export function isListenerName(text: string): text is ListenerName {
  return LISTENERS.has(text)
}

const NO_PEER = '-'
/** The one in use, and the one before or after it. */
export const SECRETS_MAX = 2

/** The request that a header is written for. */
interface HopRequest {
  readonly method: string
  /** As `Request` has it. The nodes have different hosts, and a client need not send one: only what comes after it counts. */
  readonly url: string
}

/** Writes and reads the header for the nodes that know a secret in common: while it is changed, each may know two. */
export class Hops {
  readonly #secrets: readonly string[]

  /** @param secrets of CLUSTER_SECRET, at least one */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
  }

  /** With a proof by each secret, so that a node that knows one of them believes it. */
  text({ shard, listener, peer }: Hop, request: HopRequest): string {
    const values = `${shard} ${listener} ${peer ?? NO_PEER}`
    const proofs = this.#proofs(values, request).map((proof) => proof.toString('hex'))
    return `${proofs.join(',')} ${values}`
  }

  /** Null: whoever wrote it is not a node of this cluster, or wrote it for another request. Compares in constant time. */
  read(header: string, request: HopRequest): Hop | null {
    const [proofs = '', shardText = '', listener = '', peer = ''] = header.split(' ')
    const given = proofs.split(',', SECRETS_MAX).map((proof) => Buffer.from(proof, 'hex'))
    const expected = this.#proofs(`${shardText} ${listener} ${peer}`, request)
    if (!expected.some((proof) => given.some((each) => isSame(each, proof)))) return null
    const shard = /^\d{1,3}$/.test(shardText) ? Number(shardText) : SHARDS
    if (shard >= SHARDS || !isListenerName(listener)) return null
    return { shard, listener, peer: peer === NO_PEER ? null : peer }
  }

  #proofs(values: string, { method, url }: HopRequest): Buffer[] {
    const text = `nightledger hop 2\n${values}\n${method} ${sentTarget(url)}`
    return this.#secrets.map((secret) => createHmac('sha256', secret).update(text).digest())
  }
}

/** Path and query as `fetch` sends them: with dots resolved. */
function sentTarget(url: string): string {
  const { path, query } = targetOf(url)
  const target = URL.parse(`http://node${path}?${query}`)
  return target === null ? url : `${target.pathname}${target.search}`
}

function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected)
}
