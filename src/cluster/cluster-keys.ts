/** What the keys of a cluster in etcd are called and say. `prefix` ends in a slash; it has the id of the database, so one etcd serves several. */

import { SHARDS } from '../core/journal/shard.ts'

/**
 * The address of a node, from wherever it is read: NODE_URL, etcd, or another node. Only its origin is ever used, so there must be nothing
 * else: no credentials, no path, no query.
 * @returns an origin, without a slash at its end; null when it is none
 */
export function parseNodeUrl(text: string): string | null {
  const url = URL.parse(text)
  const isOrigin = url !== null && ['http:', 'https:'].includes(url.protocol) && url.href === `${url.origin}/`
  return isOrigin ? url.origin : null
}

/** The address of a worker: the path of its socket comes after it. */
export const SOCKET_URL_PREFIX = 'unix:'

function parseSocketUrl(text: string): string | null {
  return text.startsWith(`${SOCKET_URL_PREFIX}/`) ? text : null
}

/** The member key of a node. */
export interface Member {
  readonly id: string
  readonly url: string
  readonly version: string
  /** Identifies the run of the process on its machine; null where that cannot be told. */
  readonly run: string | null
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly state: MemberState
  /** Left out by the version before: not known. */
  readonly reachesDatabase?: boolean
}

/** up: wants its part of the shards. leaving: is being stopped, and gives them up. no_database: reaches none, although others do. */
export type MemberState = (typeof STATES)[number]

const STATES = ['up', 'leaving', 'no_database'] as const

/** The key of a shard. */
export interface Claim {
  readonly node: string
  /** The owner has acquired it. Otherwise it is about to. */
  readonly isServing: boolean
}

type ClusterKey =
  | { readonly kind: 'member'; readonly id: string }
  | { readonly kind: 'shard'; readonly shard: number }
  /** The operator wants this node to own nothing. Hangs on the node's lease, so it ends with the process. */
  | { readonly kind: 'drain'; readonly id: string }

export class ClusterKeys {
  constructor(readonly prefix: string) {}

  member(id: string): string {
    return `${this.prefix}members/${id}`
  }

  shard(shard: number): string {
    return `${this.prefix}shards/${shard}`
  }

  drain(id: string): string {
    return `${this.prefix}drains/${id}`
  }

  /** Null: none of ours. */
  parse(key: string): ClusterKey | null {
    const [kind, name, ...rest] = key.slice(this.prefix.length).split('/')
    if (!key.startsWith(this.prefix) || name === undefined || name === '' || rest.length > 0) return null
    if (kind === 'members') return { kind: 'member', id: name }
    if (kind === 'drains') return { kind: 'drain', id: name }
    if (kind !== 'shards' || !/^\d{1,3}$/.test(name) || Number(name) >= SHARDS) return null
    return { kind: 'shard', shard: Number(name) }
  }
}

export function memberText({ id: _, ...member }: Member): string {
  return JSON.stringify(member)
}

/** Null: no node of ours has written it. The address is used only if it is one (parseNodeUrl). */
export function memberOf(id: string, text: string): Member | null {
  const { url, version, run, startedAt, state: given, reachesDatabase } = membersOf(text)
  const state = STATES.find((known) => known === given)
  const address = typeof url === 'string' ? (parseNodeUrl(url) ?? parseSocketUrl(url)) : null
  if (address === null || typeof version !== 'string' || typeof startedAt !== 'number') return null
  if (!(run === null || typeof run === 'string') || state === undefined) return null
  const member = { id, url: address, version, run, startedAt, state }
  return typeof reachesDatabase === 'boolean' ? { ...member, reachesDatabase } : member
}

export function claimText({ node, isServing }: Claim): string {
  return JSON.stringify({ node, isServing })
}

/** Null: no node of ours has written it. */
export function claimOf(text: string): Claim | null {
  const { node, isServing } = membersOf(text)
  return typeof node === 'string' && typeof isServing === 'boolean' ? { node, isServing } : null
}

function membersOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}
