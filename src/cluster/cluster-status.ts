import { SHARDS } from '../core/journal/shard.ts'
import type { MemberState } from './cluster-keys.ts'
import type { ClusterNode } from './cluster-node.ts'
import type { MoveCounts } from './node-watch.ts'

/** What `GET /cluster` answers, as this node sees it. */
export interface ClusterStatus {
  /** NODE_ID of the node that answers. */
  readonly node: string
  readonly nodes: readonly NodeStatus[]
  readonly shards: ShardCounts
  readonly etcd: {
    readonly isReachable: boolean
    /** Milliseconds for which the lease is still confirmed. */
    readonly leaseMs: number
    /** Only Postgres confirms that this node may serve. */
    readonly isFailsafe: boolean
  }
}

export interface NodeStatus {
  readonly id: string
  readonly url: string
  readonly version: string
  readonly startedAt: string
  /** drained: by the operator; it owns nothing and sends requests on. */
  readonly state: MemberState | 'drained'
  /** Shards that it serves, and those that it should. */
  readonly serving: number
  readonly wanted: number
}

interface ShardCounts {
  readonly total: number
  readonly served: number
  /** Claimed by a node that does not serve them yet. */
  readonly claimed: number
  readonly withoutOwner: number
  /** Numbers of those that nobody serves, the first few. */
  readonly notServed: readonly number[]
}

/** What became of the requests that came in here (src/cluster/forward/), since the start. */
export interface EntryStats {
  /** Answered by another node. */
  readonly forwarded: number
  /** Sent once more, because the owner had changed or had not answered. */
  readonly sentAgain: number
  /** Came from another node, were not for this one any more, and were answered 421. */
  readonly misdirected: number
  /** Had to wait for an owner. */
  readonly held: number
  /** Answered 500, because no owner could be asked in time. */
  readonly unanswered: number
  /** Answered 500, because the owner does not know this node's CLUSTER_SECRET. */
  readonly refused: number
  /** Wait now. */
  readonly holding: number
}

/** For metrics. */
export interface ClusterStats {
  /** By state. */
  readonly nodes: Readonly<Record<NodeStatus['state'], number>>
  /** Of all nodes. */
  readonly shards: Readonly<Record<'served' | 'claimed' | 'without_owner', number>>
  /** Of this one. */
  readonly own: Readonly<Record<'owned' | 'acquiring' | 'releasing', number>>
  readonly moves: MoveCounts
  readonly isEtcdUp: boolean
  readonly etcdFailures: number
  readonly leaseMs: number
  readonly isFailsafe: boolean
  /** This node may serve what it owns (C6). */
  readonly isConfirmed: boolean
  readonly entry: EntryStats
}

const LISTED_MAX = 16

export function clusterStatus(node: ClusterNode): ClusterStatus {
  const { view, wanted } = node
  return {
    node: node.self.id,
    nodes: [...view.members.values()]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, url, version, startedAt, state }) => ({
        id,
        url,
        version,
        startedAt: new Date(startedAt).toISOString(),
        state: state === 'up' && view.drained.has(id) ? 'drained' : state,
        serving: view.claims.filter((claim) => claim?.node === id && claim.isServing).length,
        wanted: wanted.filter((owner) => owner === id).length,
      })),
    shards: shardCounts(node),
    etcd: {
      isReachable: !node.isEtcdAway,
      leaseMs: Math.round(node.confirmation.leaseMs),
      isFailsafe: node.confirmation.isFailsafe,
    },
  }
}

export function clusterStats(node: ClusterNode, entry: EntryStats): ClusterStats {
  const nodes = { up: 0, leaving: 0, no_database: 0, drained: 0 }
  for (const { state } of clusterStatus(node).nodes) nodes[state] += 1
  const { served, claimed, withoutOwner } = shardCounts(node)
  const { moves, confirmation } = node
  return {
    nodes,
    shards: { served, claimed, without_owner: withoutOwner },
    own: { owned: node.owned.size, acquiring: moves.acquiring, releasing: moves.releasing },
    moves: moves.counts,
    isEtcdUp: !node.isEtcdAway,
    etcdFailures: node.etcdFailures,
    leaseMs: confirmation.leaseMs,
    isFailsafe: confirmation.isFailsafe,
    isConfirmed: confirmation.isConfirmed,
    entry,
  }
}

function shardCounts({ view: { claims } }: ClusterNode): ShardCounts {
  const notServed = claims.flatMap((claim, shard) => (claim?.isServing === true ? [] : [shard]))
  const withoutOwner = claims.filter((claim) => claim === null).length
  return {
    total: SHARDS,
    served: SHARDS - notServed.length,
    claimed: notServed.length - withoutOwner,
    withoutOwner,
    notServed: notServed.slice(0, LISTED_MAX),
  }
}
