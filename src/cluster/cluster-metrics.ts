import { byLabel, FROM_MS, type Metric, only } from '../observability/metric.ts'
import type { ClusterStats } from './cluster-status.ts'

/** Of a node of a cluster (CLUSTER_ETCD). */
export const CLUSTER_METRICS: readonly Metric<ClusterStats>[] = [
  {
    name: 'nightledger_cluster_nodes',
    type: 'gauge',
    help: 'Nodes that this node knows, by state.',
    labels: ['state'],
    across: 'max',
    read: ({ nodes }) => byLabel('state', nodes),
  },
  {
    name: 'nightledger_cluster_shards',
    type: 'gauge',
    help: 'Shards of the cluster as this node sees them: served, claimed by a node that does not serve them yet, or without an owner.',
    labels: ['state'],
    across: 'max',
    read: ({ shards }) => byLabel('state', shards),
  },
  {
    name: 'nightledger_cluster_own_shards',
    type: 'gauge',
    help: 'Shards of this node: owned, being acquired, and being released.',
    labels: ['state'],
    across: 'each',
    read: ({ own }) => byLabel('state', own),
  },
  {
    name: 'nightledger_cluster_moves_total',
    type: 'counter',
    help: 'Shards that this node has acquired, released, dropped because another node had them, or lost to a fence.',
    labels: ['action'],
    read: ({ moves: { acquired, released, dropped, fenced } }) =>
      byLabel('action', { acquired, released, dropped, fenced }),
  },
  {
    name: 'nightledger_cluster_move_failures_total',
    type: 'counter',
    help: 'Attempts to acquire shards that failed. Each is made again.',
    read: ({ moves }) => only(moves.failures),
  },
  {
    name: 'nightledger_cluster_etcd_up',
    type: 'gauge',
    help: 'Whether etcd answered the last call of this node: 1 or 0.',
    across: 'min',
    read: ({ isEtcdUp }) => only(isEtcdUp ? 1 : 0),
  },
  {
    name: 'nightledger_cluster_etcd_failures_total',
    type: 'counter',
    help: 'Calls of this node that etcd did not answer.',
    read: ({ etcdFailures }) => only(etcdFailures),
  },
  {
    name: 'nightledger_cluster_lease_remaining_seconds',
    type: 'gauge',
    help: 'How long the lease of this node is still confirmed; 0 if it is not.',
    across: 'min',
    read: ({ leaseMs }) => only(leaseMs * FROM_MS),
  },
  {
    name: 'nightledger_cluster_failsafe',
    type: 'gauge',
    help: 'Whether only PostgreSQL confirms what this node serves, because etcd is away: 1 or 0.',
    across: 'max',
    read: ({ isFailsafe }) => only(isFailsafe ? 1 : 0),
  },
  {
    name: 'nightledger_cluster_confirmed',
    type: 'gauge',
    help: 'Whether this node may serve its shards, because its lease or PostgreSQL confirms it: 1 or 0.',
    across: 'min',
    read: ({ isConfirmed }) => only(isConfirmed ? 1 : 0),
  },
  {
    name: 'nightledger_cluster_requests_total',
    type: 'counter',
    help: 'Requests by outcome: answered by another node, sent again to one, queued until there was an owner, answered 500 because none answered in time, refused by a node with a different CLUSTER_SECRET, or forwarded to this node after it had given the shard up.',
    labels: ['outcome'],
    read: ({ entry: { forwarded, sentAgain, held, unanswered, refused, misdirected } }) =>
      byLabel('outcome', { forwarded, sent_again: sentAgain, held, unanswered, refused, misdirected }),
  },
  {
    name: 'nightledger_cluster_requests_holding',
    type: 'gauge',
    help: 'Requests waiting for their shard to have an owner.',
    read: ({ entry }) => only(entry.holding),
  },
]
