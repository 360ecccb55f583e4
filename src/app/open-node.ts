/** The composition root of a node: etcd, the keys of this database, and the engine's shards. */

import { ClusterKeys } from '../cluster/cluster-keys.ts'
import { ClusterNode } from '../cluster/cluster-node.ts'
import { EtcdClient } from '../cluster/etcd/etcd-client.ts'
import type { Journal } from '../core/journal/journal.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { isOver, ownRun } from '../lib/process-run.ts'
import { VERSION } from '../lib/version.ts'
import { PostgresChangeRows } from '../postgres/stores/postgres-change-rows.ts'
import type { SenderProcess } from '../webhooks/sender-process.ts'
import type { ClusterConfig } from './cluster-config.ts'
import type { Ledger } from './ledger.ts'
import type { Log } from './log.ts'
import type { NodeShards } from './node-shards.ts'

/** A node that has not joined yet. */
export async function openNode(options: { cluster: ClusterConfig; ledger: Ledger; log: Log }): Promise<ClusterNode> {
  const { cluster, ledger, log } = options
  const { clock, shards } = ledger
  assert(shards !== null, 'Cannot open a node: its ledger has all shards')
  // Not the address of the database: it has several, and a copy that was restored elsewhere is another ledger.
  const historyId = await new PostgresChangeRows(ledger.lists).historyId()
  return new ClusterNode({
    self: { id: cluster.nodeId, url: cluster.nodeUrl, version: VERSION, run: ownRun(), startedAt: clock.now() },
    etcd: new EtcdClient(cluster.etcd, { tls: cluster.tls }),
    keys: new ClusterKeys(`/nightledger/${historyId}/`),
    ...{ clock, host: shards, isOver },
    watch: {
      onJoined: () => log.info({ node: cluster.nodeId }, 'joined the cluster'),
      onLeaseLost: (fields) =>
        log.error(fields, 'lease lost: this node serves only what PostgreSQL confirms until it has another'),
      onNodeIdTaken: ({ id, url }) => log.warn({ node: id, url }, 'another process has this NODE_ID'),
      onUnreadableKey: (key) => log.error({ key }, 'key in etcd ignored: no node has written it'),
      onEtcdFailure: (err) => log.error({ err }, 'etcd does not answer'),
      onEtcdReplaced: () => log.warn({}, 'etcd has lost its keys: nodes and shards are registered again'),
      onEtcdBack: () => log.info({}, 'etcd answers again'),
      onAcquired: ({ shards: acquired, ms }) => log.info({ shards: acquired, ms: Math.round(ms) }, 'shards acquired'),
      onReleased: ({ shards: released, ms }) => log.info({ shards: released, ms: Math.round(ms) }, 'shards released'),
      onDropped: (fields) => log.warn(fields, 'shards dropped: another node has claimed them'),
      onFenced: (fields) => log.warn(fields, 'shards fenced by another writer'),
      onDatabaseMissed: (fields) =>
        log.error(fields, 'shards given up: PostgreSQL answers other nodes but not this one'),
      onDatabaseBack: () => log.info({}, 'PostgreSQL answers this node again'),
      onMoveFailure: (fields) => log.error(fields, 'shards not moved'),
    },
  })
}

const SEND_FOR_AGAIN_MS = 5_000

/** Tells the sender of a node for which shards it sends: at every change, and again every few seconds, in case it was not possible. */
export function sendForOwned(of: {
  readonly shards: Pick<NodeShards, 'owned' | 'watch'>
  readonly journal: Pick<Journal, 'epochOfShard'>
  readonly sender: Pick<SenderProcess, 'sendFor'>
  readonly clock: Clock
}): void {
  const { shards, journal, sender, clock } = of
  const tell = () => {
    const owned = [...shards.owned].sort((a, b) => a - b)
    sender.sendFor(owned.map((shard) => ({ shard, epoch: journal.epochOfShard(shard) })))
  }
  const repeat = () => {
    tell()
    clock.after(SEND_FOR_AGAIN_MS, repeat)
  }
  shards.watch(tell)
  repeat()
}
