/** The composition root of a node: etcd, the keys of this database, the shards, and the way in. */
import { secretKeyCheck } from '../events/webhooks/re-encrypt.ts'
import { assert } from '../lib/assert.ts'
import { sleep, systemClock } from '../lib/clock.ts'
import { isOver, ownRun } from '../lib/process-run.ts'
import { VERSION } from '../lib/version.ts'
import { PostgresChangeRows } from '../postgres/stores/postgres-change-rows.ts'
import { PostgresShards } from '../postgres/stores/postgres-shards.ts'
import { isOfCluster, type Writer } from '../postgres/stores/postgres-writers.ts'
import { awaitTurn, type Turn } from './await-turn.ts'
import type { ClusterConfig } from './cluster-config.ts'
import { ClusterKeys } from './cluster-keys.ts'
import { ClusterNode } from './cluster-node.ts'
import { EtcdClient } from './etcd/etcd-client.ts'
import { Hops } from './forward/hop.ts'
import { NodeCalls } from './forward/node-calls.ts'
import type { EnteredLedger, Entrance, Membership, OwnershipParts, TurnOptions } from './membership.ts'
import { openEntrance } from './node-entrance.ts'
import { NodeLedger } from './node-ledger.ts'
import type { NodeWatch } from './node-watch.ts'
import type { Ownership } from './ownership.ts'

/** How long a node hands its shards over; what is left then is free when its lease ends. */
const LEAVE_MS_MAX = 4_000

/**
 * How long a node that leaves takes requests at least. Until load balancers have seen that it is not ready they send it requests, which would
 * wait while its connections are being closed: they ask every half second, and twice (deploy/cluster/haproxy.cfg).
 */
const NOTICED_MS = 1_200

/**
 * @param node its NODE_ID, or `workerNode`
 * @param parentId of a worker: `writer_id` of its parent; null: a node on etcd
 */
export function openNodeLedger(
  { node, parentId }: { readonly node: string; readonly parentId: string | null },
  { databaseUrl, secretKey, holder, stores, clock, onFailure, onKeyChanged }: OwnershipParts,
): NodeLedger {
  const key = { check: secretKeyCheck(secretKey), onChanged: onKeyChanged }
  const shardStore = new PostgresShards(databaseUrl, { ...stores.writer, holder, node, parentId }, key)
  return new NodeLedger({ stores, shardStore, clock, onFailure, hasStandby: parentId !== null })
}

type Report = (fields: object, message: string) => void
export type NodeLog = Readonly<Record<'info' | 'warn' | 'error', Report>>

export class ClusterMember implements Membership {
  readonly joinsLater = true
  readonly #config: ClusterConfig
  readonly #log: NodeLog
  #ledger: NodeLedger | null = null
  #opened: { readonly node: ClusterNode; readonly ledger: EnteredLedger } | null = null

  constructor(config: ClusterConfig, log: NodeLog) {
    this.#config = config
    this.#log = log
  }

  openOwnership(parts: OwnershipParts): Ownership {
    this.#ledger = openNodeLedger({ node: this.#config.nodeId, parentId: null }, parts)
    return this.#ledger
  }

  async enter(ledger: EnteredLedger, leaving: AbortSignal): Promise<Entrance> {
    assert(this.#ledger !== null, 'Cannot enter: the ownership is not open')
    const { shards } = this.#ledger
    const node = await this.#openNode(ledger, this.#ledger)
    this.#opened = { node, ledger }
    const { clock, newId } = ledger
    const hops = new Hops(this.#config.secrets)
    const calls = new NodeCalls({ owners: node.owners, clock, newId, leaving, fetch, hops })
    return openEntrance({ node, ledger, shards, leaving, calls, log: this.#log }).entrance
  }

  /** Waits for a process that has all shards, and its workers, not for other nodes. */
  turn({ writers, writerId }: Turn, { isCancelled, watch }: TurnOptions): Promise<readonly string[]> {
    const isAhead = (writer: Writer) => writer.writerId !== writerId && !isOfCluster(writer)
    return awaitTurn({ writers, isAhead, clock: systemClock, isOver, isCancelled, watch })
  }

  async join(): Promise<void> {
    await this.#here.node.join()
  }

  async leave(): Promise<void> {
    const { node, ledger } = this.#here
    const noticed = sleep(ledger.clock, NOTICED_MS)
    if (!(await node.leave(LEAVE_MS_MAX))) this.#log.warn({}, 'shards not handed over in time')
    if (node.hasSuccessor) await noticed
  }

  async drained(): Promise<void> {}

  close(): Promise<void> {
    return this.#here.node.close()
  }

  get #here() {
    assert(this.#opened !== null, 'Cannot use the node: it has not entered')
    return this.#opened
  }

  async #openNode({ lists, clock }: EnteredLedger, { shards }: NodeLedger): Promise<ClusterNode> {
    const log = this.#log
    const { nodeId, nodeUrl, etcd, tls } = this.#config
    // Not the address of the database: it has several, and a copy that was restored elsewhere is another ledger.
    const historyId = await new PostgresChangeRows(lists).historyId()
    return new ClusterNode({
      self: { id: nodeId, url: nodeUrl, version: VERSION, run: ownRun(), startedAt: clock.now() },
      etcd: new EtcdClient(etcd, { tls }),
      keys: new ClusterKeys(`/nightledger/${historyId}/`),
      clock,
      host: shards,
      isOver,
      watch: nodeWatch(nodeId, log),
    })
  }
}

/** One log line each. */
function nodeWatch(node: string, log: NodeLog): NodeWatch {
  return {
    onJoined: () => log.info({ node }, 'joined the cluster'),
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
    onDatabaseMissed: (fields) => log.error(fields, 'shards given up: PostgreSQL answers other nodes but not this one'),
    onDatabaseBack: () => log.info({}, 'PostgreSQL answers this node again'),
    onMoveFailure: (fields) => log.error(fields, 'shards not moved'),
  }
}
